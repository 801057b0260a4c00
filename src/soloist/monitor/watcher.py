"""The watcher: asks the Inspector and the error store on a thread of its own, with patience when the server is away."""

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from soloist.error_store import ErrorStore
from soloist.errors import SoloistError
from soloist.inspector import Inspector, Snapshot
from soloist.message import ErrorRecord
from soloist.monitor.model import MOST_LOG, Notice, Observation, Seen, Unanswered
from soloist.monitor.views import BODY_WHOLE
from soloist.store.server import Server

EVERY = 0.2
"""Seconds between looks."""
AGAIN = 0.5
"""Seconds between attempts while the server is away."""
HISTORY = 600
"""Seconds of the history that are asked for at first."""
FEW_ERRORS, MORE_ERRORS = 12, 100
"""Error records that are kept at hand, on the main view and where they are browsed."""
SELDOM = 1.0
"""Seconds between looks into the error store, if it has changed at all."""


class Watching(Protocol):
    """What a screen needs of a watcher."""

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def hurry(self) -> None: ...
    def requeue(self, ident: str) -> None: ...
    def want_errors(self, most: int) -> None: ...


MakeWatcher = Callable[[Callable[[Observation], None]], Watching]
"""Makes a watcher, given whom to tell."""


class Watcher:
    """Tells what it sees, whenever it sees something.

    Args:
        tell: called from this watcher's thread.
    """

    def __init__(self, server: Server, namespace: str, tell: Callable[[Observation], None]) -> None:
        self._inspector = Inspector(server, namespace)
        self._errors = ErrorStore(server, namespace)
        self._server = server
        self._tell = tell
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._requests: queue.SimpleQueue[Callable[[], str]] = queue.SimpleQueue()
        self._last_entry = ""
        self._is_fresh = False
        """The history and the end of the log were read."""
        self._errors_as_of: tuple[int, ...] = ()
        self._errors_at = 0.0
        self.wanted_errors = FEW_ERRORS
        self._thread = threading.Thread(target=self._run, name="watcher", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end; it may be waiting for a server that does not answer, so it is not waited for."""
        self._stopped.set()
        self._wake.set()

    def hurry(self) -> None:
        """Look at once: something happened."""
        self._wake.set()

    def requeue(self, ident: str) -> None:
        """Put the message of an error record back; what came of it is told as a notice."""

        def act() -> str:
            found = self._errors.requeue([ident])
            self._errors_as_of = ()
            return f"message {ident} waits again" if found else f"message {ident} is not in the error store any more"

        self._requests.put(act)
        self._wake.set()

    def want_errors(self, most: int) -> None:
        """Keep so many of the newest error records at hand."""
        if most != self.wanted_errors:
            self.wanted_errors = most
            self._errors_at = 0.0
            self._errors_as_of = ()
            self._wake.set()

    def _run(self) -> None:
        while not self._stopped.is_set():
            begun = time.monotonic()
            wait = EVERY
            try:
                self._serve()
                self._tell(self._look())
            except SoloistError as error:
                self._is_fresh = False
                reason = str(error).removeprefix(f"{self._server} ")  # where it is stands above it
                self._tell(Unanswered(time.monotonic(), time.time(), reason))
                wait = AGAIN
            self._wake.wait(max(0.02, wait - (time.monotonic() - begun)))
            self._wake.clear()

    def _serve(self) -> None:
        while not self._requests.empty():
            self._tell(Notice(time.monotonic(), self._requests.get()()))

    def _look(self) -> Seen:
        snapshot = self._inspector.snapshot()
        at, wall = time.monotonic(), time.time()
        history = [] if self._is_fresh else self._inspector.history(HISTORY)
        entries = (
            self._inspector.log(after=self._last_entry) if self._last_entry else self._inspector.end_of_log(MOST_LOG)
        )
        if entries:
            self._last_entry = entries[-1].id
        errors = self._newest(snapshot, at)
        self._is_fresh = True
        return Seen(at, wall, snapshot, entries, history, errors)

    def _newest(self, snapshot: Snapshot, at: float) -> list[ErrorRecord] | None:
        """The newest records, if they may be others than before."""
        as_of = (snapshot.errors, snapshot.failed, self.wanted_errors)
        if as_of == self._errors_as_of or at - self._errors_at < SELDOM:
            return None
        self._errors_as_of, self._errors_at = as_of, at
        return [_shortened(record) for record in self._errors.newest(self.wanted_errors)]


def _shortened(record: ErrorRecord) -> ErrorRecord:
    """With no more of the body than is shown: a hundred of them may be 16 MB each."""
    return replace(record, data=record.data[: BODY_WHOLE + 1])
