"""runtime/batching.py: how many messages to claim."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soloist.runtime.batching import AHEAD, GROWTH, MOST, WORK, Batching

AUTO = 0


def after(*batches: tuple[int, float], fixed: int = AUTO) -> int:
    """The size after some batches of so many messages that took so many seconds each message."""
    batching = Batching(fixed)
    for messages, each in batches:
        batching.worked(messages, messages * each)
    return batching.size


def settled(each: float) -> int:
    """The size for a handler that always takes as long."""
    batching = Batching(AUTO)
    for _ in range(50):
        batching.worked(batching.size, batching.size * each)
    return batching.size


def test_the_first_batch_is_one_message() -> None:
    """Nothing is known of the handler yet."""
    assert after() == 1


def test_it_grows_fourfold_at_most() -> None:
    """One quick message says little about the next thousand."""
    batching, sizes = Batching(AUTO), []

    for _ in range(7):
        sizes.append(batching.size)
        batching.worked(batching.size, 0.0)

    assert sizes == [1, 4, 16, 64, 256, 1000, 1000]


def test_a_slow_handler_holds_one_message() -> None:
    """So nobody hoards what others could handle."""
    assert after((1, 0.1)) == 1
    assert settled(0.1) == 1


def test_a_handler_that_becomes_slow_holds_one_message_at_once() -> None:
    """Not only when the average has followed: one message that takes longer than a batch should is enough."""
    assert settled(0.000_001) == MOST
    assert after(*[(1000, 0.000_001)] * 20, (10, WORK * 1.1)) == 1


def test_a_handler_that_becomes_quick_again_holds_more_again() -> None:
    """One slow message is forgotten after a while."""
    assert after((1, 0.1), *[(1, 0.000_1)] * 50) > 10


@pytest.mark.parametrize("each", [0.000_01, 0.000_1, 0.001, 0.002_5])
def test_a_batch_is_about_five_milliseconds_of_work(each: float) -> None:
    """Never more than that by the average, and not much less."""
    work = settled(each) * each

    assert 0.5 * WORK < work <= WORK * 1.001


@pytest.mark.parametrize("fixed", [1, 7, 1000])
def test_a_fixed_size_stays(fixed: int) -> None:
    """What the user says counts, whatever the handler does."""
    assert after(fixed=fixed) == fixed
    assert after((1, 0.0), (1, 10.0), (1000, 0.0), fixed=fixed) == fixed


def test_nothing_handled_teaches_nothing() -> None:
    """An interrupted batch may be empty."""
    assert after((0, 0.0)) == 1
    assert after((1, 0.0), (0, 0.0)) == 4


def test_a_clock_that_is_too_coarse_to_see_the_work_does_no_harm() -> None:
    """Batches that take no time at all, for long: the average becomes so small that nothing can be divided by it."""
    assert after((1, 1e-9), *[(1000, 0.0)] * 3000) == MOST


@given(st.lists(st.tuples(st.integers(0, MOST), st.floats(0, 100)), max_size=50))
def test_it_is_always_between_one_and_a_thousand_and_never_leaps(batches: list[tuple[int, float]]) -> None:
    """Whatever was measured."""
    batching = Batching(AUTO)

    for messages, seconds in batches:
        before = batching.size
        batching.worked(messages, seconds)
        assert 1 <= batching.size <= min(MOST, before * GROWTH)


def grown(fixed: int = AUTO, each: float = 0.0) -> Batching:
    batching = Batching(fixed)
    for _ in range(10):
        batching.worked(batching.size, batching.size * each)
    return batching


def test_the_next_batch_is_claimed_ahead_where_handling_is_quick_and_there_is_more_to_do() -> None:
    """A batch that is nearly full says that the queue is not empty."""
    assert grown().reaches_ahead(MOST * 3 // 4)
    assert not grown().reaches_ahead(MOST * 3 // 4 - 1)


def test_slow_handlers_do_not_reach_ahead() -> None:
    """What they claimed would wait in their hands."""
    assert grown(each=WORK / AHEAD).reaches_ahead(AHEAD)
    assert not grown(each=WORK / (AHEAD - 1)).reaches_ahead(AHEAD)


def test_a_fixed_batch_is_the_most_that_is_held() -> None:
    """Nothing on top of it."""
    assert not grown(fixed=500).reaches_ahead(500)
