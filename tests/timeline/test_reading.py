"""timeline/reading.py and sharing.py: the window, rates and backlog, what is not known, and too many instances."""

import pytest

from soloist.store.log import KEPT
from soloist.timeline.model import Role
from soloist.timeline.reading import known_since, window
from soloist.timeline.sharing import MOST_LANES
from tests.timeline.story import Story, fault, ms, sample, two


def test_the_window_is_as_long_as_asked_for() -> None:
    assert window(two().entries, ms(100), 30_000) == (ms(70), ms(100))


def test_the_window_does_not_begin_before_the_first_entry() -> None:
    """A system that is a minute old fills the page."""
    assert window(two().entries, ms(60), 900_000) == (ms(0), ms(60))


@pytest.mark.parametrize("age_ms", [0, 1])
def test_the_window_is_never_empty(age_ms: int) -> None:
    """A second at least: there must be an axis."""
    begun, ended = window(two().entries, ms(60), age_ms)

    assert (begun, ended) == (ms(59), ms(60))


def test_the_window_reaches_back_beyond_a_log_from_which_something_was_dropped() -> None:
    """Rates are known for longer. The page says from when on the log is whole."""
    story = Story()
    for at in range(KEPT):
        story.at(at, "failed", messages=1)

    assert known_since(story.entries) == ms(0)
    assert known_since(story.entries[1:]) == 0
    assert window(story.entries, ms(KEPT), 2_000_000) == (ms(KEPT - 2000), ms(KEPT))


def test_a_log_that_does_not_reach_back_is_said_to() -> None:
    timeline = two().told(begun=-100, known_since_ms=ms(0))

    assert timeline.known_since_ms == ms(0)
    assert any("reaches back to" in note for note in timeline.notes)


def test_a_log_that_reaches_back_far_enough_needs_no_words() -> None:
    timeline = two().told(begun=10, known_since_ms=ms(0))

    assert (timeline.known_since_ms, timeline.notes) == (0, ())


# Rates and backlog.


def test_a_rate_is_that_since_the_sample_before() -> None:
    """By the time that went by, which is not always a second."""
    timeline = two().told(samples=[sample(0, 100, 90), sample(1, 120, 100, 7), sample(3, 160, 160, 1)])

    assert [(each.published_per_s, each.handled_per_s, each.backlog) for each in timeline.points] == [
        (20, 10, 7),
        (20, 30, 1),
    ]


def test_while_there_is_no_sample_nobody_generated() -> None:
    """What was published came at the beginning of the gap; what was handled is spread over it."""
    timeline = two().told(samples=[sample(0, 100, 100), sample(10, 110, 120, 4)])

    assert [(each.at_ms, each.published_per_s, each.handled_per_s) for each in timeline.points] == [
        (ms(1), 10, 2),
        (ms(1.001), 0, 2),
        (ms(10), 0, 2),
    ]


def test_a_namespace_that_was_purged_has_no_negative_rate() -> None:
    timeline = two().told(samples=[sample(0, 100, 100), sample(1, 5, 3)])

    assert [(each.published_per_s, each.handled_per_s) for each in timeline.points] == [(0, 0)]


def test_samples_outside_the_window_are_not_shown() -> None:
    """But the last one before it counts for the first rate."""
    timeline = two().told(begun=1, ended=2, samples=[sample(at, 10 * at, 0) for at in range(5)])

    assert [each.at_ms for each in timeline.points] == [ms(1), ms(2)]


def test_a_history_that_does_not_reach_back_is_said_to() -> None:
    """It is kept for an hour."""
    timeline = two().told(begun=0, samples=[sample(50, 0, 0), sample(51, 0, 0)])

    assert any(note.startswith("Rates and backlog are known since") for note in timeline.notes)


# Too many instances.


def successors(count: int) -> Story:
    """Two at a time; each lives for two seconds, and another follows it."""
    story = Story()
    for number in range(1, count + 1):
        story.joined(number, number)
        if number > 2:
            story.at(number + 0.01, "left", number - 2, messages=0)
    return story


def test_few_instances_have_a_lane_each() -> None:
    timeline = successors(MOST_LANES).told()

    assert len(timeline.lanes) == MOST_LANES
    assert timeline.notes == ()


def test_of_many_those_that_followed_one_another_share_a_lane() -> None:
    """No two of a lane at the same time, nobody lost, and it is said."""
    timeline = successors(MOST_LANES + 20).told(faults=[fault("kill", 30.5, None, "#29")])

    assert len(timeline.lanes) == 3
    assert {each.who for lane in timeline.lanes for each in lane.stretches} == {
        f"#{n}" for n in range(1, MOST_LANES + 21)
    }
    for lane in timeline.lanes:
        assert all(
            before.ended_ms <= after.begun_ms for before, after in zip(lane.stretches, lane.stretches[1:], strict=False)
        )
        assert all(each.role is not Role.GONE for each in lane.stretches)
    assert sum(mark.is_fault for lane in timeline.lanes for mark in lane.marks) == 1
    assert timeline.notes == (f"{MOST_LANES + 20} instances in 3 lanes: those that followed one another share one.",)
