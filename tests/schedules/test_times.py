"""schedules/times.py: expectations written out by hand, in UTC; and, where nothing special happens, the parser's own."""

from datetime import UTC, datetime
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import given
from hypothesis import strategies as st

from soloist.schedules.making import make_schedule
from soloist.schedules.times import MOST_COUNTED, Times

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def text(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).replace(tzinfo=None).isoformat(timespec="seconds")


def times(cron: str | None = None, tz: str = "UTC", every: float | None = None) -> Times:
    return Times(make_schedule("here", name="it", kind="it", cron=cron, every=every, tz=tz))


def first_three(cron: str, tz: str, after: str) -> list[str]:
    return [text(tick) for tick in islice(times(cron, tz).all_after(ms(after)), 3)]


@pytest.mark.parametrize(
    ("zone", "cron", "after", "expected"),
    [
        # The clock goes from 2:00 to 3:00: 2:30 is not there, so it is at 3:00 of the summer.
        (BERLIN, "30 2 * * *", "2026-03-28T00:00", ["2026-03-28T01:30:00", "2026-03-29T01:00:00", "2026-03-30T00:30:00"]),
        (NEW_YORK, "30 2 * * *", "2026-03-07T00:00", ["2026-03-07T07:30:00", "2026-03-08T07:00:00", "2026-03-09T06:30:00"]),
        # Half an hour only, from 2:00 to 2:30.
        (LORD_HOWE, "15 2 * * *", "2026-10-02T12:00", ["2026-10-02T15:45:00", "2026-10-03T15:30:00", "2026-10-04T15:15:00"]),
        # The clock goes from 3:00 to 2:00: 2:30 is there twice, and it is at the first.
        (BERLIN, "30 2 * * *", "2026-10-24T00:00", ["2026-10-24T00:30:00", "2026-10-25T00:30:00", "2026-10-26T01:30:00"]),
        (NEW_YORK, "30 1 * * *", "2026-10-31T00:00", ["2026-10-31T05:30:00", "2026-11-01T05:30:00", "2026-11-02T06:30:00"]),
        (LORD_HOWE, "45 1 * * *", "2026-04-03T12:00", ["2026-04-03T14:45:00", "2026-04-04T14:45:00", "2026-04-05T15:15:00"]),
        # With seconds.
        (BERLIN, "15 30 2 * * *", "2026-03-28T12:00", ["2026-03-29T01:00:15", "2026-03-30T00:30:15", "2026-03-31T00:30:15"]),
        (BERLIN, "15 30 2 * * *", "2026-10-24T12:00", ["2026-10-25T00:30:15", "2026-10-26T01:30:15", "2026-10-27T01:30:15"]),
        # Every hour is every hour, whatever the clock shows.
        (BERLIN, "0 * * * *", "2026-10-24T23:30", ["2026-10-25T00:00:00", "2026-10-25T01:00:00", "2026-10-25T02:00:00"]),
        (BERLIN, "0 * * * *", "2026-03-29T00:30", ["2026-03-29T01:00:00", "2026-03-29T02:00:00", "2026-03-29T03:00:00"]),
        (LORD_HOWE, "0 * * * *", "2026-10-03T14:00", ["2026-10-03T14:30:00", "2026-10-03T16:00:00", "2026-10-03T17:00:00"]),
        # By the clock within an hour that is left out, and in one that comes twice.
        (BERLIN, "*/30 2 * * *", "2026-03-28T12:00", ["2026-03-30T00:00:00", "2026-03-30T00:30:00", "2026-03-31T00:00:00"]),
        (BERLIN, "*/30 2 * * *", "2026-10-25T00:10", ["2026-10-25T00:30:00", "2026-10-25T01:00:00", "2026-10-25T01:30:00"]),
    ],
)  # fmt: skip
def test_daylight_saving(zone: str, cron: str, after: str, expected: list[str]) -> None:
    assert first_three(cron, zone, after) == expected


@pytest.mark.parametrize(
    ("cron", "after", "expected"),
    [
        ("0 0 29 2 *", "2026-01-01T00:00", ["2028-02-29T00:00:00", "2032-02-29T00:00:00", "2036-02-29T00:00:00"]),
        ("0 0 L * *", "2026-01-15T00:00", ["2026-01-31T00:00:00", "2026-02-28T00:00:00", "2026-03-31T00:00:00"]),
        ("0 0 L 2 *", "2026-01-15T00:00", ["2026-02-28T00:00:00", "2027-02-28T00:00:00", "2028-02-29T00:00:00"]),
        ("0 0 31 * *", "2026-01-15T00:00", ["2026-01-31T00:00:00", "2026-03-31T00:00:00", "2026-05-31T00:00:00"]),
        ("0 18 LW * *", "2026-01-15T00:00", ["2026-01-30T18:00:00", "2026-02-27T18:00:00", "2026-03-31T18:00:00"]),
        ("0 9 * * MON", "2026-11-19T00:00", ["2026-11-23T09:00:00", "2026-11-30T09:00:00", "2026-12-07T09:00:00"]),
        ("0 9 * * 5#1", "2026-11-19T00:00", ["2026-12-04T09:00:00", "2027-01-01T09:00:00", "2027-02-05T09:00:00"]),
        ("59 59 23 31 12 *", "2026-11-19T00:00", ["2026-12-31T23:59:59", "2027-12-31T23:59:59", "2028-12-31T23:59:59"]),
        ("*/20 * * * * *", "2026-11-19T00:00:50", ["2026-11-19T00:01:00", "2026-11-19T00:01:20", "2026-11-19T00:01:40"]),
        ("5,10 1 * * * *", "2026-11-19T00:01:05", ["2026-11-19T00:01:10", "2026-11-19T01:01:05", "2026-11-19T01:01:10"]),
    ],
)  # fmt: skip
def test_the_calendar(cron: str, after: str, expected: list[str]) -> None:
    assert first_three(cron, "UTC", after) == expected


minute = st.integers(0, 59).map(str) | st.sampled_from(("*", "*/7", "3,33"))
hour = st.integers(0, 23).map(str) | st.sampled_from(("*", "*/5", "8-17"))
day = st.sampled_from(("*", "1", "13", "L", "28-31"))
moments = st.integers(ms("2025-01-01T00:00"), ms("2029-01-01T00:00"))


@given(minute, hour, day, st.sampled_from(("UTC", BERLIN, NEW_YORK, LORD_HOWE)), moments)
def test_with_five_fields_it_is_what_the_parser_says(m: str, h: str, d: str, zone: str, at: int) -> None:
    cron = f"{m} {h} {d} * *"
    theirs = islice(CronSim(cron, datetime.fromtimestamp(at // 1000, ZoneInfo(zone))), 8)
    expected = [tick for each in theirs if (tick := round(each.timestamp() * 1000)) > at]

    ours = list(islice(times(cron, zone).all_after(at), len(expected)))

    assert ours == expected


@given(minute, hour, st.sampled_from(("UTC", BERLIN, LORD_HOWE)), moments, st.integers(0, 5 * 86_400_000))
def test_the_latest_is_the_last_of_all_that_are_over(m: str, h: str, zone: str, at: int, later: int) -> None:
    seen = times(f"{m} {h} * * *", zone)
    over = []
    for tick in seen.all_after(at):
        if tick > at + later:
            break
        over.append(tick)

    assert seen.latest(at, at + later) == ((over[-1], len(over) - 1) if over else (None, 0))


def test_after_years_of_seconds_the_latest_is_found_all_the_same() -> None:
    """Not all of them are counted: that would take longer than the next tick."""
    latest, before = times("* * * * * *").latest(ms("2020-01-01T00:00"), ms("2026-11-19T12:00:07") + 300)

    assert latest == ms("2026-11-19T12:00:07")
    assert before == MOST_COUNTED


def test_a_distance_is_kept_from_the_first_on() -> None:
    seen = times(every=0.5)
    assert list(islice(seen.all_after(1_000), 3)) == [1_500, 2_000, 2_500]
    assert seen.latest(1_000, 1_499) == (None, 0)
    assert seen.latest(1_000, 3_100) == (3_000, 3)
