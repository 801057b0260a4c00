"""Which tick is due, and from where the next one counts."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from celery import Celery
from celery.schedules import BaseSchedule, crontab
from celery.schedules import schedule as Interval  # noqa: N812 - it is a class, whatever it is called

from soloist.celery.ticks import OnAgenda, Tick, tick_of, until_next
from soloist.errors import UsageError
from soloist.schedules.making import make_schedule

NOON = datetime(2026, 11, 19, 12, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def at(schedule: Any, now: datetime) -> Any:
    """The schedule when it is so late."""
    schedule.nowfun = lambda: now
    return schedule


def agenda(now: datetime, **times: Any) -> Any:
    made = make_schedule("here", name="nightly", kind="note", **times)
    return at(OnAgenda(made, 5000, Celery("ticks", set_as_current=False)), now)


@pytest.mark.parametrize(("late", "tick"), [(10, 10), (10.3, 10), (19.9, 10), (20, 20), (47, 40)])
def test_an_interval_keeps_its_rhythm(late: float, tick: float) -> None:
    """What is missed is sent once, as the latest that was missed; the next is due where it always was."""
    every = at(Interval(10, app=Celery(set_as_current=False)), after(late))

    assert every.is_due(NOON).is_due
    assert tick_of(every, NOON, after(late)) == Tick(after(tick), after(tick))
    assert until_next(every, after(tick), 99) == pytest.approx(tick + 10 - late)


@pytest.mark.parametrize("late", [0, 0.4, 59])
def test_a_crontab_counts_from_when_it_was_sent(late: float) -> None:
    """As Celery has it. The tick is the minute that was due."""
    minutely = at(crontab(app=Celery(set_as_current=False)), after(60 + late))

    assert minutely.is_due(NOON).is_due
    assert tick_of(minutely, NOON, after(60 + late)) == Tick(after(60), after(60 + late))
    assert until_next(minutely, after(60 + late), 99) == pytest.approx(60 - late)


def test_a_crontab_that_missed_several_is_sent_once() -> None:
    """As Celery has it."""
    minutely = at(crontab(app=Celery(set_as_current=False)), after(600))

    tick = tick_of(minutely, NOON, after(600))

    assert tick.through == after(600)
    assert not minutely.is_due(tick.through).is_due


def test_the_clock_may_go_back_behind_a_tick() -> None:
    """The run is never stored as earlier than its tick: a successor whose clock is a little behind sends no second one."""
    minutely = at(crontab(app=Celery(set_as_current=False)), after(60))
    tick = tick_of(minutely, NOON, after(60))

    assert not at(minutely, after(59.99)).is_due(tick.through).is_due


def test_a_relative_interval_counts_from_when_it_was_sent() -> None:
    """Celery rounds those itself."""
    hourly = at(Interval(timedelta(hours=1), relative=True, app=Celery(set_as_current=False)), after(3700))

    assert tick_of(hourly, NOON, after(3700)).through == after(3700)


def test_a_schedule_of_ones_own_that_says_only_whether_it_is_due() -> None:
    """Then it was due now, and Celery's word counts for the next time."""

    class Own:
        def remaining_estimate(self, last_run_at: datetime) -> timedelta:
            raise NotImplementedError

    assert tick_of(Own(), NOON, after(7)) == Tick(after(7), after(7))
    assert until_next(Own(), after(7), 99) == 99


class Sunset(BaseSchedule):  # type: ignore[misc]  # Celery has no types
    """As solar is: at times of its own, each day another."""

    def remaining_estimate(self, last_run_at: datetime) -> timedelta:
        upcoming = next(each for each in map(after, (0, 3600, 7199, 10_790)) if each > last_run_at)
        return upcoming - datetime.fromisoformat(self.now().isoformat())


def test_a_schedule_with_times_of_its_own_counts_from_when_it_was_sent() -> None:
    """Its tick is the moment that was due."""
    sunset = at(Sunset(), after(3700))

    assert tick_of(sunset, NOON, after(3700)) == Tick(after(3600), after(3700))
    assert until_next(sunset, after(3700), 99) == 3499


# Those that are kept in Redis.


def test_one_on_the_agenda_keeps_its_rhythm() -> None:
    """As everywhere in soloist."""
    every = agenda(after(34), every=10)

    assert every.is_due(NOON) == (True, 6.0)
    assert tick_of(every, NOON, after(34)) == Tick(after(30), after(30))
    assert every.is_due(after(30)) == (False, 6.0)


def test_one_that_makes_up_for_each_is_sent_tick_by_tick() -> None:
    """missed=all."""
    every = agenda(after(34), every=10, missed="all")

    ticks, last = [], NOON
    while every.is_due(last)[0]:
        tick = tick_of(every, last, after(34))
        ticks.append(tick.at)
        last = tick.through

    assert ticks == [after(10), after(20), after(30)]


@pytest.mark.parametrize(("late", "due"), [(14, True), (16, False), (21, True)])
def test_one_that_is_late_may_be_skipped(late: float, due: bool) -> None:
    """missed=skip: beyond the grace, until the next is due."""
    every = agenda(after(late), every=10, missed="skip")

    assert every.is_due(NOON)[0] is due


def test_jitter_is_kept_to() -> None:
    """The tick is the tick; it is sent later, always by the same."""
    early, late = agenda(after(10), every=10, jitter=9), agenda(after(19.5), every=10, jitter=9)

    is_due, wait = early.is_due(NOON)
    assert not is_due
    assert 0 < wait < 9.5
    assert tick_of(late, NOON, after(19.5)).at == after(10)


def test_cron_with_seconds_in_a_time_zone() -> None:
    """More than Celery's own crontab can say."""
    berlin = agenda(after(31), cron="*/30 0 13 * * *", tz="Europe/Berlin")

    assert tick_of(berlin, NOON - timedelta(hours=3), after(31)) == Tick(after(30), after(30))


def test_two_of_the_same_are_equal() -> None:
    """Celery compares, to see whether anything has changed."""
    assert agenda(NOON, every=10) == agenda(after(3), every=10)
    assert agenda(NOON, every=10) != agenda(NOON, every=11)
    with pytest.raises(UsageError):
        agenda(NOON, every=0)
