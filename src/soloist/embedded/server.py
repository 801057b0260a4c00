"""The server as a child of the supervisor: started, awaited, stopped in order.

Its configuration goes in on stdin: on the command line or in a file the password would be seen by others or stay
behind. Its working folder is data/, so the path needs no quoting, and a process can be told by it.
"""

import ctypes
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from soloist.embedded import probe
from soloist.embedded.locks import FileLock
from soloist.embedded.state import ServerInfo, State
from soloist.errors import EmbeddedServerError

ANSWER_WITHIN_S = 20.0
"""A started server that says nothing for so long is broken. While it says LOADING it may take as long as it needs."""

STOP_WITHIN_S = 10.0
"""From SIGTERM to SIGKILL. Ending takes milliseconds; only a frozen or hopelessly busy server gets here."""

PORT_ATTEMPTS = 5
"""A free port may be taken by another process before the server binds it."""

CONFIGURATION = """\
port {port}
bind 127.0.0.1
protected-mode yes
requirepass {password}
appendonly yes
appendfsync everysec
save ""
maxmemory-policy noeviction
daemonize no
"""

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None
"""Loaded before the fork: between fork and exec nothing may be imported or opened."""


class ServerProcess:
    """One run of the server. It holds `lock`, by inheritance, until it is gone."""

    def __init__(self, state: State, binary: Path, lock: FileLock) -> None:
        self._state = state
        self._binary = binary
        self._lock = lock
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, abandon: Callable[[], bool]) -> ServerInfo:
        """Start it and wait until it takes commands. `abandon` is asked while it is waited for."""
        self._state.data.mkdir(mode=0o700, exist_ok=True)
        for _ in range(PORT_ATTEMPTS):
            port, password, said_before = _free_port(), secrets.token_hex(16), self._state.log_size()
            process = self._process = self._spawn(port, password)
            failure = self._await_answer(process, port, password, abandon)
            if failure is None:
                return ServerInfo(
                    port=port,
                    password=password,
                    pid=process.pid,
                    supervisor=os.getpid(),
                    version=probe.version(port, password),
                    binary=str(self._binary),
                    started_at=time.time(),
                )
            self.stop()
            said = self._state.last_lines(said_before)
            if "Address already in use" not in said:
                break
        raise EmbeddedServerError(
            f"The embedded server, {self._binary}, {failure} in {self._state.folder}; {said}\n"
            f"If it is the data that it cannot read, move {self._state.data} away; "
            "otherwise name another folder with SOLOIST_HOME, another server program with SOLOIST_SERVER, or a running "
            "server with --url."
        )

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """End it in order: on SIGTERM it writes and syncs the append-only file."""
        if self._process is None or not self.running:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _spawn(self, port: int, password: str) -> "subprocess.Popen[bytes]":
        # A duplicate, because the original is closed in forked children (see locks). The lock is the same one.
        inherited = os.dup(self._lock.descriptor)
        log = os.open(self._state.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            process = subprocess.Popen(
                [str(self._binary), "-"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self._state.data,
                # A locale that this machine does not have ends the server at its start.
                env=os.environ | {"LC_ALL": "C"},
                pass_fds=(inherited,),
                # Safe here: this process has one thread, and what runs in the child was loaded beforehand.
                preexec_fn=_die_with(os.getpid()) if _libc else None,  # noqa: PLW1509
            )
        except OSError as error:
            raise EmbeddedServerError(
                f"The server program {self._binary} cannot be run ({error.strerror}): "
                "name another with SOLOIST_SERVER, or a running server with --url."
            ) from error
        finally:
            os.close(inherited)
            os.close(log)
        assert process.stdin is not None
        # A server that is already gone says why in its log.
        with suppress(BrokenPipeError), process.stdin as stdin:
            stdin.write(CONFIGURATION.format(port=port, password=password).encode())
        return process

    def _await_answer(
        self, process: "subprocess.Popen[bytes]", port: int, password: str, abandon: Callable[[], bool]
    ) -> str | None:
        """None when it takes commands, else what went wrong."""
        give_up = time.monotonic() + ANSWER_WITHIN_S
        while process.poll() is None:
            answer = probe.ping(port, password, within=0.2)
            if answer is probe.Answer.READY:
                return None
            if answer is probe.Answer.LOADING:
                give_up = time.monotonic() + ANSWER_WITHIN_S
            if abandon():
                return "was asked to stop while it started"
            if time.monotonic() > give_up:
                return f"did not answer for {ANSWER_WITHIN_S:g} s"
            time.sleep(0.002)
        return f"ended at its start (code {process.returncode})"


def _free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        port: int = trial.getsockname()[1]
        return port


def _die_with(supervisor: int) -> Callable[[], None]:
    """What the child does before it becomes the server: have the kernel send it SIGTERM when the supervisor is gone.

    SIGTERM, not SIGKILL: while the disk is slow, acknowledged writes may wait in the server's memory for up to 2 s.
    """
    libc = _libc

    def prepare() -> None:
        if libc is not None:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != supervisor:  # it was gone before the kernel knew of our wish
            os._exit(1)

    return prepare
