"""schedules/due.py: what is published now, what is not made up for."""

import pytest

from soloist.schedules.due import MOST_AT_ONCE, Due, due, moment
from soloist.schedules.making import make_schedule
from soloist.schedules.schedule import Missed, Schedule
from soloist.schedules.times import Times

NOON = 1_800_000_000_000
GRACE = 5_000


def every_second(missed: Missed = "once", jitter: float = 0.0) -> Schedule:
    return make_schedule("here", name="it", kind="it", every=1, missed=missed, jitter=jitter)


def seen(schedule: Schedule, after_ms: int) -> Due | None:
    return due(schedule, Times(schedule), NOON, NOON + after_ms, GRACE)


@pytest.mark.parametrize("missed", ["skip", "once", "all"])
def test_a_tick_is_due_at_its_time_and_not_before(missed: Missed) -> None:
    assert seen(every_second(missed), 999) is None
    assert seen(every_second(missed), 1_000) == Due([NOON + 1_000], NOON + 1_000)


def test_once_the_latest_is_made_up_for_however_late() -> None:
    assert seen(every_second("once"), 3_600_400) == Due([NOON + 3_600_000], NOON + 3_600_000, 3599)


def test_all_are_made_up_for_in_order() -> None:
    assert seen(every_second("all"), 3_100) == Due([NOON + 1_000, NOON + 2_000, NOON + 3_000], NOON + 3_000)


def test_all_of_a_long_gap_come_in_pages() -> None:
    found = seen(every_second("all"), 10_000_000)
    assert found is not None
    assert (len(found.ticks), found.through) == (MOST_AT_ONCE, NOON + 1000 * MOST_AT_ONCE)


def test_one_that_is_a_little_late_is_not_missed() -> None:
    slow = make_schedule("here", name="it", kind="it", every=60, missed="skip")
    assert seen(slow, 60_000 + GRACE) == Due([NOON + 60_000], NOON + 60_000)


def test_one_that_is_later_is_skipped_and_counted() -> None:
    slow = make_schedule("here", name="it", kind="it", every=60, missed="skip")
    assert seen(slow, 60_001 + GRACE) == Due([], NOON + 60_000, 1)
    assert seen(slow, 190_000) == Due([], NOON + 180_000, 3)


def test_jitter_is_always_the_same_for_the_same_tick() -> None:
    jittered = every_second(jitter=0.5)
    moments = [moment(jittered, NOON + 1000 * number) - NOON - 1000 * number for number in range(1, 100)]

    assert moments == [moment(jittered, NOON + 1000 * number) - NOON - 1000 * number for number in range(1, 100)]
    assert 0 <= min(moments) < 100
    assert 400 < max(moments) <= 500
    assert seen(jittered, moments[0] + 999) is None
    assert seen(jittered, moments[0] + 1000) == Due([NOON + 1000], NOON + 1000)
