import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis

from soloist.embedded.state import State
from tests.waiting import wait_until

LINGER_S = 0.3


@dataclass
class Where:
    """What a user says about its server."""

    url: str
    pid: int
    port: int
    started: bool


class User:
    """A real process that uses the embedded server of a folder."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("user.py")), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._where: Where | None = None

    @property
    def where(self) -> Where:
        """What it said when it had joined."""
        if self._where is None:
            self._where = Where(**self._listen())
        return self._where

    @property
    def error(self) -> str:
        """What it said when it could not join."""
        return str(self._listen()["error"])

    def ensure(self) -> Where:
        self._where = Where(**self._tell("ensure"))
        return self._where

    def fork(self) -> int:
        """Have it fork; return the child's number."""
        assert self.where.pid
        return int(self._tell("fork")["child"])

    def kill(self) -> None:
        """End it as if the plug were pulled."""
        with self._process:  # closes the pipes, which a child of it may hold open for longer, and waits
            self._process.kill()

    def _tell(self, command: str) -> dict[str, Any]:
        assert self._process.stdin
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        return self._listen()

    def _listen(self) -> dict[str, Any]:
        assert self._process.stdout
        said: dict[str, Any] = json.loads(self._process.stdout.readline())
        return said


def processes_of(folder: Path) -> list[int]:
    """The supervisors and servers of that folder, told by their arguments and by where they work."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if not entry.name.isdigit():
                continue
            arguments = (entry / "cmdline").read_bytes().split(b"\0")
            supervises = b"soloist.embedded.supervisor" in arguments and str(folder).encode() in arguments
            if supervises or (entry / "cwd").readlink() == folder / "data":
                found.append(int(entry.name))
    return found


def supervisor_of(folder: Path) -> int:
    info = State(folder).read()
    assert info is not None
    return info.supervisor


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


def put(url: str, key: str, value: str) -> None:
    with redis.Redis.from_url(url) as server:
        server.set(key, value)


def get(url: str, key: str) -> str | None:
    with redis.Redis.from_url(url, decode_responses=True) as server:
        value: str | None = server.get(key)
        return value


@pytest.fixture(autouse=True)
def _short_linger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOLOIST_EMBEDDED_LINGER", str(LINGER_S))
    monkeypatch.delenv("SOLOIST_HOME", raising=False)
    monkeypatch.delenv("SOLOIST_SERVER", raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A state folder of this test alone. Whatever runs in it has to end when its users are gone."""
    folder = tmp_path / "state"
    yield folder
    try:
        wait_until(lambda: not processes_of(folder), within=15, what="the processes of the embedded server end")
    except AssertionError:
        for pid in processes_of(folder):
            os.kill(pid, signal.SIGKILL)
        raise


@pytest.fixture
def user(folder: Path) -> Iterator[Callable[[], User]]:
    """Starts processes that use the folder's server; kills them at the end."""
    users: list[User] = []

    def start() -> User:
        users.append(User(folder))
        return users[-1]

    yield start
    for one in users:
        one.kill()
