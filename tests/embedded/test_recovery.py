import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from soloist import embedded
from soloist.embedded.state import ServerInfo, State
from tests.embedded.conftest import User, get, is_gone, processes_of, put, supervisor_of
from tests.waiting import wait_until


def test_a_killed_supervisor_takes_its_server_along(folder: Path, user: Callable[[], User]) -> None:
    """There is never a server that nobody watches; the next user starts another, with the data."""
    first = user()
    put(first.where.url, "key", "kept")

    os.kill(supervisor_of(folder), signal.SIGKILL)

    wait_until(lambda: is_gone(first.where.pid), what="the server ends with its supervisor")
    second = user()
    assert second.where.started
    assert get(second.where.url, "key") == "kept"


def test_a_joiner_right_after_the_kill_of_the_supervisor_gets_a_server(folder: Path, user: Callable[[], User]) -> None:
    """The old server may still be ending: the new one waits for the data folder, and two never share it."""
    first = user()
    put(first.where.url, "key", "kept")
    supervisor = supervisor_of(folder)
    os.kill(supervisor, signal.SIGKILL)
    wait_until(lambda: is_gone(supervisor), what="the supervisor is gone")

    where = first.ensure()

    assert where.started
    assert get(where.url, "key") == "kept"
    assert len(processes_of(folder)) == 2


def test_a_killed_server_is_brought_back_by_ensure(folder: Path, user: Callable[[], User]) -> None:
    """A user that is refused runs the start again; all others then find the same new server, with the data."""
    users = [user() for _ in range(3)]
    put(users[0].where.url, "key", "kept")
    old = {one.where.pid for one in users}.pop()

    os.kill(old, signal.SIGKILL)
    found = [one.ensure() for one in users]

    assert len({where.pid for where in found}) == 1
    assert found[0].pid != old
    assert [get(where.url, "key") for where in found] == ["kept"] * 3


def test_ensure_leaves_a_server_that_answers_alone(folder: Path) -> None:
    """It may be called at any time."""
    share = embedded.acquire(folder)
    before = share.url

    share.ensure()

    assert share.url == before
    assert not share.started
    share.release()


def test_a_frozen_server_without_a_supervisor_is_ended_first(folder: Path, user: Callable[[], User]) -> None:
    """It hears no signal and no request, but it holds the data: it is shown to be ours, and killed."""
    first = user()
    put(first.where.url, "key", "kept")
    os.kill(first.where.pid, signal.SIGSTOP)
    os.kill(supervisor_of(folder), signal.SIGKILL)

    second = user()

    assert get(second.where.url, "key") == "kept"
    assert is_gone(first.where.pid)


def test_a_stale_file_harms_nobody(folder: Path) -> None:
    """The numbers in an old server.json may have passed to strangers: they are neither asked nor ended."""
    folder.mkdir(mode=0o700)
    stranger = os.getpid()
    stale = ServerInfo(
        port=1, password="old", pid=stranger, supervisor=stranger, version="valkey 1", binary="/gone", started_at=0
    )
    State(folder).write(stale)
    assert embedded.status(folder) is None
    assert embedded.stop(folder) is False
    State(folder).write(stale)

    share = embedded.acquire(folder)

    assert share.started
    assert share.pid != stranger
    share.release()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"port": 1}'])
def test_a_broken_file_is_as_good_as_none(folder: Path, content: str) -> None:
    """Whatever is in server.json, a server can be had."""
    folder.mkdir(mode=0o700)
    (folder / "server.json").write_text(content)

    share = embedded.acquire(folder)

    assert share.started
    share.release()


def test_a_supervisor_whose_folder_is_removed_stops(folder: Path) -> None:
    """Without its folder nobody can find the server any more: it does not stay behind."""
    share = embedded.acquire(folder)

    folder.rename(folder.with_name("moved"))

    wait_until(lambda: is_gone(share.pid), what="the server ends with its folder")
    share.release()


def test_the_terminal_does_not_end_the_supervisor(folder: Path) -> None:
    """Ctrl-C and a closed terminal are for the users; SIGTERM stops the server in order."""
    share = embedded.acquire(folder)
    supervisor = supervisor_of(folder)
    for sign in (signal.SIGINT, signal.SIGHUP):
        os.kill(supervisor, sign)
    assert os.getsid(supervisor) != os.getsid(0)
    put(share.url, "key", "kept")

    os.kill(supervisor, signal.SIGTERM)

    wait_until(lambda: not processes_of(folder), what="the supervisor ends on SIGTERM")
    assert "ready to exit" in (folder / "server.log").read_text()
    assert not (folder / "server.json").exists()
    share.release()
