"""Sources that are called when they are polled, and not by their own rhythm."""

from soloist.declared import DeclaredSource
from soloist.runtime.cadence import Cadence

LOOK = 0.01
"""Seconds between looks of a source's thread at whether it was polled: it waits for the end of its term otherwise."""


class Poll:
    """What was asked of one source, and what of that was done. Goes on across takeovers."""

    def __init__(self) -> None:
        self.asked = 0
        self.done = 0


class Polls:
    """All sources of a system, by name."""

    def __init__(self) -> None:
        self._of: dict[str, Poll] = {}

    def of(self, name: str) -> Poll:
        return self._of.setdefault(name, Poll())

    def cadence(self, source: DeclaredSource, _last_tick: int | None) -> Cadence:
        return PolledCadence(self.of(source.name))


class PolledCadence(Cadence):
    """Due when it was polled."""

    def __init__(self, poll: Poll) -> None:
        super().__init__(0, None, 0, 0)
        self._poll = poll
        self._serves = 0

    def wait(self, _now: float) -> float:
        self._serves = self._poll.asked
        return 0.0 if self._serves > self._poll.done else LOOK

    def done(self, _now: float) -> None:
        self._poll.done = self._serves
