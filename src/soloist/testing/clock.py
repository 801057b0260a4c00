"""The clock of the schedules, which stands still unless it is stepped; and which moment is the next at which anything is due."""

import time
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from soloist.errors import UsageError, is_number
from soloist.schedules.due import moment
from soloist.schedules.making import from_json
from soloist.schedules.schedule import Schedule
from soloist.schedules.times import Times
from soloist.store.agenda import SCHEDULE_SOURCE, Agenda


class HandClock:
    """Set by hand. Only schedules count whose last tick is by this clock: the server sets that of one that is new, or goes on
    after a pause, by its own.

    Args:
        begin_ms: what time it is at first.
        server_ms: what time it is on the server.

    Attributes:
        is_stepping: ticks are being published.
    """

    def __init__(self, begin_ms: int, server_ms: int) -> None:
        self.now_ms = begin_ms
        self.is_stepping = False
        self._ahead_ms = server_ms - time.time() * 1000
        self._ticks: dict[str, int] = {}
        self._overdue: set[str] = set()
        """Of these the next tick is offered until a run is over: it may be published at any time."""

    def for_schedules(self) -> float:
        return self.now_ms

    def plans(self, schedule: str, last: int) -> bool:
        """Whether its last tick is by this clock."""
        known = self._ticks.get(schedule)
        if known is None:
            return False
        return known <= last <= self.now_ms if self.is_stepping or schedule in self._overdue else last == known

    def begins(self, schedules: Collection[str]) -> None:
        """The last tick of these is now; before the generator is told."""
        self._ticks |= dict.fromkeys(schedules, self.now_ms)
        self._overdue -= set(schedules)

    def have_come(self, agenda: Agenda) -> None:
        """Their ticks, when a step is over."""
        self._ticks = {name: agenda.ticks[name] for name in self._ticks if name in agenda.ticks}
        self._overdue = {
            name
            for name, last in self._ticks.items()
            if (upcoming := _upcoming(agenda.schedules[name], last, last)) is not None and upcoming <= self.now_ms
        }

    def server_ms(self, at_ms: int) -> int:
        """A moment of this clock on the server's."""
        return round(at_ms - self.now_ms + time.time() * 1000 + self._ahead_ms)

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.now_ms / 1000, UTC)


def target_ms(now_ms: int, by: float | timedelta, to: datetime | None) -> int:
    """Where a step leads."""
    if to is not None:
        if to.tzinfo is None:
            raise UsageError(f"system.step(to={to!r}): of which time zone? Write datetime(…, tzinfo=ZoneInfo(…)).")
        by_ms = round(to.timestamp() * 1000) - now_ms
    elif is_number(by) or isinstance(by, timedelta):
        by_ms = round((by.total_seconds() if isinstance(by, timedelta) else by) * 1000)
    else:
        raise UsageError(f"system.step({by!r}): write seconds or a timedelta.")
    if by_ms < 0:
        raise UsageError("system.step(…): time does not go backwards; begin earlier with testing.run(…, now=…).")
    return now_ms + by_ms


def next_tick(agenda: Agenda, after_ms: int) -> int | None:
    """The first moment behind this one at which a schedule is due."""
    planned = [
        _upcoming(json, agenda.ticks[name], after_ms)
        for name, json in agenda.schedules.items()
        if SCHEDULE_SOURCE + name not in agenda.paused
    ]
    return min((each for each in planned if each is not None), default=None)


def _upcoming(json: str, last: int, after_ms: int) -> int | None:
    """Of a tick that is overdue, since a run is not over or nobody was there, nothing more comes by itself."""
    try:
        schedule, times = _read(json)
    except UsageError:
        return None  # the scheduler passes it over, too
    moments = (moment(schedule, tick) for tick in times.all_after(max(last, after_ms - schedule.jitter_ms)))
    if schedule.every_ms:  # its ticks lie on a grid that begins with the last one
        behind = max(0, (after_ms - schedule.jitter_ms - last) // schedule.every_ms)
        moments = (moment(schedule, tick) for tick in times.all_after(last + behind * schedule.every_ms))
    return next((each for each in moments if each > after_ms), None)


@lru_cache(maxsize=1000)
def _read(json: str) -> tuple[Schedule, Times]:
    schedule = from_json(json)
    return schedule, Times(schedule)
