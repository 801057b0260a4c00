"""How many messages to claim. No I/O.

About 5 ms of work by a moving average: slow handlers hold one message, so nobody hoards; fast ones hold up to 1,000,
so that a call to the server is shared by many.
"""

WORK = 0.005
"""Seconds of work that a batch should be."""

FLUSH = 0.010
"""Seconds after which completions are recorded, however the batch goes."""

MOST = 1000
AHEAD = 64
"""The smallest batch beside which the next one is claimed."""

GROWTH = 4
WEIGHT = 0.3


class Batching:
    """The size of the next batch.

    Args:
        fixed: what the user wants, 0 for adaptive.
    """

    def __init__(self, fixed: int) -> None:
        self._fixed = fixed
        self._average: float | None = None
        self._size = 1

    @property
    def size(self) -> int:
        return self._fixed or self._size

    def reaches_ahead(self, waiting: int) -> bool:
        """Whether to claim the next batch already while one of so many is handled.

        Only where a call takes as long as the work of a batch, and there is more than this batch to do: one that is far
        from full has left nothing behind.
        """
        return not self._fixed and self._size >= AHEAD and 4 * waiting >= 3 * self._size

    def worked(self, messages: int, seconds: float) -> None:
        """Learn from what was just handled."""
        if messages == 0:
            return
        each = seconds / messages
        self._average = each if self._average is None else self._average + WEIGHT * (each - self._average)
        if each > WORK:
            self._average = max(self._average, each)
        wanted = int(min(WORK / self._average, MOST)) if self._average > 0 else MOST
        self._size = max(1, min(wanted, self._size * GROWTH, MOST))
