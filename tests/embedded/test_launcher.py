import os
import signal
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from soloist import embedded
from tests.embedded.conftest import LINGER_S, User, get, is_gone, processes_of, put
from tests.waiting import wait_until


def test_eight_simultaneous_starters_make_one_server(folder: Path, user: Callable[[], User]) -> None:
    """However many come at once, one starts the server and the others join it."""
    users = [user() for _ in range(8)]

    found = [one.where for one in users]

    assert len({(where.pid, where.url) for where in found}) == 1
    assert [where.started for where in found].count(True) == 1
    assert len(processes_of(folder)) == 2  # one supervisor, one server


def test_the_server_stays_while_one_user_lives_and_stops_after_the_last(folder: Path, user: Callable[[], User]) -> None:
    """A killed user counts as gone, and only when all are gone does the server stop."""
    users = [user() for _ in range(8)]
    pid = users[0].where.pid
    for one in users:
        assert one.where.pid == pid

    for one in users[:-1]:
        one.kill()
    time.sleep(3 * LINGER_S)  # that nothing happens can only be seen by letting time pass
    put(users[-1].where.url, "still", "here")
    users[-1].kill()

    wait_until(lambda: is_gone(pid), what="the server ends after its last user")
    wait_until(lambda: not (folder / "server.json").exists(), what="server.json is removed")


def test_the_server_lingers_for_a_user_that_comes_soon(
    folder: Path, user: Callable[[], User], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row of short commands uses one server, not one each."""
    monkeypatch.setenv("SOLOIST_EMBEDDED_LINGER", "20")
    first = user()
    pid = first.where.pid
    first.kill()

    second = user()

    assert second.where.pid == pid
    assert not second.where.started
    assert embedded.stop(folder)


def test_data_survives_a_restart(folder: Path, user: Callable[[], User]) -> None:
    """What was written is there the next day, in another server."""
    first = user()
    put(first.where.url, "error", "kept")
    first.kill()
    wait_until(lambda: not processes_of(folder), what="the server ends after its last user")

    second = user()

    assert second.where.pid != first.where.pid
    assert get(second.where.url, "error") == "kept"


def test_a_forked_child_of_a_user_does_not_keep_the_server(folder: Path, user: Callable[[], User]) -> None:
    """A child that its parent left behind is not a user, though it inherited the parent's descriptors."""
    parent = user()
    child = parent.fork()
    try:
        parent.kill()

        wait_until(lambda: is_gone(parent.where.pid), what="the server ends after its last user")
        assert not is_gone(child)
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_program_that_a_user_starts_does_not_keep_the_server(folder: Path) -> None:
    """Programs inherit no lock, not even when they are started with all descriptors open."""
    share = embedded.acquire(folder)
    program = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        share.release()

        wait_until(lambda: is_gone(share.pid), what="the server ends after its last user")
    finally:
        program.kill()
        program.wait()


def test_a_share_can_be_taken_again(folder: Path) -> None:
    """After `release()` the process is no user; after `ensure()` it is one again."""
    share = embedded.acquire(folder)
    first = share.pid
    share.release()
    wait_until(lambda: not processes_of(folder), what="the server ends after its last user")

    share.ensure()

    assert share.started
    assert share.pid != first
    assert share.url == f"redis://:{share.url.split(':')[2].split('@')[0]}@127.0.0.1:{share.port}/0"
    share.release()


def test_the_password_is_shown_to_nobody_else(folder: Path) -> None:
    """It is in a file that only its owner can read, and not in what `ps` shows; without it the server says nothing."""
    share = embedded.acquire(folder)
    password = share.url.split(":")[2].split("@")[0]

    assert stat.S_IMODE((folder / "server.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for pid in processes_of(folder):
        shown = Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
        assert password.encode() not in shown
    assert password not in (folder / "server.log").read_text()
    with redis.Redis.from_url(f"redis://127.0.0.1:{share.port}") as stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()
    share.release()


def test_the_server_keeps_what_it_was_given(folder: Path) -> None:
    """It writes every change to its append-only file, evicts nothing, and listens on this machine alone."""
    share = embedded.acquire(folder)

    with redis.Redis.from_url(share.url, decode_responses=True) as server:
        settings = server.config_get("append*", "maxmemory-policy", "save", "bind", "dir")

    assert settings["appendonly"] == "yes"
    assert settings["appendfsync"] == "everysec"
    assert settings["maxmemory-policy"] == "noeviction"
    assert settings["save"] == ""
    assert settings["bind"] == "127.0.0.1"
    assert settings["dir"] == str(folder / "data")
    share.release()


def test_the_supervisor_and_the_server_inherit_nothing_of_the_user(folder: Path, tmp_path: Path) -> None:
    """Neither holds users.lock, which would keep the server for ever, nor any file that the user has open."""
    with (tmp_path / "open").open("w") as mine:
        os.set_inheritable(mine.fileno(), True)
        share = embedded.acquire(folder)

    for pid in processes_of(folder):
        opened = [str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()]
        assert str(folder / "users.lock") not in opened
        assert str(folder / "start.lock") not in opened
        assert str(tmp_path / "open") not in opened
    share.release()
