"""The clock of the schedules, and what is delayed: nothing comes unless it is stepped."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from soloist import App, Message
from soloist.errors import UsageError
from soloist.testing import Kit, NotEmpty

BERLIN = ZoneInfo("Europe/Berlin")
BEGIN = datetime(2027, 3, 27, 12, tzinfo=BERLIN)


class Diary:
    """An App with a schedule, and when it ran: which tick, and what time it was then in the test."""

    def __init__(self, cron: str | None = None, **how: Any) -> None:
        self.app = App("diary")
        self.ran: list[datetime] = []
        self.gate = threading.Event()
        self.gate.set()
        self.said: list[str] = []
        self.app.schedule(cron, **how)(self.job)
        self.app.handler("later")(lambda message: self.said.append(message.body))

    def job(self, message: Message) -> None:
        assert message.scheduled_for is not None
        self.ran.append(datetime.fromtimestamp(message.scheduled_for, BERLIN))
        self.gate.wait(60)

    @property
    def times(self) -> list[str]:
        return [f"{each:%d %H:%M}" for each in self.ran]


def test_the_clock_stands_still(soloist: Kit) -> None:
    """However often a tick would come, and whatever time it is: none comes by itself."""
    diary = Diary(every=0.01)
    with soloist.run(diary.app, now=BEGIN) as system:
        system.publish("later", "1")
        system.wait_until_empty()
        system.step(0)
        assert (system.now, diary.ran) == (BEGIN, [])

        system.step(0.05)
        assert [each - BEGIN for each in diary.ran] == [timedelta(milliseconds=10 * n) for n in range(1, 6)]


@pytest.mark.parametrize("now", [BEGIN, datetime(2001, 1, 1, tzinfo=UTC), datetime(2099, 1, 1, tzinfo=UTC), None])
def test_each_tick_in_between_comes_in_order(soloist: Kit, now: datetime | None) -> None:
    """Wherever the clock begins: long ago, now, or far ahead."""
    diary = Diary(every=60)
    with soloist.run(diary.app, now=now) as system:
        begin = system.now
        system.step(3600)

        assert [each - begin for each in diary.ran] == [timedelta(minutes=n) for n in range(1, 61)]
        assert system.now == begin + timedelta(hours=1)


def test_when_the_clock_goes_forward_or_back_a_schedule_keeps_its_time_of_day(soloist: Kit) -> None:
    """A time that is left out comes behind the gap; one that is there twice comes once."""
    diary = Diary("30 2 * * *", tz="Europe/Berlin")
    with soloist.run(diary.app, now=BEGIN) as system:
        system.step(timedelta(days=2))
        assert diary.times == ["28 03:00", "29 02:30"]

        diary.ran.clear()
        system.step(to=datetime(2027, 10, 29, 12, tzinfo=BERLIN))
        assert len(diary.ran) == 214
        diary.ran.clear()
        system.step(to=datetime(2027, 11, 1, 12, tzinfo=BERLIN))
        assert diary.times == ["30 02:30", "31 02:30", "01 02:30"]


@pytest.mark.parametrize(
    ("missed", "come"),
    [("skip", []), ("once", ["04:00"]), ("all", ["13:00", "14:00", "23:00", "01:00", "03:00", "04:00"])],
)
def test_ticks_that_come_while_nobody_is_there_are_missed(soloist: Kit, missed: str, come: list[str]) -> None:
    """And made up for as the schedule says, when there is somebody again."""
    diary = Diary("0 * * * *", tz="Europe/Berlin", missed=missed)
    with soloist.run(diary.app, now=BEGIN) as system:
        system.step(60)
        system.kill(system.generator)
        system.step(15 * 3600)
        assert diary.ran == []

        system.start()
        system.step(0)
        times = [f"{each:%H:%M}" for each in diary.ran]
        assert set(come) <= set(times)
        assert len(times) == {"skip": 0, "once": 1, "all": 15}[missed]
        diary.ran.clear()
        system.step(3600)
        assert diary.times == ["28 05:00"]


@pytest.mark.parametrize(
    ("overlap", "after_step", "after_run"),
    [("allow", 3, 3), ("skip", 1, 1), ("queue", 1, 2)],
)
def test_a_tick_that_finds_a_run_at_work(soloist: Kit, overlap: str, after_step: int, after_run: int) -> None:
    """Without waiting, time goes by while a handler works."""
    diary = Diary(every=60, overlap=overlap)
    diary.gate.clear()
    with soloist.run(diary.app, now=BEGIN) as system:
        try:
            system.step(60, wait=False)
            system.wait_until(lambda: len(diary.ran) == 1)
            system.step(120, wait=False)
            assert system.inspect().kinds["schedule:job"].pending + 1 == after_step
        finally:
            diary.gate.set()
        system.wait_until_empty()
        assert len(diary.ran) == after_run
        system.step(60)
        assert diary.ran[-1] == BEGIN + timedelta(minutes=4)


def test_who_steps_over_a_run_that_does_not_end_is_told(soloist: Kit) -> None:
    """With the picture of what is at work."""
    diary = Diary(every=60)
    diary.gate.clear()
    with soloist.run(diary.app) as system:
        try:
            with pytest.raises(NotEmpty, match=r"schedule:job: 0 pending, 1 claimed"):
                system.step(60, within=0.2)
        finally:
            diary.gate.set()


def test_what_is_delayed_gets_due_between_the_ticks(soloist: Kit) -> None:
    """By its own delay, one published by a run, one that is tried again: each in its turn."""
    app, order = App("order"), list[str]()

    @app.schedule(every=60)
    def minutely(message: Message) -> None:
        order.append("tick")
        message.publish("later", "of the tick", delay=90)

    @app.handler("later", retries=1, backoff=15)
    def later(message: Message) -> None:
        order.append(f"{message.body} {message.attempt}")
        if message.body == "again" and message.attempt == 1:
            raise ConnectionError

    with soloist.run(app, now=BEGIN) as system:
        system.publish("later", "soon", delay=30)
        system.publish("later", "again", delay=70)
        system.publish("later", "at", at=BEGIN + timedelta(seconds=100))
        app.publish("later", "long", delay=10_000)
        system.step(180)

        assert order == ["soon 1", "tick", "again 1", "again 2", "at 1", "tick", "of the tick 1", "tick"]
        assert system.delayed == 3


def test_a_step_goes_on_with_whoever_generates(soloist: Kit) -> None:
    """A takeover costs no tick and doubles none."""
    diary = Diary(every=1)
    with soloist.run(diary.app, instances=3, now=BEGIN) as system:
        for _ in range(2):
            system.step(30)
            system.kill(system.generator)
            system.step(30)

        assert [each - BEGIN for each in diary.ran] == [timedelta(seconds=n) for n in range(1, 121)]


def test_a_schedule_that_is_added_meanwhile_begins_then(soloist: Kit) -> None:
    """By the clock of the test, not by the server's."""
    diary = Diary("0 0 1 1 *")
    with soloist.run(diary.app, now=BEGIN) as system:
        system.step(3600)
        diary.app.schedules.add("added", kind="later", every=600, body="x")
        system.step(3600)

        assert diary.said == ["x"] * 6


@pytest.mark.parametrize("now", [BEGIN, datetime(2001, 1, 1, tzinfo=UTC), None])
def test_the_ticks_of_a_pause_go_by(soloist: Kit, now: datetime | None) -> None:
    """And when it is over the schedule goes on from then, by the clock of the test."""
    diary = Diary(every=600)
    with soloist.run(diary.app, instances=2, now=now) as system:
        begin = system.now
        system.step(600)
        diary.app.schedules.pause("job")
        system.step(1900)
        diary.app.schedules.resume("job")
        system.kill(system.generator)  # another one reads what stands there
        system.wait_until(lambda: system.generator)
        system.step(1200)

        assert [(each - begin).total_seconds() for each in diary.ran] == [600, 3100, 3700]


def test_time_goes_forward_and_knows_its_zone(soloist: Kit) -> None:
    """What cannot be meant is refused."""
    diary = Diary(every=60)
    with soloist.run(diary.app, now=BEGIN) as system:
        with pytest.raises(UsageError, match="does not go backwards"):
            system.step(-1)
        with pytest.raises(UsageError, match="of which time zone"):
            system.step(to=datetime(2027, 4, 1))  # noqa: DTZ001 - that is the point
        with pytest.raises(UsageError, match="write seconds or a timedelta"):
            system.step("1")  # type: ignore[arg-type]  # that is the point
    with pytest.raises(UsageError, match="of which time zone"):
        soloist.run(diary.app, now=datetime(2027, 4, 1))  # noqa: DTZ001 - that is the point
