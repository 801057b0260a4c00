"""timeline/lives.py: what each instance was when, as the common log tells it."""

import pytest

from soloist.store.log import LogEntry
from soloist.timeline.model import Role
from tests.timeline.story import BEGUN, Story, lane, ms, roles, seen, two

GENERATOR, HANDLER, SILENT, GONE = Role.GENERATOR, Role.HANDLER, Role.SILENT, Role.GONE


def test_one_that_joined_is_a_handler_until_it_is_elected() -> None:
    """From its first sign on; before that there is nothing of it."""
    timeline = two().told(ended=10)

    assert roles(timeline, "#1") == [(0, 1, HANDLER), (1, 10, GENERATOR)]
    assert roles(timeline, "#2") == [(2, 10, HANDLER)]


def test_a_generator_has_the_number_of_its_term_and_the_time_that_the_takeover_took() -> None:
    """As the log says them."""
    timeline = two().at(5, "resigned", 1, term=1).at(6, "elected", 2, term=2, takeover_ms=1100).told()

    (stretch,) = [each for each in lane(timeline, "#2").stretches if each.role is GENERATOR]
    assert (stretch.term, stretch.takeover_ms) == (2, 1100)


def test_lanes_are_in_the_order_of_the_numbers() -> None:
    """Not in that of the log, and not in that of letters."""
    story = Story().joined(0, 10).joined(1, 9).joined(2, 1)

    assert [each.name for each in story.told().lanes] == ["#1", "#9", "#10"]


def test_one_that_resigned_is_a_handler() -> None:
    timeline = two().at(5, "resigned", 1, term=1).told(ended=10)

    assert roles(timeline, "#1")[1:] == [(1, 5, GENERATOR), (5, 10, HANDLER)]


def test_one_that_left_is_gone() -> None:
    """And the page says why."""
    timeline = two().at(5, "left", 1, messages=0).told(ended=10)

    assert roles(timeline, "#1")[1:] == [(1, 5, GENERATOR), (5, 10, GONE)]
    assert lane(timeline, "#1").stretches[-1].why == "left"


def test_a_generator_from_which_another_took_over_was_not_heard_since_its_last_sign() -> None:
    """The election tells when that was; what it was from then on nobody knows, until it is heard of."""
    timeline = two().at(5, "elected", 2, term=2, takeover_ms=400).told(ended=10)

    assert roles(timeline, "#1")[1:] == [(1, 4.6, GENERATOR), (4.6, 10, SILENT)]


def test_one_that_resigned_before_the_election_was_heard() -> None:
    """It handed over, and is a handler all the time."""
    timeline = two().at(5, "resigned", 1, term=1).at(5.1, "elected", 2, term=2, takeover_ms=300).told(ended=10)

    assert roles(timeline, "#1")[1:] == [(1, 5, GENERATOR), (5, 10, HANDLER)]


def test_a_generator_that_comes_back_too_late_is_a_handler() -> None:
    """Frozen for three seconds: it lost the term, and keeps its place."""
    story = two().at(5, "elected", 2, term=2, takeover_ms=2000)
    timeline = story.at(6, "superseded", 1, what="beat", term=1).told(ended=10)

    assert roles(timeline, "#1")[1:] == [(1, 3, GENERATOR), (3, 6, SILENT), (6, 10, HANDLER)]


def test_a_late_call_for_an_old_term_costs_nobody_the_new_one() -> None:
    """The copy of a publication of term 1 arrives when its sender generates again, for term 3."""
    story = two().at(5, "resigned", 1, term=1).at(6, "elected", 2, term=2, takeover_ms=0)
    story.at(7, "resigned", 2, term=2).at(8, "elected", 1, term=3, takeover_ms=0)
    timeline = story.at(9, "superseded", 1, what="publish", term=1).told(ended=10)

    assert roles(timeline, "#1")[-1] == (8, 10, GENERATOR)


@pytest.mark.parametrize(
    ("fields", "silent_since"), [({"heard_ms": 2500}, 17.5), ({}, 10.0), ({"heard_ms": "x"}, 10.0)]
)
def test_one_that_was_reclaimed_was_not_heard_before(fields: dict[str, object], silent_since: float) -> None:
    """Since its last heartbeat; older logs do not tell when that was, so its lease is taken."""
    timeline = two().at(20, "reclaimed", 2, because="lease", messages=0, **fields).told(ended=30)

    assert roles(timeline, "#2") == [(2, silent_since, HANDLER), (silent_since, 20, SILENT), (20, 30, GONE)]
    assert lane(timeline, "#2").stretches[-1].why == "it was not heard"


def test_one_that_was_killed_is_silent_until_it_is_reclaimed() -> None:
    """The election backdates it; the reclaim that follows ends it."""
    story = two().at(5, "elected", 2, term=2, takeover_ms=400)
    timeline = story.at(5.1, "reclaimed", 1, because="will", messages=3, heard_ms=500).told(ended=10)

    assert roles(timeline, "#1")[1:] == [(1, 4.6, GENERATOR), (4.6, 5.1, SILENT), (5.1, 10, GONE)]
    assert lane(timeline, "#1").stretches[-1].why == "its process ended"


def test_a_silence_is_not_longer_than_what_is_known_of_one() -> None:
    """It was elected a moment ago: it cannot have been silent before."""
    timeline = two().at(2.1, "reclaimed", 2, because="lease", messages=0).told(ended=10)

    assert roles(timeline, "#2") == [(2, 2.1, SILENT), (2.1, 10, GONE)]


def test_a_rebirth_goes_on_in_the_same_lane() -> None:
    """The number stays, the id is new; the refused call between them, which tells only the old id, is in the lane, too."""
    story = two().at(20, "reclaimed", 2, because="lease", messages=0, heard_ms=10_000)
    story.at(23, "superseded", what="next", number=0, instance="i2")
    timeline = story.joined(23.1, 2, instance="i2b").told(ended=30)

    assert roles(timeline, "#2") == [(2, 10, HANDLER), (10, 20, SILENT), (20, 23.1, GONE), (23.1, 30, HANDLER)]
    assert lane(timeline, "#2").ids == ("i2", "i2b")
    assert [mark.what for mark in lane(timeline, "#2").marks] == ["joined", "reclaimed", "superseded", "joined"]
    assert lane(timeline, "#2").marks[2].told == "a completion by #2 came too late and was refused"


# The window.


def test_what_was_before_the_window_tells_who_was_what_at_its_beginning() -> None:
    """The marks of it are not shown."""
    timeline = two().told(begun=50, ended=60)

    assert roles(timeline, "#1") == [(50, 60, GENERATOR)]
    assert roles(timeline, "#2") == [(50, 60, HANDLER)]
    assert [each.marks for each in timeline.lanes] == [(), ()]
    assert lane(timeline, "#1").stretches[0].term == 1


def test_one_that_was_gone_before_the_window_has_no_lane() -> None:
    timeline = two().at(5, "left", 2, messages=0).told(begun=50, ended=60)

    assert [each.name for each in timeline.lanes] == ["#1"]


def test_what_came_after_the_end_is_not_shown() -> None:
    timeline = two().joined(30, 3).told(ended=20)

    assert [each.name for each in timeline.lanes] == ["#1", "#2"]


def test_one_of_whom_the_log_knows_only_the_end_was_there_from_the_beginning() -> None:
    """Its `joined` was dropped: it was there since the log knows anything."""
    story = Story().joined(10, 5).at(20, "left", 3, messages=0)

    assert roles(story.told(begun=0, ended=30), "#3") == [(10, 20, HANDLER), (20, 30, GONE)]


@pytest.mark.parametrize("event", ["resigned", "superseded", "asked"])
def test_whoever_spoke_for_a_term_was_its_generator_before(event: str) -> None:
    """Its election was dropped from the log, that of the next one was not."""
    story = Story().joined(0, 5).at(10, event, 3, term=7, what="beat").at(11, "elected", 5, term=8, takeover_ms=500)

    assert roles(story.told(ended=20), "#3")[0][2] is GENERATOR
    assert lane(story.told(ended=20), "#3").stretches[0].term == 7


def test_one_of_whom_the_log_says_nothing_is_known_by_who_is_present() -> None:
    """It has run for days. So has the generator."""
    timeline = Story().joined(0, 9).told(ended=10, now=seen(3, 4, 9, generator=4, term=2))

    assert roles(timeline, "#3") == [(0, 10, HANDLER)]
    assert roles(timeline, "#4") == [(0, 10, GENERATOR)]


# The end.


def test_one_that_is_present_but_was_not_heard_is_silent_at_the_end() -> None:
    """Frozen at this moment, for example."""
    timeline = two().told(ended=20, now=seen(1, 2, generator=1, heard_ms=5000))

    assert roles(timeline, "#2") == [(2, 15, HANDLER), (15, 20, SILENT)]


def test_one_that_is_not_there_any_more_and_that_nobody_reclaimed_is_silent() -> None:
    """All were killed: nobody was left to say so. The last sign of a generator is known, that of others is not."""
    timeline = two().told(ended=60, now=seen(vacant_ms=40_000))

    assert roles(timeline, "#1")[-1] == (20, 60, SILENT)
    assert roles(timeline, "#2")[-1] == (50, 60, SILENT)


def test_one_that_came_while_the_log_was_read_is_not_missing() -> None:
    """It is in the log, and was not yet there when somebody looked."""
    timeline = two().joined(60.01, 3).told(ended=60, now=seen(1, 2, generator=1))

    assert [each.name for each in timeline.lanes] == ["#1", "#2"]
    assert roles(timeline, "#2")[-1][2] is HANDLER


# What is not about one instance.


def test_what_concerns_all_is_in_a_row_of_its_own() -> None:
    """Paused kinds with the time that they were, messages that failed, drainers."""
    story = two().at(5, "paused", kind="mail").at(6, "failed", messages=3).at(7, "paused", kind="default")
    story.at(9, "resumed", kind="mail").at(10, "reclaimed", -1, instance="drainer", because="lease", messages=0)
    timeline = story.told()

    assert [(mark.what, mark.ended_ms) for mark in timeline.server] == [
        ("paused", ms(9)),
        ("failed", None),
        ("paused", None),
        ("resumed", None),
        ("reclaimed", None),
    ]
    assert [each.name for each in timeline.lanes] == ["#1", "#2"]


def test_entries_that_are_not_ours_are_shown_as_they_are() -> None:
    """Somebody wrote into the log: no traceback, no control character."""
    story = two()
    story.entries.append(
        LogEntry("9-8", ms(5), "reclaimed", {"number": "x", "instance": "\x1b[2J", "messages": "many"})
    )
    story.entries.append(LogEntry("9-9", ms(6), "", {"number": "²", "term": "-1", "host": "\udcff"}))

    marks = story.told().server
    assert [mark.told for mark in marks] == [
        "reclaimed number=x instance=\\x1b[2J messages=many",
        " number=² term=-1 host=\\xff",
    ]


def test_an_empty_log_is_an_empty_timeline() -> None:
    timeline = Story().told()

    assert (timeline.lanes, timeline.server, timeline.points) == ((), (), ())
    assert timeline.begun_ms == BEGUN
