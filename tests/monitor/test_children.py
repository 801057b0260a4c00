"""Processes that the monitor started: none of them outlives it."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from soloist.monitor.children import Children
from soloist.monitor.model import Child, Phase
from tests.embedded.conftest import is_gone
from tests.processes.crew import ROOT
from tests.servers import PrivateServer
from tests.waiting import wait_until

KILLED_WITHIN = 2.0
"""Seconds in which all have to be gone after a kill -9 of who started them."""


@pytest.fixture
def words(server: PrivateServer, namespace: str) -> list[str]:
    return ["run", "--events", "--url", server.url, "--namespace", namespace, "--interval", "0.05"]


@pytest.fixture
def children(words: list[str]) -> Iterator[Children]:
    with closing(Children(words, {})) as made:
        yield made


def joined(children: Children, count: int = 1) -> tuple[Child, ...]:
    return wait_until(
        lambda: children.states() if sum(each.number > 0 for each in children.states()) >= count else (),
        what=f"{count} have joined",
    )


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def of_folder(marker: str) -> list[int]:
    """Processes with this in their environment or arguments, other than ourselves."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid() and not is_gone(int(entry.name)):
            try:
                said = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            except OSError:
                continue
            if marker.encode() in said:
                found.append(int(entry.name))
    return found


def test_one_is_a_real_instance_and_tells_its_number(children: Children) -> None:
    """`python -m soloist run …`, in a session of its own: Ctrl-C is not for it."""
    pid = children.start()
    (child,) = joined(children)

    assert (child.pid, child.phase, child.number > 0) == (pid, Phase.RUNNING, True)
    said = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    assert said[:5] == [sys.executable.encode(), b"-m", b"soloist", b"run", b"--events"]
    assert os.getsid(pid) == pid


def test_it_is_frozen_thawed_and_killed(children: Children) -> None:
    pid = children.start()
    joined(children)

    children.freeze(pid)
    wait_until(lambda: state_of(pid) == "T", what="it is frozen")
    assert children.states()[0].phase is Phase.FROZEN
    children.thaw(pid)
    wait_until(lambda: state_of(pid) != "T", what="it is thawed")
    assert children.states()[0].phase is Phase.RUNNING
    children.kill(pid)
    ended = wait_until(lambda: [each for each in children.states() if each.phase is Phase.ENDED], what="it is killed")
    assert ended[0].code == -signal.SIGKILL
    assert children.is_over


@pytest.mark.parametrize("frozen", [False, True])
def test_one_that_is_asked_to_stop_leaves_in_order(children: Children, frozen: bool) -> None:
    """One that is frozen cannot hear it: it is thawed."""
    pid = children.start()
    joined(children)
    if frozen:
        children.freeze(pid)
        wait_until(lambda: state_of(pid) == "T", what="it is frozen")

    children.stop(pid)

    assert children.states()[0].phase is Phase.LEAVING
    assert wait_until(lambda: children.is_over, what="it has left")
    assert children.states()[0].code == 0


def test_a_change_is_told_at_once(words: list[str]) -> None:
    """The screen need not wait for its next look at the server."""
    told: list[int] = []
    with closing(Children(words, {}, changed=lambda: told.append(1))) as children:
        pid = children.start()
        joined(children)
        assert told
        told.clear()
        children.kill(pid)
        wait_until(lambda: told, what="its end is told")


def test_one_that_cannot_start_leaves_its_last_words(server: PrivateServer) -> None:
    with closing(Children(["run", "--events", "--url", server.url, "--lease", "0"], {})) as children:
        children.start()
        wait_until(lambda: children.is_over, what="it has ended")
        last = wait_until(lambda: children.states()[0].last_words, what="its words are read")

    assert children.states()[0].code == 2
    assert "--lease" in last


def test_nothing_to_do_to_one_that_is_gone(children: Children) -> None:
    """Its process number may be a stranger's by now."""
    pid = children.start()
    children.kill(pid)
    wait_until(lambda: children.is_over, what="it is gone")

    for act in (children.freeze, children.thaw, children.stop, children.kill):
        act(pid)
        act(os.getpid())
    assert children.states()[0].phase is Phase.ENDED


def test_closing_leaves_none(words: list[str]) -> None:
    """Whatever they do, and even frozen."""
    children = Children(words, {})
    pids = [children.start() for _ in range(3)]
    children.freeze(pids[0])
    children.close()

    assert [is_gone(pid) for pid in pids] == [True, True, True]


HOLDER = """
import sys, time
from soloist.monitor.children import Children
children = Children(sys.argv[3:], {"MARKER": sys.argv[1]})
children.leash.preferred = sys.argv[2]
pids = [children.start() for _ in range(3)]
while sum(child.number > 0 for child in children.states()) < 3:
    assert not any(child.code for child in children.states()), children.states()
    time.sleep(0.01)
children.freeze(pids[1])
print(*pids, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("leash", ["kernel", "guard"])
def test_when_who_started_them_is_killed_they_go_too(words: list[str], namespace: str, leash: str) -> None:
    """No exit handler runs; one of them is frozen. By the kernel on Linux, by a guard elsewhere."""
    if leash == "kernel" and not sys.platform.startswith("linux"):
        pytest.skip("only Linux can do that")
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, f"marker-{namespace}", leash, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as holder:
        assert holder.stdout is not None
        pids = [int(word) for word in holder.stdout.readline().split()]
        assert len(pids) == 3
        wait_until(lambda: state_of(pids[1]) == "T", what="one is frozen")
        assert not any(map(is_gone, pids))

        holder.kill()
        try:
            wait_until(lambda: all(map(is_gone, pids)), within=KILLED_WITHIN, what="all are gone")
        finally:
            for pid in pids:
                if not is_gone(pid):
                    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not of_folder(f"marker-{namespace}"), what="no guard is left either")


def test_a_guard_goes_with_the_one_that_it_guards(children: Children, namespace: str) -> None:
    """Else every start would leave one behind until the monitor ends."""
    children.leash.preferred = "guard"
    pid = children.start()
    joined(children)
    guards: Callable[[], list[int]] = lambda: [each for each in of_folder(namespace) if each != pid]  # noqa: E731
    assert len(guards()) == 1

    children.kill(pid)

    wait_until(lambda: not guards(), what="its guard is gone")
