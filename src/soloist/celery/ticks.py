"""Which tick of a schedule is due, and from where the next one counts. Pure.

Celery counts from the moment at which it has sent, so an interval of 10 s is a little more than 10 s each time. Here a plain
interval keeps its rhythm: what is missed through a takeover is sent at once, once, and then the old rhythm goes on.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from celery.schedules import schedule as Interval  # noqa: N812 - it is a class, whatever it is called

from soloist.schedules.due import due as due_by_agenda
from soloist.schedules.due import moment
from soloist.schedules.schedule import Schedule
from soloist.schedules.times import Times


@dataclass(frozen=True)
class Tick:
    """One tick.

    Attributes:
        at: when it was due; of several that were missed, the latest.
        through: the `last_run_at` that follows.
    """

    at: datetime
    through: datetime


def tick_of(schedule: Any, last_run_at: datetime, now: datetime) -> Tick:
    """The tick of a schedule that says that it is due."""
    if isinstance(schedule, OnAgenda):
        return schedule.tick(last_run_at, now)
    try:
        at = min(now, now + schedule.remaining_estimate(last_run_at))
    except (NotImplementedError, AttributeError):
        at = now  # a schedule of the user's own that says only whether it is due
    if type(schedule) is Interval and not schedule.relative and schedule.run_every > timedelta(0):
        at += (now - at) // schedule.run_every * schedule.run_every
        return Tick(at, at)
    return Tick(at, now)


def until_next(schedule: Any, last_run_at: datetime, otherwise: float) -> float:
    """Seconds until the next tick, once this one was sent. Celery says an interval from now on, which is a little late."""
    try:
        return max(0.0, float(schedule.remaining_estimate(last_run_at).total_seconds()))
    except (NotImplementedError, AttributeError):
        return otherwise


class OnAgenda(Interval):  # type: ignore[misc]  # Celery has no types
    """The times of a schedule that is kept in Redis, in Celery's terms."""

    def __init__(self, schedule: Schedule, grace_ms: int, app: Any) -> None:
        super().__init__(run_every=schedule.every_ms / 1000, app=app)
        self.of = schedule
        self._times = Times(schedule)
        self._grace_ms = grace_ms

    def is_due(self, last_run_at: datetime) -> tuple[bool, float]:
        """Whether, and in how many seconds to ask again."""
        now_ms, last = to_ms(self.now()), to_ms(last_run_at)
        found = due_by_agenda(self.of, self._times, last, now_ms, self._grace_ms)
        upcoming = self._times.after(found.through if found else last)
        wait = FOREVER if upcoming is None else max(0.0, (moment(self.of, upcoming) - now_ms) / 1000)
        return bool(found and found.ticks), wait

    def tick(self, last_run_at: datetime, now: datetime) -> Tick:
        """The next of those that are due."""
        found = due_by_agenda(self.of, self._times, to_ms(last_run_at), to_ms(now), self._grace_ms)
        assert found is not None, "it was due at this very moment"
        first = found.ticks[0]
        through = first if self.of.missed == "all" else found.through
        return Tick(from_ms(first, now), from_ms(through, now))

    def remaining_estimate(self, last_run_at: datetime) -> timedelta:
        upcoming = self._times.after(to_ms(last_run_at))
        if upcoming is None:
            return timedelta(seconds=FOREVER)
        now: datetime = self.now()
        return from_ms(moment(self.of, upcoming), last_run_at) - now

    def __repr__(self) -> str:
        return f"<{self.of.cron or f'every {self.of.every_ms / 1000:g} s'}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OnAgenda) and other.of == self.of

    def __hash__(self) -> int:
        return hash(self.of)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.of, self._grace_ms, self._app)


FOREVER = 86_400.0
"""Seconds until a schedule is asked again that says that it has no more ticks."""


def to_ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)  # cut off, an interval would lose a millisecond now and then


def from_ms(at_ms: int, like: datetime) -> datetime:
    """In the same time zone as another."""
    return datetime.fromtimestamp(at_ms / 1000, like.tzinfo)
