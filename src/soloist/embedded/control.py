"""Looking at the embedded server and stopping it. Nothing here starts one or creates its folder.

Stopping is a request in a file, which the supervisor sees within a tenth of a second, and not a signal: the stored
number of a process may have passed to a stranger, while the supervisor always knows its own child. It also ends a
server that is frozen and could not be asked over its port.
"""

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from soloist.embedded import probe
from soloist.embedded.leftover import end_leftover
from soloist.embedded.locks import RETRY_S, FileLock, is_held
from soloist.embedded.state import State, unusable
from soloist.errors import EmbeddedServerError

STOP_WITHIN_S = 30.0
"""Longer than the supervisor gives a frozen server before it kills it."""


@dataclass(frozen=True, slots=True)
class Status:
    """A running embedded server, as it was found."""

    folder: Path
    port: int
    pid: int
    version: str
    """Kind and version, such as "valkey 9.1.2"."""
    binary: Path
    started_at: float
    """Wall clock, seconds."""
    data_bytes: int
    """What its data takes on the disk."""
    answering: bool


def status(folder: Path | None = None) -> Status | None:
    """The server of this folder; None when none runs (or it is not ready yet)."""
    state = State.locate(folder)
    try:
        info = state.read() if is_held(state.server_lock) else None
    except OSError as error:
        raise unusable(state.folder, error) from error
    if info is None:
        return None
    return Status(
        folder=state.folder,
        port=info.port,
        pid=info.pid,
        version=info.version,
        binary=Path(info.binary),
        started_at=info.started_at,
        data_bytes=_size(state.data),
        answering=probe.ping(info.port, info.password) is probe.Answer.READY,
    )


def stop(folder: Path | None = None) -> bool:
    """Stop the server in order, whoever uses it; True if one was running.

    A user that is still there will be refused, and if it then calls `Embedded.ensure()`, there is a new server.
    """
    state = State.locate(folder)
    deadline = time.monotonic() + STOP_WITHIN_S
    try:
        if not state.folder.is_dir():
            return False
        with _turn(state, deadline):
            if not is_held(state.server_lock) and not is_held(state.supervisor_lock):
                state.forget()
                return False
            try:
                _ask_supervisor(state, deadline)
            finally:
                state.stop_request.unlink(missing_ok=True)
            end_leftover(state)
            state.forget()
            return True
    except OSError as error:
        raise unusable(state.folder, error) from error


def _turn(state: State, deadline: float) -> FileLock:
    turn = FileLock.wait(state.start_lock, until=deadline)
    if turn is None:
        raise EmbeddedServerError(
            f"Another process has been starting or stopping the embedded server in {state.folder} "
            f"for {STOP_WITHIN_S:g} s: see {state.log}."
        )
    return turn


def _ask_supervisor(state: State, deadline: float) -> None:
    """Return when there is no supervisor (any more)."""
    while is_held(state.supervisor_lock):
        state.stop_request.touch(mode=0o600)  # again and again: one that starts just now clears away old requests
        if time.monotonic() >= deadline:
            info = state.read()
            who = f"process {info.supervisor}" if info else f"see {state.log}"
            raise EmbeddedServerError(
                f"The supervisor of the embedded server in {state.folder} ({who}) does not react: end it by hand."
            )
        time.sleep(RETRY_S)


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # the server replaces its files while they are counted
            total += path.stat().st_size if path.is_file() else 0
    return total
