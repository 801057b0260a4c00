"""One event per transition, told to whoever listens: JSON lines, the account on the terminal, a test."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MOST_OFTEN = 0.1
"""`generated` and `handled` come at most ten times a second; what is left over comes with the next beat."""


@dataclass(frozen=True)
class Event:
    """Something that happened to this instance."""

    event: str
    at: int
    number: int
    instance: str
    fields: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {"event": self.event, "at": self.at, "number": self.number, "instance": self.instance, **self.fields}


Listener = Callable[[Event], None]


class Events:
    """Tells events in order, whichever thread they come from, and keeps the totals of this process."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._lock = threading.Lock()
        self._number = 0
        self._instance = ""
        self._generated: dict[str, int] = {}
        self._handled: dict[str, int] = {}
        self._told: dict[str, float] = {}
        self.generated = 0
        self.handled = 0
        self.errors = 0

    def joined(self, number: int, instance: str) -> None:
        with self._lock:
            self._tell_totals(force=True)  # of the life before it
            self._number, self._instance = number, instance
            self._tell("joined")

    def tell(self, event: str, **fields: Any) -> None:
        """Tell something that happens rarely, after the totals that came before it."""
        with self._lock:
            self._tell_totals(force=True)
            self._tell(event, **fields)

    def count_generated(self, term: int, seq: int, messages: int, at: int) -> None:
        """Messages were accepted. `at` is when they were sent: a process may have been frozen since."""
        with self._lock:
            self.generated += messages
            self._generated = {"at": at, "term": term, "seq": seq, "total": self.generated}
            self._tell_totals()

    def count_handled(self, messages: int, errors: int) -> None:
        with self._lock:
            self.handled += messages
            self.errors += errors
            self._handled = {"total": self.handled, "errors": self.errors}
            self._tell_totals()

    def tell_totals(self) -> None:
        """Tell what was counted and not told; called with every beat."""
        with self._lock:
            self._tell_totals()

    def _tell_totals(self, *, force: bool = False) -> None:
        now = time.monotonic()
        for name, waiting in (("generated", self._generated), ("handled", self._handled)):
            if waiting and (force or now - self._told.get(name, 0) >= MOST_OFTEN):
                self._told[name] = now
                self._tell(name, **waiting)
                waiting.clear()

    def _tell(self, event: str, at: int | None = None, **fields: Any) -> None:
        now = time.time_ns() // 1_000_000
        self._listener(Event(event, now if at is None else at, self._number, self._instance, fields))
