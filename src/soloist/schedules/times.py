"""The ticks of a schedule: when they are, by its cron expression in its time zone, or by its distance. Pure.

A tick is an instant, in milliseconds since the epoch. Daylight saving, for a fixed time of day: one that the clock leaves out
is at the first moment behind the gap, one that it shows twice is at the first of the two. With `*` in the field of hours or of
minutes it goes by the clock: an hour that is left out has no ticks, one that comes twice has them twice.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

from cronsim import CronSim

from soloist.schedules.schedule import Schedule

MOST_COUNTED = 10_000
"""Ticks that are passed over one by one, after a gap, so that they can be counted; beyond that only the latest is looked for."""

MINUTE_MS = 60_000

LOOKED_AT = 32
"""Ticks, to find out how far they are apart."""


class Times:
    """When a schedule is due."""

    def __init__(self, schedule: Schedule) -> None:
        self._every_ms = schedule.every_ms
        self._tz = ZoneInfo(schedule.tz)
        fields = schedule.cron.split()
        self._minutes = " ".join(fields[-5:])
        self._seconds = sorted(CronSim(schedule.cron, datetime.now(UTC)).seconds) if fields else []

    def after(self, at_ms: int) -> int | None:
        """The first tick behind this instant; None if there will never be one."""
        return next(self.all_after(at_ms), None)

    def all_after(self, at_ms: int) -> Iterator[int]:
        """All behind this instant. Of one with a distance that instant is a tick, as the one before the first always is."""
        if self._every_ms:
            while True:
                at_ms += self._every_ms
                yield at_ms
        for minute_ms in self._minutes_after(at_ms - MINUTE_MS):
            for second in self._seconds:
                tick = minute_ms + second * 1000
                if tick > at_ms:
                    yield tick

    def latest(self, after_ms: int, until_ms: int) -> tuple[int | None, int]:
        """The latest tick behind one instant and not behind another, if there is one; and how many were before it.

        After a very long gap so many are counted, and no more.
        """
        if self._every_ms:
            many = (until_ms - after_ms) // self._every_ms
            return (after_ms + many * self._every_ms, many - 1) if many > 0 else (None, 0)
        found, many = None, 0
        for tick in self.all_after(after_ms):
            if tick > until_ms:
                return found, max(0, many - 1)
            found, many = tick, many + 1
            if many > MOST_COUNTED:
                break
        return max(self._latest_before(until_ms), found or 0) or None, max(0, many - 1)

    def _minutes_after(self, at_ms: int) -> Iterator[int]:
        return (_ms(each) for each in CronSim(self._minutes, self._local(at_ms)))

    def _latest_before(self, at_ms: int) -> int:
        """Looked for backwards; 0 if there is none among the last two minutes that fit."""
        backwards = CronSim(self._minutes, self._local(at_ms + 1000), reverse=True)
        for _ in range(2):
            minute_ms = _ms(next(backwards))
            fitting = [tick for second in self._seconds if (tick := minute_ms + second * 1000) <= at_ms]
            if fitting:
                return fitting[-1]
        return 0

    def _local(self, at_ms: int) -> datetime:
        return datetime.fromtimestamp(at_ms // 1000, self._tz)


def shortest_distance(schedule: Schedule) -> int:
    """Of two ticks, ms, among those of the near future."""
    upcoming = list(islice(Times(schedule).all_after(_ms(datetime.now(UTC))), LOOKED_AT))
    return min((after - before for before, after in pairwise(upcoming)), default=0)


def in_utc(tick: int) -> str:
    """A tick for people and keys: 2026-11-19T03:00:00Z, with milliseconds if it has any."""
    at = datetime.fromtimestamp(tick / 1000, UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S") + (f".{tick % 1000:03d}Z" if tick % 1000 else "Z")


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)
