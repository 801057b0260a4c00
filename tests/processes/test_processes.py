"""`run --processes N`: a parent keeps N instances running; none of them outlives it."""

import fcntl
import os
import signal
import struct
import subprocess
import termios
from pathlib import Path
from typing import IO

import pytest

from tests.embedded.conftest import is_gone
from tests.processes.crew import ROOT, SOLOIST, Crew, Running
from tests.waiting import wait_until

THREE = ("--processes", 3)
BREAKABLE = "tests.processes.breakable:app"


def pids(crew: Crew, count: int = 3) -> list[int]:
    """The processes of the instances, as soon as there are so many."""
    seen = wait_until(
        lambda: found if len(found := crew.snapshot().instances) == count else None, what=f"{count} instances"
    )
    return [instance.pid for instance in seen or ()]


@pytest.mark.parametrize(("how", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_they_take_part_and_leave_in_order(crew: Crew, how: signal.Signals, code: int) -> None:
    """A signal to the parent is one to all of them, and its exit code is that of one. Every line is whole."""
    parent = crew.start(*THREE, "--interval", 0.02)
    parent.wait_for("joined", count=3)
    children = pids(crew)
    wait_until(lambda: crew.snapshot().completed > 10, what="messages are handled")

    assert parent.end(how) == code

    assert len({*children, parent.process.pid}) == 4
    assert len(parent.told("quiet")) == len(parent.told("left")) == 3
    assert {event["number"] for event in parent.told("left")} == {1, 2, 3}
    assert all(map(is_gone, children))
    assert crew.snapshot().instances == []


def test_one_that_is_killed_is_started_again(crew: Crew, capfd: pytest.CaptureFixture[str]) -> None:
    """And that is said in the log."""
    parent = crew.start(*THREE, "--interval", 0.02)
    parent.wait_for("joined", count=3)
    victim, *others = pids(crew)

    os.kill(victim, signal.SIGKILL)

    parent.wait_for("joined", count=4)
    wait_until(lambda: victim not in pids(crew), what="it is taken for gone, another is there")
    assert set(others) <= set(pids(crew))
    assert parent.end() == 0
    said = capfd.readouterr().err
    assert f"process.ended pid={victim} signal=SIGKILL; another is started in 0.1 s" in said
    assert said.count("process.started") == 4


def test_none_outlives_a_parent_that_is_killed(crew: Crew) -> None:
    """Kill -9: nobody can pass anything on."""
    parent = crew.start(*THREE, "--interval", 0.02)
    children = pids(crew)

    parent.kill()

    wait_until(lambda: all(map(is_gone, children)), what="all of them are gone")


def test_a_second_signal_kills_all_and_loses_nothing(crew: Crew) -> None:
    parent = crew.start("tests.processes.apps:gated", *THREE)
    children = pids(crew)
    wait_until(lambda: any(line.startswith("began 3 ") for line in crew.ledger()), what="message 3 is in hand")

    parent.process.send_signal(signal.SIGTERM)
    parent.wait_for("quiet")
    wait_until(lambda: again(parent), what="the second signal ends it")

    assert parent.process.returncode == 0
    wait_until(lambda: all(map(is_gone, children)), what="all of them are gone")
    (crew.folder / "gate").touch()
    crew.start("tests.processes.apps:gated", *THREE)
    wait_until(lambda: "ended 3 2" in " ".join(crew.ledger()), what="message 3 is handled by another")


def again(running: Running) -> bool:
    running.process.send_signal(signal.SIGTERM)
    return running.process.poll() is not None


def test_wrong_usage_is_told_once_and_not_tried_again(crew: Crew) -> None:
    """Exit 2 of the first child is that of the parent."""
    refused = crew.command("run", "tests.processes.apps:gatet", "--processes", "3", "--log-level", "error")

    assert refused.returncode == 2
    assert refused.stderr.count("soloist: ") == 1
    assert "has no 'gatet'. Did you mean tests.processes.apps:gated?" in refused.stderr


def test_a_server_that_is_not_there_is_told_once_and_not_tried_again() -> None:
    """Exit 3 at the start."""
    words = ["run", "--addr", "127.0.0.1:1", "--processes", "3", "--log-level", "error"]
    refused = subprocess.run([*SOLOIST, *words], capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)

    assert refused.returncode == 3
    assert refused.stderr.count("soloist: ") == 1


def test_one_that_cannot_start_any_more_does_not_end_the_others(crew: Crew, capfd: pytest.CaptureFixture[str]) -> None:
    """Somebody is at the App's file: those that run go on, and it is tried again, less and less often."""
    parent = crew.start(BREAKABLE, *THREE)
    victim, *others = pids(crew)
    (crew.folder / "broken").touch()

    os.kill(victim, signal.SIGKILL)

    said = ""

    def has_failed_twice() -> bool:
        nonlocal said
        said += capfd.readouterr().err
        return said.count("code=2; another is started in") == 2

    wait_until(has_failed_twice, what="two attempts failed")
    assert [each in said for each in ("started in 0.1 s", "started in 0.2 s", "started in 0.4 s")] == [True, True, True]
    assert set(others) <= {instance.pid for instance in crew.snapshot().instances}
    (crew.folder / "broken").unlink()
    parent.wait_for("joined", count=4)
    assert parent.end() == 0


def test_they_end_by_themselves_when_all_is_done(crew: Crew) -> None:
    """--until-empty: who has nothing left to do has not died."""
    parent = crew.start("--processes", 2, "--interval", 0, "--count", 2000, "--until-empty")

    assert parent.process.wait(timeout=60) == 0

    parent._reader.join(30)
    assert len(parent.told("left")) == 2
    assert crew.snapshot().completed + crew.snapshot().failed == 2000


def test_a_reader_that_closes_the_pipe_ends_all_in_order(crew: Crew) -> None:
    """`| head -1`, as with one."""
    words = [*SOLOIST, "run", *crew.connection, "--processes", "2", "--interval", "3600"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    children = pids(crew, 2)

    process.stdout.close()

    assert process.wait(timeout=60) == 0
    assert all(map(is_gone, children))
    assert crew.snapshot().instances == []


def test_a_reader_that_does_not_read_holds_up_nobody(crew: Crew) -> None:
    """Neither the work nor the end."""
    words = [*SOLOIST, "run", *crew.connection, "--processes", "2", "--events", "--interval", "0.001"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT)
    assert process.stdout is not None
    fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
    children = pids(crew, 2)
    unread = wait_until(lambda: found if (found := waiting_in(process.stdout)) > 3500 else 0, what="the pipe is full")

    before = crew.snapshot().completed
    wait_until(lambda: crew.snapshot().completed > before + 100, what="work goes on")
    process.terminate()

    assert process.wait(timeout=60) == 0
    assert unread <= 4096
    assert all(map(is_gone, children))
    process.stdout.close()


def waiting_in(pipe: IO[bytes] | None) -> int:
    """Bytes that nobody has read yet."""
    assert pipe is not None
    return int(struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0\0\0\0"))[0])


def test_a_disk_that_is_full_ends_all_with_its_code(crew: Crew) -> None:
    """Exit 4, as with one."""
    words = [*SOLOIST, "run", *crew.connection, "--processes", "2", "--interval", "3600"]
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT, timeout=60, check=False)

    assert ended.returncode == 4
    assert "soloist: the output cannot be written: No space left on device" in ended.stderr


def test_a_frozen_one_is_thawed_to_leave(crew: Crew) -> None:
    """It would be waited for in vain."""
    parent = crew.start("--processes", 2, "--interval", 0.05)
    parent.wait_for("joined", count=2)
    os.kill(pids(crew, 2)[1], signal.SIGSTOP)

    assert parent.end() == 0

    assert crew.snapshot().instances == []


def test_a_health_port_cannot_be_shared(crew: Crew) -> None:
    refused = crew.command("run", "--processes", "2", "--health-port", "0")

    assert refused.returncode == 2
    assert "--health-port answers for one process" in refused.stderr


def test_kinds_that_nobody_handles_are_refused(crew: Crew) -> None:
    refused = crew.command("run", "tests.processes.breakable:app", "--kinds", "mial,parcel")

    assert refused.returncode == 2
    assert (
        "App 'breakable' (breakable.py, line 9) has no handler for the kind 'mial'. Did you mean mail? "
        "It has: parcel, mail."
    ) in refused.stderr


def test_only_the_kinds_that_are_named_are_handled(crew: Crew) -> None:
    """The others wait for somebody else; sources run all the same, unless the role forbids it."""
    handler = crew.start(BREAKABLE, "--kinds", "parcel", "--role", "handler")
    assert crew.snapshot().published == 0
    crew.start(BREAKABLE, "--kinds", "mail")
    wait_until(lambda: crew.snapshot().kinds["parcel"].completed > 3, what="parcels are handled")
    handler.end()

    seen = wait_until(
        lambda: found if (found := crew.snapshot()).kinds["parcel"].pending > 3 else None, what="parcels wait"
    )

    assert seen is not None
    assert seen.kinds["mail"].completed > 3
