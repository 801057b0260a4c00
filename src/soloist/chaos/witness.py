"""The witness: a thread that follows the common log during a run, so that no fault takes it away later, and the totals."""

import threading
import time
from contextlib import suppress

from soloist.errors import SoloistError
from soloist.inspector import Inspector, Snapshot
from soloist.store.log import LogEntry

LOOK = 0.05
"""Seconds between looks."""

SAMPLE = 0.5
"""Seconds between looks at the totals."""


class Witness:
    """Follows the log.

    Attributes:
        entries: the common log.
        handled: how many messages, when it last looked.
        wrong: snapshots that do not add up (G3).
    """

    def __init__(self, inspector: Inspector) -> None:
        self._inspector = inspector
        self._ending = threading.Event()
        self._looked = 0.0
        self.entries: list[LogEntry] = []
        self.handled = 0
        self.wrong: list[Snapshot] = []
        self._thread = threading.Thread(target=self._watch, name="witness", daemon=True)

    @property
    def term(self) -> int:
        """The number of the last term that began."""
        return next((int(entry.fields["term"]) for entry in reversed(self.entries) if entry.event == "elected"), 0)

    @property
    def generator_pid(self) -> int:
        """The process that was elected last; 0 if nobody was."""
        entries = self.entries.copy()
        elected = next((entry.fields["instance"] for entry in reversed(entries) if entry.event == "elected"), None)
        joined = (entry for entry in entries if entry.event == "joined" and entry.fields["instance"] == elected)
        return next((int(entry.fields["pid"]) for entry in joined), 0)

    def has_joined(self, pid: int) -> bool:
        return any(entry.event == "joined" and entry.fields["pid"] == str(pid) for entry in self.entries.copy())

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """One more look, and no more."""
        self._ending.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ending.wait(LOOK):
            self._look()
        self._look()

    def _look(self) -> None:
        with suppress(SoloistError):  # the server is away: that is what this is about
            while found := self._inspector.log(after=self.entries[-1].id if self.entries else "0"):
                self.entries += found
            if time.monotonic() - self._looked > SAMPLE or self._ending.is_set():
                self._looked = time.monotonic()
                self._see(self._inspector.snapshot())

    def _see(self, seen: Snapshot) -> None:
        self.handled = seen.completed + seen.failed
        if not seen.adds_up:
            self.wrong.append(seen)
