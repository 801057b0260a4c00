"""`app.run()`: what `soloist run` does, in a program of one's own; and a process that has to be started anew."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping

import pytest

from tests.embedded.conftest import is_gone
from tests.processes.crew import ROOT, Crew
from tests.waiting import wait_until

SCRIPT = [sys.executable, "-m", "tests.processes.script"]


def begin(crew: Crew, environment: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
    named = {"SOLOIST_URL": crew.url, "SOLOIST_NAMESPACE": crew.namespace, "FOLDER": str(crew.folder)}
    return subprocess.Popen(
        SCRIPT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, **named, **(environment or {})},
    )


@pytest.mark.parametrize(("how", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_it_in_order_and_the_program_goes_on(crew: Crew, how: signal.Signals, code: int) -> None:
    """The code is answered, not exited with; and the signals are the program's again."""
    process = begin(crew)
    wait_until(lambda: crew.snapshot().completed > 3, what="it generates and handles")

    process.send_signal(how)
    said, _ = process.communicate(timeout=60)

    assert process.returncode == code
    assert said.splitlines()[-1] == f"came back with {code}; signals are given back: True"
    assert "left in order" in said
    assert crew.snapshot().instances == []


def test_what_is_wrong_is_a_sentence_and_a_code(crew: Crew) -> None:
    """As on the command line: no traceback."""
    process = begin(crew, {"SOLOIST_URL": "redis://127.0.0.1:1"})

    said, wrong = process.communicate(timeout=60)

    assert process.returncode == 3
    assert "came back with 3" in said
    assert wrong.startswith("soloist: 127.0.0.1:1 cannot be reached")
    assert "Traceback" not in wrong


def test_a_handler_that_hangs_ends_it_with_a_code_of_its_own(crew: Crew) -> None:
    """What else the program did is not ours to do again, so it is told; who watches over it starts it anew."""
    process = begin(crew, {"HANGS": "1"})

    said, wrong = process.communicate(timeout=60)

    assert process.returncode == 1
    assert "came back with 1" in said
    assert "soloist: the handler handle (script.py, line 21) has not returned" in wrong
    assert "has to be started anew" in wrong


@pytest.mark.parametrize("processes", [1, 2])
def test_a_handler_that_hangs_has_its_process_replaced(
    crew: Crew, processes: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """`soloist run`: it leaves in order and becomes a fresh process with the same number; with --processes, too."""
    options = ("tests.processes.script:app", "--processes", processes)
    running = crew.start(*options, environment={"HANGS": "1"})

    stuck = running.wait_for("stuck")
    running.wait_for("left", instance=stuck["instance"])
    # Joined anew: more often than there are processes, and so in a process that was replaced.
    running.wait_for("joined", count=processes + 1)

    (crew.folder / "gate").touch()
    wait_until(lambda: crew.snapshot().completed > 3, what="the fresh one handles")
    numbers = {int(line.split()[-1]) for line in crew.ledger()}
    running.kill() if processes > 1 else running.end()
    wait_until(lambda: all(map(is_gone, numbers)), what="nobody outlives the parent, also after having been replaced")
    said = capfd.readouterr().err
    assert "process.replaced reason='the handler handle (script.py, line 21) has not returned" in said
    assert "process.ended" not in said
    assert len(numbers) <= processes
    failed = json.loads(crew.command("errors", "list", "--json", "--limit", "1").stdout.splitlines()[0])
    assert failed["type"] == "Timeout"


def test_systemd_is_not_told_of_a_stop_that_is_none(crew: Crew) -> None:
    """It would wait for a process to end that goes on, and kill it."""
    where = crew.folder / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(str(where))
        notify.settimeout(60)
        environment = {"HANGS": "1", "NOTIFY_SOCKET": str(where)}
        running = crew.start("tests.processes.script:app", environment=environment)

        assert [notify.recv(100), notify.recv(100)] == [b"READY=1", b"READY=1"]

        (crew.folder / "gate").touch()
        running.kill()
