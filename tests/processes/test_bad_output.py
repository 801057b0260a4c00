"""An output that cannot be written: no traceback, nothing lost, the right exit code."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import pytest

from tests.processes.crew import SOLOIST, Crew
from tests.processes.mending import INTO_FILE
from tests.processes.one_command import LOOKING, OUTPUT, SERVER, USAGE, Ended, Says, soloist, spelled
from tests.servers import Kind, PrivateServer, Store
from tests.store.acting import Instance, ids
from tests.waiting import wait_until

FAILED = 30
TALKING = (
    ("status", "--json"),
    *(words for words in LOOKING if not {"show", "schedules"} & {*words}),  # there may be none
    ("errors", "show", f"{FAILED}-tag"),
    ("errors", "requeue", "none"),
    ("export",),
    ("pause",),
    ("resume",),
    ("doctor",),
    ("purge", "--yes"),
)
"""Commands that have something to say on stdout."""

NO_SERVER = (("--help",), ("--version",), ("getErrors", "--help"), ("server", "status"))


@pytest.fixture
def server(servers: Callable[[Kind], PrivateServer]) -> PrivateServer:
    """Which server it is does not matter here."""
    return servers("valkey")


@pytest.fixture
def failed(store: Store) -> Store:
    """A namespace with errors at rest, and no instance alive."""
    instance = Instance(store)
    instance.join()
    instance.beat()
    instance.publish(FAILED)
    instance.next(failed=ids(instance.next(want=FAILED)))
    instance.leave()
    return store


@pytest.fixture
def connection(failed: Store, server: PrivateServer) -> tuple[str, ...]:
    return ("--url", server.url, "--namespace", failed.keys.namespace)


def errors_at_rest(store: Store) -> int:
    return int(store.link.command("HLEN", store.keys.errors))


def with_closed(how: str, *words: str) -> Ended:
    """A command whose outputs a shell has closed or sent elsewhere."""
    command = ["sh", "-c", f'exec "$@" {how}', "sh", *SOLOIST, *words]
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}  # buffered, as it is for most
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, env=environment)
    return Ended(done.returncode, done.stdout, done.stderr)


# getErrors: what was not printed stays.


def test_a_full_disk_loses_no_error(connection: tuple[str, ...], failed: Store, full: TextIO) -> None:
    """Exit 4 and a sentence; every record is still there, and can be printed later."""
    ended = soloist("getErrors", *connection, stdout=full)

    ended.assert_refused(OUTPUT, "the output cannot be written: No space left on device", "still in the error store")
    assert errors_at_rest(failed) == FAILED
    assert len(soloist("getErrors", *connection).stdout.splitlines()) == FAILED


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_disk_that_fills_up_in_the_middle_loses_no_error(
    connection: tuple[str, ...], failed: Store, tmp_path: Path, unbuffered: str
) -> None:
    """A part of the output was still taken: nothing of that batch is removed. Also with PYTHONUNBUFFERED, as in containers."""
    most = 20
    with (tmp_path / "errors.txt").open("w") as output:
        ended = soloist(
            *("getErrors", *connection),
            stdout=output,
            environment={"PYTHONUNBUFFERED": unbuffered},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
        )

    ended.assert_refused(OUTPUT, "the output cannot be written: File too large")
    assert (tmp_path / "errors.txt").stat().st_size == most
    assert errors_at_rest(failed) == FAILED


def test_a_closed_output_loses_no_error(connection: tuple[str, ...], failed: Store) -> None:
    """`>&-`: the same."""
    with_closed(">&-", "getErrors", *connection).assert_refused(OUTPUT, "stdout is closed", "still in the error store")

    assert errors_at_rest(failed) == FAILED


def test_where_nobody_can_be_told_nothing_is_lost_either(connection: tuple[str, ...], failed: Store) -> None:
    """Output, errors and input closed: the connection to the server takes none of their numbers."""
    assert with_closed(">&- 2>&- <&-", "getErrors", *connection).code == OUTPUT

    assert errors_at_rest(failed) == FAILED


@pytest.mark.parametrize("how", ["2>&-", "2>/dev/full"])
def test_a_count_that_cannot_be_told_fails_nothing(connection: tuple[str, ...], failed: Store, how: str) -> None:
    """What was asked for goes to stdout, and went there."""
    ended = with_closed(how, "getErrors", *connection)

    assert ended.code == 0
    assert len(ended.stdout.splitlines()) == FAILED
    assert "Traceback" not in ended.stdout
    assert errors_at_rest(failed) == 0


# All others.


@pytest.mark.parametrize("words", TALKING, ids=spelled)
def test_on_a_full_disk_every_command_says_so(
    says: Says, connection: tuple[str, ...], words: tuple[str, ...], full: TextIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No traceback, exit 4."""
    monkeypatch.setattr(sys, "stdout", full)

    ended = says(*words, *connection)

    assert ended.code == OUTPUT, ended
    assert "the output cannot be written: No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("words", TALKING, ids=spelled)
def test_with_its_output_closed_every_command_says_so(
    says: Says, connection: tuple[str, ...], words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is left to believe that there was nothing to say."""
    monkeypatch.setattr(sys, "stdout", None)

    ended = says(*words, *connection)

    assert ended.code == OUTPUT, ended
    assert "the output cannot be written: stdout is closed" in ended.stderr


@pytest.mark.parametrize("words", NO_SERVER, ids=spelled)
def test_help_and_version_say_it_too(
    says: Says, words: tuple[str, ...], full: TextIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are printed by a library."""
    monkeypatch.setattr(sys, "stdout", full)

    assert says(*words).code == OUTPUT


@pytest.mark.parametrize("words", [("--help",), ("errors", "export")], ids=spelled)
def test_a_reader_that_went_is_no_failure(connection: tuple[str, ...], words: tuple[str, ...]) -> None:
    """`| true`: exit 0, not a word."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as nobody:
        ended = soloist(*words, *(connection if words != ("--help",) else ()), stdout=nobody)
        os.dup2(os.open(os.devnull, os.O_WRONLY), nobody.fileno())

    assert ended == Ended(0, "", "")


# Instances.


@pytest.mark.parametrize("options", [(), ("--events",)], ids=["account", "events"])
@pytest.mark.parametrize("how", [">&-", ">/dev/full"])
def test_an_instance_that_cannot_tell_leaves_in_order(
    connection: tuple[str, ...], failed: Store, how: str, options: tuple[str, ...]
) -> None:
    """Exit 4 and a sentence; nothing of it is left in Redis."""
    ended = with_closed(how, "run", *options, "--interval", "0.01", *connection)

    assert ended.code == OUTPUT
    assert len([line for line in ended.stderr.splitlines() if line.startswith("soloist: the output cannot")]) == 1
    assert "Traceback" not in ended.stderr
    assert failed.link.command("ZCARD", failed.keys.instances) == 0


def test_an_instance_works_on_when_its_log_cannot_be_written(crew: Crew) -> None:
    """A lone one says after two seconds that no handler is there: to nobody, then."""
    lone = crew.start("--interval", 0.02, before=("sh", "-c", 'exec "$@" 2>&-', "sh"))
    lone.wait_for("generated", count=25)  # ten times a second at most

    assert lone.end() == 0
    assert lone.told("left")


def test_the_number_of_a_closed_output_is_not_given_to_a_connection(crew: Crew) -> None:
    """A C library prints to it, whatever it is: the server must not hear it."""
    noisy = crew.start("tests.processes.bodies:noisy", before=("sh", "-c", 'exec "$@" 2>&-', "sh"))
    wait_until(lambda: crew.snapshot().completed > 20, what="messages are handled in spite of the noise")

    assert noisy.end() == 0
    assert crew.snapshot().superseded == {"publish": 0, "next": 0, "beat": 0}


@pytest.mark.parametrize("how", ["2>&-", "2>/dev/full"])
def test_a_refusal_has_its_code_though_nobody_can_be_told(how: str) -> None:
    """Ours, and that of the library that reads the command line."""
    assert with_closed(how, "status", "--addr", "127.0.0.1:1").code == SERVER
    assert with_closed(how, "status", "--frobnicate").code == USAGE


def test_a_log_is_harmless(crew: Crew) -> None:
    """What a handler raises quotes the message: it reaches the terminal of whoever looks at the log."""
    path = crew.folder / "stderr"
    app = ("tests.processes.bodies:raising",)
    running = crew.start(*app, before=(*INTO_FILE, str(path)))
    wait_until(lambda: "ValueError" in path.read_text(), what="it is said that the handler raised")
    running.end()

    said = path.read_text()
    assert "ValueError: \\x1b[2J\\x07evil" in said
    assert not [letter for letter in said if not letter.isprintable() and letter not in "\n\t"]
