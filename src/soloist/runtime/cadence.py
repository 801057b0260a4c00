"""The drift-free rhythm of a source, kept across takeovers. No I/O.

Ticks lie on a grid: the first one, and every multiple of `every` after it, in the server's time. The last tick is
stored in Redis with the messages, so whoever generates next goes on with the same grid.
"""


class Cadence:
    """When a source is due. Local time is monotonic, ticks are the server's ms.

    Args:
        every_ms: distance of the ticks, 0 for as fast as it goes.
        last_tick: the last tick that was published, None if there was none.
        now_ms: the server's time now.
        now: the monotonic time now, seconds.
    """

    def __init__(self, every_ms: float, last_tick: int | None, now_ms: float, now: float) -> None:
        self.every_ms = every_ms
        self._origin_ms = now_ms - now * 1000
        if last_tick is None or not every_ms:
            self._due_ms = now_ms
        else:
            # Ticks missed are made up for by one, at once: the latest on the grid, so that the rhythm goes on.
            passed = (now_ms - last_tick) // every_ms
            self._due_ms = min(last_tick + max(1, passed) * every_ms, now_ms + every_ms)

    def wait(self, now: float) -> float:
        """Seconds until the source is due, between 0 and `every`."""
        return min(max((self._due_ms - self._origin_ms) / 1000 - now, 0.0), self.every_ms / 1000)

    @property
    def tick(self) -> int:
        """The tick that is due, as it is stored."""
        return round(self._due_ms) if self.every_ms else 0

    def skip(self, now: float) -> None:
        """The ticks that are over were not wanted: the latest of them is the one that is due."""
        if self.every_ms:
            passed = (now * 1000 + self._origin_ms - self._due_ms) // self.every_ms
            self._due_ms += max(0, passed) * self.every_ms

    def done(self, now: float) -> None:
        """The tick was published: the next one is the first on the grid that is not over."""
        if self.every_ms:
            passed = (now * 1000 + self._origin_ms - self._due_ms) // self.every_ms
            self._due_ms += max(1, passed) * self.every_ms
