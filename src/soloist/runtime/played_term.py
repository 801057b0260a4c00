"""A term as the generator plays it: its numbers, and until when it may act on its own."""

import threading
import time

from soloist.runtime.election import permitted_until
from soloist.runtime.incarnation import Incarnation
from soloist.store.presence import Term


class PlayedTerm:
    """Shared by the heart, which renews or ends it, and the generator, which publishes in it."""

    def __init__(self, term: Term, incarnation: Incarnation, sent: float, lease: float) -> None:
        self.number = term.number
        self.call = term.call
        self.seq = term.seq
        self.tag = term.tag
        self.cursors = term.cursors
        self.ticks = term.ticks
        self.takeover_ms = term.takeover_ms
        self.incarnation = incarnation
        self.given_up = False
        """It was asked to step down: it is to be resigned, not renewed."""
        self._changed = threading.Condition()
        self._over = False
        self._paused: frozenset[str] | None = None
        self._until = permitted_until(sent, lease)

    @property
    def is_over(self) -> bool:
        return self._over

    def end(self) -> None:
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def renewed(self, sent: float, lease: float) -> None:
        """A beat or a publish that was sent then was accepted."""
        with self._changed:
            self._until = max(self._until, permitted_until(sent, lease))
            self._changed.notify_all()

    def published(self, call: int, messages: int, sent: float, lease: float) -> None:
        self.call = call
        self.seq += messages
        self.renewed(sent, lease)

    def agenda_is(self, paused: frozenset[str]) -> None:
        """The agenda was read: these sources (`source:NAME`) and others are paused."""
        with self._changed:
            self._paused = paused
            self._changed.notify_all()

    def is_paused(self, source: str) -> bool:
        """Whether a source is not to be called now."""
        return self._paused is not None and f"source:{source}" in self._paused

    def wait_until_agenda_is_known(self) -> bool:
        """A source may be paused: nobody calls one before the agenda was read in this term; False if that is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._over or self._paused is not None)
            return not self._over

    def wait_until_resumed(self, source: str) -> bool:
        """Wait while a source is paused; False if the term is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._over or not self.is_paused(source))
            return not self._over

    def wait_until_over(self, within: float) -> bool:
        """Wait; True if the term is over."""
        with self._changed:
            return self._changed.wait_for(lambda: self._over, timeout=within)

    def wait_until_permitted(self) -> bool:
        """Wait until the generator may publish by its own clock; False if the term is over."""
        with self._changed:
            while not self._over and time.monotonic() >= self._until:
                self._changed.wait()
            return not self._over
