"""Rates and backlog over time: from the history at first, then from what is seen, one point a second."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from soloist.inspector import Snapshot
from soloist.store.history import Sample

WINDOW = 5.0
"""Seconds over which the rates that are written as numbers are averaged."""
MOST = 600
"""Points that are kept."""
GAP = 3
"""Seconds without a sample that are more than a late one."""
LEAST = 0.1
"""Messages a second that are worth a bar in a gap; a few of them, spread over an hour, are not."""
LONGEST_GAP = 60
"""Of a gap that is longer only so many seconds are drawn."""


@dataclass(frozen=True)
class Point:
    """One second."""

    published: float
    handled: float
    pending: int


@dataclass(frozen=True)
class Count:
    """Totals at one moment; handled is completed or failed."""

    at: float
    published: int
    handled: int
    pending: int


@dataclass(frozen=True)
class Rates:
    """What is known of the past.

    Attributes:
        points: one a second, oldest first.
        counts: totals of the last seconds, oldest first.
        mark: the totals at the end of the last point.
    """

    points: tuple[Point, ...] = ()
    counts: tuple[Count, ...] = ()
    mark: Count | None = None

    @property
    def published(self) -> float:
        """Messages a second, now."""
        return _rates(self.counts[0], self.counts[-1])[0] if self.counts else 0.0

    @property
    def handled(self) -> float:
        return _rates(self.counts[0], self.counts[-1])[1] if self.counts else 0.0


def after(rates: Rates, at: float, seen: Snapshot, history: Sequence[Sample] = ()) -> Rates:
    """The same with one more look at the totals."""
    now = Count(at, seen.published, seen.completed + seen.failed, seen.pending)
    points, mark, counts = rates.points, rates.mark, rates.counts
    if history:
        points, mark = tuple(_points([_count(sample) for sample in history])), now
    elif mark is None or now.published < mark.published:  # nothing is known, or the namespace was removed meanwhile
        mark, counts = now, ()
    elif at - mark.at >= 1:
        points, mark = (*points, *_between(mark, now)), now
    recent = [count for count in counts if at - count.at <= WINDOW]
    return Rates(points[-MOST:], (*recent, now), mark)


def _count(sample: Sample) -> Count:
    return Count(sample.at_ms / 1000, sample.published, sample.completed + sample.failed, sample.pending)


def _points(counts: Sequence[Count]) -> Iterator[Point]:
    for first, last in pairwise(counts):
        yield from _between(first, last)


def _between(first: Count, last: Count) -> Iterator[Point]:
    """One point for each second. Nobody generated in a gap of the history: what was published came at its beginning."""
    published, handled = _rates(first, last)
    seconds = max(1, round(last.at - first.at))
    if seconds < GAP:
        yield from [Point(published, handled, last.pending)] * seconds
        return
    handled = handled if handled >= LEAST else 0
    yield Point(published * seconds, handled, first.pending)
    yield from [Point(0, handled, first.pending)] * min(seconds - 2, LONGEST_GAP)
    yield Point(0, handled, last.pending)


def _rates(first: Count, last: Count) -> tuple[float, float]:
    seconds = last.at - first.at
    if seconds <= 0:
        return 0.0, 0.0
    # A message that was requeued is handled once more, and one that failed before counts as handled no longer.
    return max(0, last.published - first.published) / seconds, max(0, last.handled - first.handled) / seconds
