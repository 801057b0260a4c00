"""The alarm: while the instance generates, it hurries the heart when something is to be done before its next beat.

What is to be done, a beat does or learns: it moves what is due, and hears that the agenda has changed. So an alarm that
nobody heard costs a heartbeat.
"""

import threading
from typing import TYPE_CHECKING

from soloist.runtime.played_term import PlayedTerm
from soloist.runtime.porter import Porter

if TYPE_CHECKING:
    from soloist.runtime.instance import Instance

BLOCK = 1.0
"""Seconds for which it waits at a time: who does not generate any more is there no longer, and takes no token."""

SHORTEST = 0.02
"""Seconds between two beats that it hurries."""


class Alarm:
    """Waits at the alarm, term by term."""

    def __init__(self, instance: "Instance") -> None:
        self._instance = instance
        self._porter = Porter(instance, "alarm", instance.keys.alarm, BLOCK, self._rung, self._is_wanted)
        self._term: PlayedTerm | None = None

    @property
    def thread(self) -> threading.Thread:
        return self._porter.thread

    def begin(self, term: PlayedTerm) -> None:
        """The instance was elected."""
        self._term = term
        self._porter.ask()

    def stop(self) -> None:
        """Wait no more. A token that it takes all the same costs a heartbeat: beats see what it stands for."""
        self._term = None
        self._porter.end()

    def hang_up(self, until: float) -> None:
        """Leave no connection behind.

        Args:
            until: when to give up (monotonic).
        """
        self._porter.hang_up(until)

    def _is_wanted(self) -> bool:
        return self._term is not None and not self._term.is_over

    def _rung(self) -> None:
        term = self._term
        if term is None or term.is_over:
            return
        self._instance.heart.hurry()
        if not term.wait_until_over(SHORTEST):
            self._porter.ask()
