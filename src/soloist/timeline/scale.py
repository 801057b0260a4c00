"""The common time axis: where a moment lies, and which moments are written on it."""

import time
from dataclasses import dataclass

STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
WORD = 90.0
"""Pixels that a written time needs at least."""
DAY = 86400


@dataclass(frozen=True)
class Scale:
    """From time to pixels."""

    begun_ms: int
    ended_ms: int
    left: float
    right: float

    def x(self, at_ms: float) -> float:
        """Never outside, whenever it was."""
        share = (at_ms - self.begun_ms) / (self.ended_ms - self.begun_ms)
        return self.left + min(1.0, max(0.0, share)) * (self.right - self.left)

    def ticks(self) -> list[tuple[int, str]]:
        """Round times of day, in ms, and how they are written."""
        step = self._step()
        ahead = time.localtime(self.begun_ms / 1000).tm_gmtoff
        first = -(-(self.begun_ms // 1000 + ahead) // step) * step - ahead
        form = "%H:%M:%S" if step < 60 else "%H:%M" if step < DAY // 2 else "%b %d %H:%M"
        moments = [at for at in range(first, self.ended_ms // 1000 + 1, step) if at * 1000 >= self.begun_ms]
        return [(at * 1000, time.strftime(form, time.localtime(at))) for at in moments]

    def _step(self) -> int:
        seconds = (self.ended_ms - self.begun_ms) / 1000
        most = max(1.0, (self.right - self.left) / WORD)
        fitting = [step for step in STEPS_S if seconds / step <= most]
        return fitting[0] if fitting else -(-int(seconds / most) // DAY) * DAY
