"""export and import: as commands, with real files, pipes and disks; killed, cut off, refused."""

import json
import os
import resource
import signal
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.snapshot import purge
from tests.kill_points import KILL, STOP, AtPoint
from tests.processes.crew import ROOT, SOLOIST, Crew, is_frozen
from tests.processes.one_command import OUTPUT, USAGE, Ended, Says, soloist
from tests.processes.test_kill_points import OF_EXPORTS, OF_IMPORTS
from tests.rewriting import PROGRAM
from tests.servers import PrivateServer, Store
from tests.store.acting import Instance, ids
from tests.waiting import wait_until

PENDING, FAILED, COMPLETED = 2500, 30, 70
"""More pending ones than go in one step."""


@pytest.fixture
def full(store: Store) -> Store:
    """A namespace with messages that wait and that failed, and nobody present."""
    instance = Instance(store)
    instance.join()
    instance.beat()
    for _ in range((PENDING + FAILED + COMPLETED) // 100):
        instance.publish(100)
    instance.next(failed=ids(instance.next(want=FAILED)))
    instance.next(completed=ids(instance.next(want=COMPLETED)))
    instance.leave()
    return store


@pytest.fixture
def connection(full: Store, server: PrivateServer) -> tuple[str, ...]:
    return ("--url", server.url, "--namespace", full.keys.namespace)


@pytest.fixture
def file(connection: tuple[str, ...], tmp_path: Path) -> Path:
    """What was exported; and the namespace is there no more."""
    path = tmp_path / "it.jsonl"
    assert soloist("export", "--out", str(path), *connection).code == 0
    assert soloist("purge", "--yes", *connection).code == 0
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def waiting(store: Store) -> list[bytes]:
    found: list[bytes] = store.link.command("LRANGE", store.keys.pending("default"), 0, -1)
    return found


# To and fro.


def test_what_was_exported_and_imported_is_handled_as_if_nothing_had_happened(
    crew: Crew, full: Store, tmp_path: Path
) -> None:
    """All of it, once; and the numbers go on."""
    path = tmp_path / "it.jsonl"
    exporting = crew.command("export", "--out", str(path))
    assert exporting.returncode == 0, exporting.stderr
    assert "2,500 pending messages and 30 error records exported" in exporting.stderr
    before = waiting(full)
    assert crew.command("purge", "--yes").returncode == 0

    importing = crew.command("import", str(path))

    assert importing.returncode == 0, importing.stderr
    assert "2,500 pending messages and 30 error records of the App 'demo' imported" in importing.stdout
    assert waiting(full) == before
    seen = crew.snapshot()
    assert seen.adds_up
    assert (seen.published, seen.pending, seen.failed, seen.errors) == (2600, PENDING, FAILED, FAILED)
    for _ in range(2):
        crew.start("--interval", 0, "--count", 3000, "--error-rate", 0)
    after = crew.wait_until_handled(3000)
    assert (after.published, after.completed, after.failed) == (3000, 2970, FAILED)


def test_it_goes_through_a_pipe_into_a_namespace_of_another_name(
    connection: tuple[str, ...], full: Store, server: PrivateServer
) -> None:
    """`export | import -`, with nothing in between."""
    other = Keys(f"{full.keys.namespace}-2")
    exporting = subprocess.Popen([*SOLOIST, "export", *connection], stdout=subprocess.PIPE, cwd=ROOT)
    importing = soloist("import", "-", "--url", server.url, "--namespace", other.namespace, stdin=exporting.stdout)
    assert exporting.stdout is not None
    exporting.stdout.close()
    assert exporting.wait(timeout=30) == 0

    assert importing.code == 0, importing
    with closing(Link(full.server, timeout=5)) as link:
        assert link.command("LRANGE", other.pending("default"), 0, -1) == waiting(full)
        purge(link, other)


def test_without_a_name_it_gets_back_its_own(file: Path, full: Store, server: PrivateServer) -> None:
    """That of the file, not `demo`."""
    ended = soloist("import", str(file), "--url", server.url)

    assert ended.code == 0, ended
    assert full.keys.namespace in ended.stdout
    assert len(waiting(full)) == PENDING


def test_imported_again_it_is_not_there_twice(file: Path, connection: tuple[str, ...], full: Store) -> None:
    """Whoever did not see that it was done may ask again."""
    assert soloist("import", str(file), *connection).code == 0

    again = soloist("import", str(file), *connection)

    assert again.code == 0
    assert "imported before; nothing was changed" in again.stdout
    assert len(waiting(full)) == PENDING


# Killed.


@pytest.mark.parametrize("action", [KILL, STOP])
@pytest.mark.parametrize("point", OF_IMPORTS)
def test_an_import_that_is_killed_or_frozen_there_is_completed_by_another(
    file: Path, connection: tuple[str, ...], full: Store, tmp_path: Path, point: str, action: str
) -> None:
    """All is there once; until then nobody can join. One that was frozen finds that all was done."""
    at_point = AtPoint(point, action, tmp_path / "armed")
    at_point.arm()
    words = [*PROGRAM, "import", str(file), *connection]
    first = subprocess.Popen(
        words,
        text=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env={**os.environ, **at_point.environment},
    )
    if action == KILL:
        assert first.wait(timeout=30) == -signal.SIGKILL
    else:
        wait_until(lambda: is_frozen(first), what=f"it freezes: {point}")
    if point != "before prepare":
        refused = soloist("status", *connection)
        refused.assert_refused(USAGE, "an import into it has begun and is not complete", "run `soloist import` again")

    assert soloist("import", str(file), *connection).code == 0

    if action == STOP:
        first.send_signal(signal.SIGCONT)
        assert first.wait(timeout=30) == 0
    assert [int(envelope.partition(b"-")[0]) for envelope in waiting(full)] == list(range(101, 2601))
    assert json.loads(soloist("status", "--json", *connection).stdout)["errors"] == FAILED
    again = tmp_path / "again.jsonl"
    assert soloist("export", "--out", str(again), *connection).code == 0
    assert lines(again)[1:] == lines(file)[1:]


@pytest.mark.parametrize("point", OF_EXPORTS)
def test_an_export_that_is_killed_there_leaves_what_was_there(
    connection: tuple[str, ...], full: Store, tmp_path: Path, point: str
) -> None:
    """The file of yesterday, and the namespace."""
    path = tmp_path / "it.jsonl"
    path.write_text("of yesterday")
    at_point = AtPoint(point, KILL, tmp_path / "armed")
    at_point.arm()
    words = [*PROGRAM, "export", "--out", str(path), *connection]
    killed = subprocess.run(words, cwd=ROOT, check=False, timeout=30, env={**os.environ, **at_point.environment})

    assert killed.returncode == -signal.SIGKILL
    assert path.read_text() == "of yesterday"
    assert soloist("export", "--out", str(path), *connection).code == 0
    assert lines(path)[-1]["messages"] == PENDING


# Outputs.


def test_a_reader_that_goes_is_no_failure(connection: tuple[str, ...]) -> None:
    """`export | head -1`: exit 0, and the header was read."""
    exporting = subprocess.Popen(
        [*SOLOIST, "export", *connection], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    head = subprocess.run(["head", "-1"], stdin=exporting.stdout, capture_output=True, text=True, check=True)
    assert exporting.stdout is not None
    exporting.stdout.close()

    assert exporting.wait(timeout=30) == 0
    assert exporting.stderr is not None
    assert exporting.stderr.read() == ""
    exporting.stderr.close()
    assert json.loads(head.stdout)["line"] == "header"


def test_a_full_disk_is_said(connection: tuple[str, ...], tmp_path: Path) -> None:
    """As stdout, and as --out."""
    with Path("/dev/full").open("w") as disk:
        ended = soloist("export", *connection, stdout=disk)
    ended.assert_refused(OUTPUT, "the output cannot be written: No space left on device")

    soloist("export", "--out", "/dev/full", *connection).assert_refused(OUTPUT, "/dev/full cannot be written: No space")
    soloist("export", "--out", str(tmp_path / "no" / "it"), *connection).assert_refused(OUTPUT, "No such file")


def test_a_disk_that_fills_up_in_the_middle_leaves_what_was_there(connection: tuple[str, ...], tmp_path: Path) -> None:
    """Half a file is worse than that of yesterday."""
    path = tmp_path / "it.jsonl"
    path.write_text("of yesterday")

    ended = soloist(
        *("export", "--out", str(path), *connection),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)),
    )

    ended.assert_refused(OUTPUT, f"{path} cannot be written: File too large")
    assert [each.name for each in tmp_path.iterdir()] == ["it.jsonl"]
    assert path.read_text() == "of yesterday"


# Refusals. Nothing is written.


@pytest.fixture
def refuses(says: Says, tmp_path: Path) -> Any:
    """Has `import` refuse a text; no server is asked."""

    def refuse(text: str | bytes, *parts: str) -> None:
        path = tmp_path / "bad.jsonl"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        says("import", str(path), "--addr", "127.0.0.1:1").assert_refused(USAGE, *parts)

    return refuse


HEADER = '{"line":"header","format":1,"namespace":"shop","app":"shop","protocol":"4","exported_at":1.5,"messages":1,"errors":0}'
STATE = (
    '{"line":"state","instances":1,"agenda":0,"term":1,"sequence":1,"totals":{"published":1,"published:default":1},'
    '"kinds":["default"],"paused":[]}'
)
MESSAGE = '{"line":"message","id":"1-t","kind":"default","published_at":5,"body":"x","place":"pending"}'
END = '{"line":"end","lines":3,"messages":1,"errors":0}'
GOOD = f"{HEADER}\n{STATE}\n{MESSAGE}\n{END}\n"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "it does not begin with a header"),
        ("hello\n", "it does not begin with a header"),
        (b"\x1f\x8b\x08\x00\xff", "it does not begin with a header"),
        (GOOD.replace('"format":1', '"format":2'), "is of format 2, and this soloist reads 1"),
        (GOOD.replace('"app":"shop",', ""), "line 1: Object missing required field `app`"),
        (GOOD.replace(END + "\n", ""), "is not whole: it ends with line 3, without the line"),
        (GOOD[:-20], "line 4: "),
        (GOOD.replace(MESSAGE + "\n", ""), "there are 2 lines, but its last line says that there must be 3"),
        (GOOD.replace('"messages":1,"errors":0}\n', '"messages":2,"errors":0}\n', 2), "there are 1 messages"),
        (GOOD + MESSAGE + "\n", "line 5: something follows behind its last line"),
        (GOOD.replace(STATE, MESSAGE), "line 2: "),
        (GOOD.replace(MESSAGE, HEADER), "line 3: a header does not belong here"),
        (GOOD.replace('"kind":"default"', '"kind":"mail"'), "line 3: the kind 'mail' is not among those of line 2"),
        (GOOD.replace('"body":"x"', '"body_base64":"x"'), "line 3: body_base64: "),
        (GOOD.replace('"body":"x",', ""), "line 3: it has not one of body and body_base64"),
        (GOOD.replace('"1-t"', '"1 t"'), "line 3: '1 t' is no id of a message"),
        (GOOD.replace('"place":"pending"', '"place":"nowhere"'), "line 3: Invalid enum value 'nowhere'"),
        (GOOD.replace('"place":"pending"', '"place":"delayed"'), "line 3: what is delayed, and only that, is due"),
        (GOOD.replace('"place":"pending"', '"place":"pending","waits":"for"'), "line 3: nobody waits for its end"),
        (GOOD.replace('"published_at":5', '"published_at":-5'), "line 3: Expected `int` >= 0"),
        (GOOD.replace('"body":"x"', '"body":"x","more":1'), "line 3: Object contains unknown field `more`"),
        (GOOD.replace('"published":1,', '"published":2,'), "does not add up: 2 published, but 1 pending"),
        (GOOD.replace('"published:default":1', '"published:default":2'), "does not add up for the kind 'default'"),
        (
            GOOD.replace('"published":1,', '"published":2,"failed":1,').replace('lt":1}', 'lt":2,"failed:default":1}'),
            "1 failed, but",
        ),
    ],
)
def test_a_file_that_cannot_be_right_is_refused_whole(refuses: Any, text: str | bytes, part: str) -> None:
    """With the line and what is wrong with it, before any server is looked for."""
    refuses(text, "bad.jsonl", part)


def test_a_good_file_by_hand_is_taken(says: Says, store: Store, tmp_path: Path) -> None:
    """So it is what was broken above that was refused."""
    path = tmp_path / "good.jsonl"
    path.write_text(GOOD)

    ended = says("import", str(path), "--url", store.server.url, "--namespace", store.keys.namespace)

    assert ended.code == 0, ended
    assert waiting(store) == [b"1-t default 1 5 0 0 x"]


def test_a_file_that_cannot_be_read_is_named(says: Says, tmp_path: Path) -> None:
    says("import", str(tmp_path / "none"), "--addr", "127.0.0.1:1").assert_refused(
        USAGE, "none cannot be read: No such"
    )
    says("import", str(tmp_path), "--addr", "127.0.0.1:1").assert_refused(USAGE, "cannot be read: Is a directory")


def test_a_namespace_that_is_not_empty_stays_as_it_is(file: Path, connection: tuple[str, ...], full: Store) -> None:
    """Whose ever it is."""
    Instance(full).join()
    says = soloist("import", str(file), *connection)

    says.assert_refused(USAGE, "is not empty: name another one with --namespace", "soloist purge")


def test_where_somebody_is_present_nothing_is_exported(connection: tuple[str, ...], full: Store) -> None:
    """Not even a header."""
    Instance(full).join()

    ended: Ended = soloist("export", *connection)

    ended.assert_refused(USAGE, "1 instance (or drainer) is present", "soloist clean")
    assert ended.stdout == ""


def test_an_empty_namespace_is_said_to_be_empty(says: Says, store: Store) -> None:
    """A misspelt name must not make an empty backup."""
    ended = says("export", "--url", store.server.url, "--namespace", store.keys.namespace)

    ended.assert_refused(USAGE, "is empty")


def test_what_handlers_wrote_is_said_to_be_left(says: Says, full: Store, connection: tuple[str, ...]) -> None:
    """It is not in the file, and somebody may have thought so."""
    full.link.command("SET", full.keys.base + "data:sum", 5)

    assert "1 key that handlers wrote (data:…) stay behind" in says("export", *connection).stderr
