"""runtime/cadence.py: the drift-free rhythm of a source, kept across takeovers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soloist.runtime.cadence import Cadence

EVERY = 500
NOON = 1_700_000_000_000
"""The server's time when a test begins, ms."""
HERE = 5_000.0
"""The monotonic time at that instant, s."""

every_ms = st.integers(1, 86_400_000)
late_s = st.floats(0, 100_000, allow_nan=False)
any_ms = st.floats(-1e15, 1e15, allow_nan=False)


def at(ms: float) -> float:
    """The monotonic time so many ms after noon."""
    return HERE + ms / 1000


def begun(last_tick: int | None = None, after_ms: float = 0, every: float = EVERY) -> Cadence:
    return Cadence(every, last_tick, NOON + after_ms, at(after_ms))


def wait_ms(cadence: Cadence, after_ms: float) -> float:
    return round(cadence.wait(at(after_ms)) * 1000, 3)


def test_the_first_tick_ever_is_at_once() -> None:
    """Nobody waits for the first message."""
    cadence = begun()

    assert (cadence.tick, wait_ms(cadence, 0)) == (NOON, 0)


def test_the_next_tick_is_one_distance_after_the_last() -> None:
    """And one waits for what is left of it."""
    cadence = begun()

    cadence.done(at(120))

    assert (cadence.tick, wait_ms(cadence, 120)) == (NOON + 500, 380)


def test_being_a_little_late_each_time_does_not_add_up() -> None:
    """A thousand ticks, each published 7 ms after it was due, lie exactly on the grid: there is no drift."""
    cadence = begun()
    ticks = []

    for number in range(1000):
        ticks.append(cadence.tick)
        cadence.done(at(number * 500 + 7))

    assert ticks == [NOON + number * 500 for number in range(1000)]


def test_a_takeover_continues_the_grid() -> None:
    """The successor waits for the very tick that the one before it would have published."""
    cadence = begun(last_tick=NOON - 130)

    assert (cadence.tick, wait_ms(cadence, 0)) == (NOON + 370, 370)


def test_ticks_missed_through_a_takeover_are_made_up_by_one_and_then_the_old_grid_goes_on() -> None:
    """Three were missed: the latest of them is published at once, the next one when it is due."""
    cadence = begun(last_tick=NOON - 1_700)

    assert (cadence.tick, wait_ms(cadence, 0)) == (NOON - 200, 0)
    cadence.done(at(5))
    assert (cadence.tick, wait_ms(cadence, 5)) == (NOON + 300, 295)


def test_ticks_missed_through_a_slow_source_are_made_up_by_one_and_then_the_old_grid_goes_on() -> None:
    """The same without a takeover: the source, or a full queue, took 1.7 s."""
    cadence = begun()

    cadence.done(at(1_700))
    assert (cadence.tick, wait_ms(cadence, 1_700)) == (NOON + 1_500, 0)
    cadence.done(at(1_710))
    assert (cadence.tick, wait_ms(cadence, 1_710)) == (NOON + 2_000, 290)


def test_a_tick_that_is_due_right_now_is_not_skipped() -> None:
    """Exactly one distance after the last one."""
    cadence = begun(last_tick=NOON - 500)

    assert (cadence.tick, wait_ms(cadence, 0)) == (NOON, 0)


def test_a_clock_that_went_far_back_makes_nobody_wait_longer_than_one_distance() -> None:
    """The last tick lies a year ahead: the source runs after one distance, not after a year, and begins a new grid."""
    cadence = begun(last_tick=NOON + 365 * 86_400_000)

    assert (cadence.tick, wait_ms(cadence, 0)) == (NOON + 500, 500)
    assert wait_ms(cadence, 200) == 300


def test_a_clock_that_went_far_ahead_makes_one_tick_not_a_million() -> None:
    """A year was "missed": one message makes up for it, and the next keeps its distance."""
    cadence = begun(last_tick=NOON - 365 * 86_400_000 - 200)

    assert (cadence.tick, wait_ms(cadence, 0)) == (NOON - 200, 0)
    cadence.done(at(0))
    assert (cadence.tick, wait_ms(cadence, 0)) == (NOON + 300, 300)


def test_ticks_that_were_not_wanted_are_not_made_up_for() -> None:
    """A source asked not to be called for 1.7 s: it comes once then, and after that when the next one is due."""
    cadence = begun()
    cadence.done(at(5))

    cadence.skip(at(1_700))
    assert (cadence.tick, wait_ms(cadence, 1_700)) == (NOON + 1_500, 0)
    cadence.done(at(1_705))
    assert (cadence.tick, wait_ms(cadence, 1_705)) == (NOON + 2_000, 295)


def test_skipping_does_not_bring_a_tick_forward() -> None:
    """One that is still to come is left where it is."""
    cadence = begun()
    cadence.done(at(5))

    cadence.skip(at(100))

    assert (cadence.tick, wait_ms(cadence, 100)) == (NOON + 500, 400)


@pytest.mark.parametrize("last_tick", [None, NOON, 0, NOON * 2])
def test_as_fast_as_it_goes_has_no_ticks(last_tick: int | None) -> None:
    """Distance 0: always due, and nothing is stored."""
    cadence = begun(last_tick, every=0)

    for after_ms in (0, 1, 10_000):
        assert (cadence.tick, wait_ms(cadence, after_ms)) == (0, 0)
        cadence.done(at(after_ms))


@given(every_ms, st.lists(late_s, max_size=50))
def test_every_tick_lies_on_the_grid_of_the_first(every: int, delays: list[float]) -> None:
    """However late each one is published."""
    cadence = begun(every=every)
    first, now, last = cadence.tick, HERE, cadence.tick - every

    for delay in delays:
        assert (cadence.tick - first) % every == 0
        assert cadence.tick > last
        last = cadence.tick
        now += cadence.wait(now) + delay
        cadence.done(now)


@given(every_ms, st.lists(st.tuples(late_s, st.integers(0, 3)), min_size=1, max_size=20))
def test_takeovers_leave_the_grid_as_it_is(every: int, terms: list[tuple[float, int]]) -> None:
    """Terms of a few ticks each, with silence between them: one grid, each tick once."""
    first = last = NOON
    now = HERE

    for silence, ticks in terms:
        now += silence
        cadence = Cadence(every, last, NOON + (now - HERE) * 1000, now)
        for _ in range(ticks):
            now += cadence.wait(now)
            assert cadence.tick > last
            assert (cadence.tick - first) % every == 0
            last = cadence.tick
            cadence.done(now)


@given(
    every_ms, st.none() | st.integers(-(10**15), 10**15), any_ms, st.floats(0, 1e9), st.floats(0, 1e9), st.booleans()
)
def test_a_wait_is_between_nothing_and_one_distance_whatever_the_clocks_say(
    every: int, last_tick: int | None, now_ms: float, now: float, passed: float, is_done: bool
) -> None:
    """Last tick, server's clock and local clock may be anything."""
    cadence = Cadence(every, last_tick, now_ms, now)
    if is_done:
        cadence.done(now + passed)

    assert 0 <= cadence.wait(now) <= every / 1000
    assert 0 <= cadence.wait(now + passed) <= every / 1000
