"""Ending a server whose supervisor was killed, and nothing else.

On Linux the kernel has already sent it SIGTERM, and this only waits. Elsewhere it is asked over its port, with its
password. One that is frozen hears neither; it is killed only where its identity can be shown (Linux: the process of
that number works in our data folder, and the signal goes through a handle on that very process). Otherwise the user
is told its number: a stored process number may have passed to a stranger.
"""

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from soloist.embedded import probe
from soloist.embedded.locks import RETRY_S, is_held
from soloist.embedded.state import ServerInfo, State
from soloist.errors import EmbeddedServerError

ORDERLY_S = 3.0
"""To end by itself. It also covers a child of the server that still rewrites the append-only file."""

KILLED_S = 10.0
"""To vanish after SIGKILL."""


def end_leftover(state: State) -> None:
    """Return when nobody holds server.lock any more. Only to be called while no supervisor lives."""
    info = state.read()
    if info is not None and is_held(state.server_lock):
        probe.shut_down(info.port, info.password)
    if _free_within(ORDERLY_S, state):
        return
    if info is not None:
        _kill_if_ours(info, state)
    if _free_within(KILLED_S, state):
        return
    who = f"process {info.pid}" if info else "a process that left no trace of its number"
    raise EmbeddedServerError(
        f"A server without a supervisor, {who}, still holds {state.data} and does not end: "
        "end it by hand, or name another folder with SOLOIST_HOME."
    )


def _free_within(seconds: float, state: State) -> bool:
    give_up = time.monotonic() + seconds
    while is_held(state.server_lock):
        if time.monotonic() > give_up:
            return False
        time.sleep(RETRY_S)
    return True


def _kill_if_ours(info: ServerInfo, state: State) -> None:
    if sys.platform == "linux":
        with suppress(OSError):
            process = os.pidfd_open(info.pid)
            try:
                # The handle was taken first: what is checked now is what will be killed.
                if Path(f"/proc/{info.pid}/cwd").samefile(state.data):
                    signal.pidfd_send_signal(process, signal.SIGKILL)
            finally:
                os.close(process)
