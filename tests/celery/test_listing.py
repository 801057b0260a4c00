"""Celery's entries as schedules of soloist, and the other way round."""

import json
from typing import Any

import pytest
from celery import Celery
from celery.beat import BeatLazyFunc, ScheduleEntry
from celery.schedules import crontab
from celery.schedules import schedule as Interval  # noqa: N812 - it is a class, whatever it is called

from soloist.celery.listing import entry_of, listed
from soloist.schedules.making import from_json, make_schedule, to_json
from soloist.schedules.times import Times

APP = Celery("listing", set_as_current=False)
APP.conf.timezone = "Europe/Berlin"


def entry(when: Any, **more: Any) -> Any:
    return ScheduleEntry(name="a name", task="note", schedule=when, app=APP, **more)


@pytest.mark.parametrize(
    ("when", "cron"),
    [
        (crontab(app=APP), "* * * * *"),
        (crontab(minute=0, hour="*/3", app=APP), "0 */3 * * *"),
        (crontab(minute="0,30", hour="8-17", day_of_week="mon-fri", app=APP), "0,30 8-17 * * mon-fri"),
        (crontab(0, 0, day_of_month="1", app=APP), "0 0 1 * *"),
    ],
)
def test_a_crontab_is_listed_as_it_was_written(when: Any, cron: str) -> None:
    """In the app's time zone; its times are those of Celery."""
    schedule = from_json((listed(entry(when)) or b"").decode())

    assert (schedule.cron, schedule.tz, schedule.origin) == (cron, "Europe/Berlin", "code")
    assert Times(schedule).after(0) is not None


def test_an_interval_is_listed_with_what_it_sends() -> None:
    """What JSON cannot tell is named by its type, always the same: or it would be news at each start."""
    lazy = BeatLazyFunc(print)

    schedule = from_json((listed(entry(0.5, args=(1, lazy), options={"queue": "slow"})) or b"").decode())

    assert (schedule.name, schedule.kind, schedule.every_ms) == ("a name", "note", 500)
    assert json.loads(schedule.body) == {"args": [1, "<BeatLazyFunc>"], "kwargs": {}, "options": {"queue": "slow"}}


class Own(Interval):  # type: ignore[misc]  # Celery has no types
    """A schedule of the user's own."""


@pytest.mark.parametrize(
    "when",
    [
        Own(1, app=APP),
        Interval(3600, relative=True, app=APP),
        crontab(0, 0, day_of_month="13", day_of_week="fri", app=APP),
    ],
)
def test_what_cannot_be_told_so_is_not_listed(when: Any) -> None:
    """For Celery a Friday the 13th is both, for cron either: better not shown than shown wrongly. It is sent all the same."""
    assert listed(entry(when)) is None


class Beat:
    """As much of the scheduler as is needed."""

    app = APP
    Entry = ScheduleEntry


def test_what_somebody_added_becomes_an_entry() -> None:
    """The kind is the task, the body is JSON."""
    body = json.dumps({"args": [1], "kwargs": {"two": 2}, "options": {"queue": "slow", "priority": 3}})
    stored = to_json(make_schedule("here", name="nightly", kind="proj.clean", cron="0 3 * * *", body=body)).decode()

    made: Any = entry_of("x", stored, Beat, 5000)

    assert (made.name, made.task, made.args, made.kwargs) == ("nightly", "proj.clean", (1,), {"two": 2})
    assert made.options == {"queue": "slow", "priority": 3}


@pytest.mark.parametrize("body", ["", "{}", '{"args": []}'])
def test_a_task_may_need_nothing(body: str) -> None:
    """Then nothing need be said."""
    made: Any = entry_of(
        "x", to_json(make_schedule("here", name="x", kind="note", every=1, body=body)).decode(), Beat, 5000
    )

    assert (made.args, made.kwargs, made.options) == ((), {}, {})


@pytest.mark.parametrize(
    "stored",
    [
        "not JSON",
        '{"name": "x", "kind": "note", "cron": "never"}',
        to_json(make_schedule("here", name="x", kind="note", every=1, body="plain text")).decode(),
        to_json(make_schedule("here", name="x", kind="note", every=1, body='{"arguments": []}')).decode(),
        to_json(make_schedule("here", name="x", kind="note", every=1, overlap="skip")).decode(),
    ],
)
def test_what_cannot_be_sent_is_told_and_stops_nobody(stored: str, caplog: pytest.LogCaptureFixture) -> None:
    """Others are sent."""
    assert entry_of("x", stored, Beat, 5000) is None

    assert "it is passed over" in caplog.text
