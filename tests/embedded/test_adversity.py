"""No home, a home that cannot be written, files that others left, a full disk, two users: a sentence, or it just works."""

import json
import os
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import soloist
from soloist import embedded
from soloist.embedded.state import ServerInfo, State
from soloist.errors import EmbeddedServerError
from tests.embedded.conftest import get, put
from tests.waiting import wait_until

SERVER = 3
ANN, BOB = 54_321, 54_322
"""Two users, of whom the system knows nothing but their numbers."""


def command(*words: str, home: Path) -> "subprocess.CompletedProcess[str]":
    """A command of the command line on the embedded server of this folder."""
    environment = {**os.environ, "SOLOIST_HOME": str(home)}
    command = [sys.executable, "-m", "soloist", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)


# Files that somebody left.


def test_what_dead_processes_left_behind_harms_nobody(folder: Path) -> None:
    """Locks live in the kernel: a file that is there, whatever is in it, locks nothing and asks for nothing."""
    folder.mkdir(mode=0o700)
    for name in ("users.lock", "start.lock", "supervisor.lock", "server.lock", "stop.request", "server.json.new"):
        (folder / name).write_text(str(os.getpid()))
    stale = ServerInfo(port=1, password="old", pid=1, supervisor=1, version="valkey 1", binary="/gone", started_at=0)
    State(folder).write(stale)

    share = embedded.acquire(folder)

    put(share.url, "key", "value")
    assert get(share.url, "key") == "value"
    share.release()


@pytest.mark.parametrize("name", ["users.lock", "start.lock", "supervisor.lock", "server.lock", "data"])
def test_something_else_in_place_of_a_file_is_reported(folder: Path, name: str) -> None:
    """A folder where a file should be, or the other way round: the sentence names where, and the way around it."""
    folder.mkdir(mode=0o700)
    if name == "data":
        (folder / name).write_text("not a folder")
    else:
        (folder / name).mkdir()

    with pytest.raises(EmbeddedServerError, match=r"cannot be used \(.+\).*SOLOIST_HOME"):
        embedded.acquire(folder)


def test_without_a_home_folder_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user that the system does not know, with nothing in the environment."""
    for name in ("SOLOIST_HOME", "XDG_STATE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)

    with pytest.raises(EmbeddedServerError, match=r"has no home folder: name another folder with SOLOIST_HOME.*--url"):
        State.locate()


# Killed.


def test_instances_go_on_when_the_embedded_server_is_killed(folder: Path) -> None:
    """Whoever is refused starts it again; the data is there, the numbers go on, and it is said once."""
    words = [sys.executable, "-m", "soloist", "run", "--embedded", "--events", "--interval", "0.05", "--namespace", "n"]
    environment = {**os.environ, "SOLOIST_HOME": str(folder)}
    running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert running.stdout is not None
        before = next(number for number in published(running.stdout) if number > 3)
        found = embedded.status(folder)
        assert found is not None
        os.kill(found.pid, signal.SIGKILL)

        after = next(number for number in published(running.stdout) if number > before + 5)
    finally:
        running.terminate()
        told, said = running.communicate(timeout=60)

    numbers = [json.loads(line)["instance"] for line in told.splitlines()]
    assert len(set(numbers)) == 1, "it was not reborn: nothing was lost"
    assert after > before
    assert running.returncode == 0
    assert said.count("server.lost") <= 1
    assert "Traceback" not in said
    assert embedded.stop(folder)


def published(events: Iterator[str]) -> Iterator[int]:
    return (event["seq"] for event in map(json.loads, events) if event["event"] == "generated")


# A full disk.


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    path = tmp_path / "disk"
    path.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs", str(path)]
    if os.getuid() != 0 or subprocess.run(mounting, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small disk needs root, and a system that lets root do it")
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)


@pytest.fixture
def folder_on(disk: Path) -> Iterator[Path]:
    """A state folder on the small disk. Its server ends with the test."""
    yield disk / "state"
    (disk / "filling").unlink(missing_ok=True)
    embedded.stop(disk / "state")


def fill(disk: Path) -> None:
    with (disk / "filling").open("wb", buffering=0) as filling:
        try:
            while True:
                filling.write(bytes(4096))
        except OSError:
            return


def test_a_disk_that_is_full_before_the_start_is_reported(disk: Path, folder_on: Path) -> None:
    """The sentence names the folder, the reason and the way around it."""
    folder_on.mkdir(mode=0o700)
    fill(disk)

    done = command("status", "--embedded", home=folder_on)

    assert done.returncode == SERVER
    assert "No space left on device" in done.stderr or "is the disk full?" in done.stderr
    assert str(folder_on) in done.stderr
    assert "SOLOIST_HOME" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_disk_that_fills_up_stops_writing_but_not_looking_and_mends_itself(disk: Path, folder_on: Path) -> None:
    """An instance says it once and waits; who looks can look; with space again all goes on, and nothing is lost."""
    words = [sys.executable, "-m", "soloist", "run", "--embedded", "--events", "--interval", "0.02"]
    environment = {**os.environ, "SOLOIST_HOME": str(folder_on)}
    with (disk.parent / "stderr").open("w") as log:
        running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
    said = (disk.parent / "stderr").read_text
    try:
        assert running.stdout is not None
        before = next(number for number in published(running.stdout) if number > 3)
        fill(disk)
        wait_until(lambda: "server.lost" in said(), what="it says that the server takes no more")

        looked, drained = (command(word, home=folder_on) for word in ("status", "getErrors"))

        assert looked.returncode == 0, looked.stderr
        assert "published" in looked.stdout
        assert drained.returncode == SERVER
        assert drained.stderr.startswith("soloist: ")
        assert "No space left on device" in drained.stderr
        (disk / "filling").unlink()
        assert next(number for number in published(running.stdout) if number > before + 5)
        wait_until(lambda: "server.back" in said(), what="it says that the server is back")
    finally:
        running.terminate()
        running.communicate(timeout=60)
    assert running.returncode == 0
    assert said().count("server.lost") == said().count("server.back") == 1
    assert "Traceback" not in said()


# Two users.

As = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def python() -> list[str]:
    """A Python of this version that other users may run too, with what it needs."""
    if os.getuid() != 0:
        pytest.skip("being two users needs root")
    path = os.pathsep.join([str(Path(soloist.__file__).parents[1]), sysconfig.get_path("purelib")])
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        tried = ["env", f"PYTHONPATH={path}", candidate]
        code = "import soloist.cli.main, soloist.embedded"
        try:
            done = subprocess.run([*tried, "-c", code], user=ANN, group=ANN, extra_groups=[], check=False, cwd="/")
        except PermissionError:
            continue
        if done.returncode == 0:
            return tried
    pytest.skip(f"other users may not run {sys.executable}, or not read what is installed for it")


@pytest.fixture
def as_user(python: list[str], tmp_path: Path) -> As:
    """Runs a command as another user, whose home is a folder below this test's."""
    for above in (tmp_path, *tmp_path.parents):
        if above.stat().st_uid == os.getuid() and not above.stat().st_mode & 0o001:
            above.chmod(above.stat().st_mode | 0o011)  # else nobody else could get there

    def run(user: int, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        home = tmp_path / str(user)
        if not home.exists():
            home.mkdir(mode=0o700)
            os.chown(home, user, user)
        kept = {name: os.environ[name] for name in ("PATH", "SOLOIST_EMBEDDED_LINGER") if name in os.environ}
        return subprocess.run(
            [*python, "-m", "soloist", *words],
            user=user,
            group=user,
            extra_groups=[],
            env={**kept, "HOME": str(home), **environment},
            cwd="/",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def refused(done: "subprocess.CompletedProcess[str]") -> str:
    """The sentence of a command that could not have the embedded server."""
    assert done.returncode == SERVER, done
    assert "Traceback" not in done.stderr
    (sentence,) = done.stderr.splitlines()
    assert "SOLOIST_HOME" in sentence
    return sentence


def test_two_users_have_two_servers(as_user: As) -> None:
    """Each below its own home, with a password of its own; neither sees what the other has."""
    started = [as_user(user, "server", "start") for user in (ANN, BOB)]

    assert [done.returncode for done in started] == [0, 0], [done.stderr for done in started]
    assert all(done.stdout.startswith("started: port ") for done in started)
    assert started[0].stdout != started[1].stdout
    for user in (ANN, BOB):
        assert as_user(user, "server", "stop").returncode == 0


def test_the_server_of_another_user_is_refused(as_user: As, tmp_path: Path) -> None:
    """Whether one may look into the folder or not."""
    assert as_user(ANN, "server", "start").returncode == 0
    theirs = tmp_path / str(ANN) / ".local" / "state" / "soloist"

    hidden = refused(as_user(BOB, "server", "start", SOLOIST_HOME=str(theirs)))
    (tmp_path / str(ANN)).chmod(0o755)
    seen = refused(as_user(BOB, "server", "start", SOLOIST_HOME=str(theirs)))

    assert "Permission denied" in hidden
    assert f"belongs to user {ANN}, but this process runs as user {BOB}" in seen
    assert as_user(ANN, "server", "stop").returncode == 0


def test_a_home_that_cannot_be_written_is_reported(as_user: As, tmp_path: Path) -> None:
    """The folder, the reason, the way around it; also for a home that does not exist."""
    as_user(ANN, "--version")
    (tmp_path / str(ANN)).chmod(0o500)

    assert "(Permission denied)" in refused(as_user(ANN, "server", "start"))
    assert "/nonexistent" in refused(as_user(ANN, "server", "start", HOME="/nonexistent"))


def test_a_user_without_a_home_is_told_what_to_set(as_user: As, tmp_path: Path) -> None:
    """And with that all is well."""
    assert "has no home folder" in refused(as_user(ANN, "server", "start", HOME=""))

    elsewhere = str(tmp_path / str(ANN) / "elsewhere")
    for word in ("start", "stop"):
        assert as_user(ANN, "server", word, HOME="", SOLOIST_HOME=elsewhere).returncode == 0
