"""A real server of one's own: started here, ended here, shared with nobody."""

import os
import socket
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, Self, TypeAlias

from soloist.embedded.binary import find_server
from soloist.errors import EmbeddedServerError
from soloist.lab.free_port import free_port
from soloist.lab.leashed import Leash

Persistence: TypeAlias = Literal["no", "everysec", "always"]
ANSWERS_WITHIN = 20.0
ENDS_WITHIN = 30.0


class PrivateServer:
    """On a loopback port, which stays the same when it is started again.

    Args:
        folder: its working folder: log and data.
        persistence: "no", or when the append-only file is flushed to the disk.
        options: more of the server's own options, as in its configuration file.
        program: of the server; None: as embedded/binary.py finds it.
        variables: more of its environment.
    """

    def __init__(
        self,
        leash: Leash,
        folder: Path,
        persistence: Persistence,
        options: Mapping[str, str] | None = None,
        program: Path | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._leash = leash
        self._folder = folder
        self._port = free_port()
        self._program = program
        self._environment = {**os.environ, **(variables or {})}
        kept = {"appendonly": "no"} if persistence == "no" else {"appendonly": "yes", "appendfsync": persistence}
        self._options = {"save": "", **kept, **(options or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._port}/0"

    @property
    def port(self) -> int:
        return self._port

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def send_signal(self, number: int) -> None:
        """To its process; nothing happens if it does not run."""
        if self._process is not None:
            self._process.send_signal(number)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._folder.mkdir(parents=True, exist_ok=True)
        said = {"bind": "127.0.0.1", "port": str(self._port), "dir": str(self._folder), "logfile": "server.log"}
        words = [word for name, value in (said | self._options).items() for word in (f"--{name}", value)]
        program = [str(self._program or find_server()), *words]
        process = self._process = self._leash.start(
            program, env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + ANSWERS_WITHIN
        while not self._answers() or process.poll() is not None:  # a stranger who took the port may answer
            if process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise EmbeddedServerError(f"{program[0]} does not answer in {self._folder}; it said:\n{self._said()}")
            time.sleep(0.005)

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """End it in order; nothing happens if it does not run."""
        if self._process is not None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(ENDS_WITHIN)
            self.kill()

    def _said(self) -> str:
        log = self._folder / "server.log"
        return log.read_text(errors="replace")[-2000:].rstrip() if log.exists() else "nothing"

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(100).startswith(b"+PONG")
        return False
