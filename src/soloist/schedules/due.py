"""Which ticks of a schedule are to be published now, and which are not made up for. Pure."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from soloist.schedules.schedule import Schedule
from soloist.schedules.times import Times

MOST_AT_ONCE = 1000
"""Ticks of one page, where each is made up for."""


@dataclass(frozen=True)
class Due:
    """What is to be done.

    Attributes:
        ticks: those that are published.
        through: the last tick that is done with then.
        skipped: how many up to there are not published.
    """

    ticks: Sequence[int]
    through: int
    skipped: int = 0


def due(schedule: Schedule, times: Times, last: int, now_ms: int, grace_ms: int) -> Due | None:
    """What is due at this moment; None if nothing is.

    Args:
        last: the tick that was done with last.
        grace_ms: by so much a tick may be late and is not missed.
    """
    if schedule.missed == "all":
        upcoming = zip(range(MOST_AT_ONCE), times.all_after(last), strict=False)
        ticks = [tick for _, tick in takewhile(lambda each: moment(schedule, each[1]) <= now_ms, upcoming)]
        return Due(ticks, ticks[-1]) if ticks else None
    first = times.after(last)
    if first is None or moment(schedule, first) > now_ms:
        return None
    latest, before = _latest_due(schedule, times, last, now_ms) or (first, 0)
    if schedule.missed == "skip" and now_ms - moment(schedule, latest) > grace_ms:
        return Due([], latest, before + 1)
    return Due([latest], latest, before)


def _latest_due(schedule: Schedule, times: Times, last: int, now_ms: int) -> tuple[int, int] | None:
    """The last tick before the first that is not due yet, and how many there are before it.

    None if all that is due might still be late on purpose: then none of them was missed.
    """
    latest, before = times.latest(last, now_ms - schedule.jitter_ms)
    if latest is None:
        return None
    for tick in times.all_after(latest):
        if moment(schedule, tick) > now_ms:
            break
        latest, before = tick, before + 1
    return latest, before


def moment(schedule: Schedule, tick: int) -> int:
    """When a tick is to be published: always the same for the same tick, whoever asks."""
    if not schedule.jitter_ms:
        return tick
    return tick + zlib.crc32(f"{schedule.name} {tick}".encode()) % (schedule.jitter_ms + 1)
