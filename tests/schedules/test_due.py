"""schedules/due.py: what is published now, what is not made up for."""

from itertools import takewhile
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_a_gap_ends_with_one_tick_also_where_ticks_are_late_on_purpose() -> None:
    """The latest that is due; those behind it, whose moment has not come, were not missed."""
    jittered = make_schedule("here", name="it", kind="it", every=60, jitter=50)
    now = NOON + 600_000 + 20_000  # of ten ticks, the last may or may not be due by now
    last = NOON + (600_000 if moment(jittered, NOON + 600_000) <= now else 540_000)

    assert due(jittered, Times(jittered), NOON, now, GRACE) == Due([last], last, (last - NOON) // 60_000 - 1)


@given(
    missed=st.sampled_from(get_args(Missed)),
    every=st.integers(1, 5),
    jitter=st.floats(0, 12),
    waits=st.lists(st.floats(0, 40), min_size=1, max_size=20),
)
def test_whenever_somebody_looks_each_tick_is_published_once_or_counted(
    missed: Missed, every: int, jitter: float, waits: list[float]
) -> None:
    """Never early, never twice, in order; with "all" none is skipped, with "skip" none is published that is too late."""
    schedule = make_schedule("here", name="it", kind="it", every=every, jitter=min(jitter, every), missed=missed)
    times, last, now, skipped = Times(schedule), NOON, NOON, 0
    published: list[int] = []
    for wait in waits:
        now += round(wait * 1000)
        while (found := due(schedule, times, last, now, GRACE)) is not None:
            assert all(moment(schedule, tick) <= now for tick in [*found.ticks, found.through])
            assert missed != "skip" or all(now - moment(schedule, tick) <= GRACE for tick in found.ticks)
            published += found.ticks
            last, skipped = found.through, skipped + found.skipped

    over = list(takewhile(lambda tick: tick <= last, times.all_after(NOON)))
    assert published == sorted(set(published))
    assert set(published) <= set(over)
    assert len(published) + skipped == len(over)
    assert missed != "all" or not skipped
