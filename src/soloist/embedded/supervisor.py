"""The detached process that owns the server: `python -m soloist.embedded.supervisor FOLDER FD`.

A process of its own, because any user may be killed at any moment and the server has to outlive all but the last of
them. It reports once, one line of JSON on FD, to the launcher that waits; then it watches. What it decides, and why
there is no gap, is in the docstring of the package.
"""

import json
import os
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from soloist.embedded.binary import find_server
from soloist.embedded.leftover import end_leftover
from soloist.embedded.linger import linger
from soloist.embedded.locks import FileLock
from soloist.embedded.server import ServerProcess
from soloist.embedded.state import State, unusable
from soloist.errors import EmbeddedServerError

TICK_S = 0.1
"""How often it looks for users and requests. The end of the server and signals wake it at once."""

LOCK_WITHIN_S = 1.0
"""For a lock that nobody holds but for the moment of a look (see locks.is_held)."""


class Supervisor:
    """Owns one server from its start to its end."""

    def __init__(self, state: State, linger: float) -> None:
        self._state = state
        self._linger = linger
        self._terminated = False
        self._wakeup, signalled = os.pipe()
        for end in (self._wakeup, signalled):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._on_sigterm)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # only to be woken

    def start(self) -> bool:
        """Have the server running and server.json written. False: another supervisor does that already."""
        own = FileLock.wait(self._state.supervisor_lock, until=time.monotonic() + LOCK_WITHIN_S)
        if own is None:
            return False
        self._own = own
        self._state.stop_request.unlink(missing_ok=True)
        end_leftover(self._state)
        self._state.forget()
        lock = FileLock.wait(self._state.server_lock, until=time.monotonic() + LOCK_WITHIN_S)
        if lock is None:
            raise EmbeddedServerError(f"Another process took {self._state.server_lock}: try again.")
        self._server = ServerProcess(self._state, find_server(), lock)
        try:
            self._state.write(self._server.start(abandon=self._asked_to_stop))
        except BaseException:
            self._server.stop()
            raise
        return True

    def watch(self) -> None:
        """Return when the server is gone, by itself or because it was time."""
        try:
            self._until_time_to_stop()
        finally:
            with suppress(OSError):
                self._state.forget(supervisor=os.getpid())  # first, so that nobody joins a server that is ending
            self._server.stop()
            with suppress(OSError):
                self._state.stop_request.unlink(missing_ok=True)

    def _until_time_to_stop(self) -> None:
        unused_since, joined = time.monotonic(), self._last_join()
        # Somebody who removes the folder has removed the data too.
        while self._server.running and not self._asked_to_stop() and self._own.guards(self._state.supervisor_lock):
            # A visit between two looks shows only in the time stamp that every user leaves.
            visited = self._last_join() != joined
            users = None if visited else FileLock.attempt(self._state.users_lock)
            if users is None:
                unused_since, joined = time.monotonic(), self._last_join()
            elif time.monotonic() - unused_since < self._linger:
                users.release()
            else:
                return  # and keep users.lock: whoever comes now waits until all is gone
            self._sleep()

    def _asked_to_stop(self) -> bool:
        return self._terminated or self._state.stop_request.exists()

    def _last_join(self) -> int:
        try:
            return self._state.users_lock.stat().st_mtime_ns
        except OSError:
            return 0

    def _sleep(self) -> None:
        select.select([self._wakeup], [], [], TICK_S)
        with suppress(BlockingIOError):
            os.read(self._wakeup, 4096)

    def _on_sigterm(self, *_: object) -> None:
        self._terminated = True


def _report(descriptor: int, *, started: bool = False, error: str = "") -> None:
    """Tell the launcher. If it is gone, others may be waiting for server.json all the same."""
    with suppress(BrokenPipeError), os.fdopen(descriptor, "w") as pipe:
        pipe.write(json.dumps({"started": started, "error": error}) + "\n")


def main(folder: str, descriptor: int) -> int:
    # Forked once more: the launcher can wait for its own child at once, and never has a dead one to bury.
    if os.fork():
        os._exit(0)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])  # a launcher's thread may have blocked signals
    for sign in (signal.SIGINT, signal.SIGHUP):
        signal.signal(sign, signal.SIG_IGN)
    os.umask(0o077)
    os.chdir(folder)  # hold no one's mounted disk
    state = State(Path(folder))
    supervisor = Supervisor(state, linger())
    try:
        started = supervisor.start()
    except EmbeddedServerError as error:
        _report(descriptor, error=str(error))
        return 1
    except OSError as error:
        _report(descriptor, error=str(unusable(state.folder, error)))
        return 1
    _report(descriptor, started=started)
    if started:
        supervisor.watch()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
