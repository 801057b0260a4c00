"""timeline/faults.py: what a chaos run did, in the lane of the one that it hit."""

import pytest

from soloist.timeline.model import Mark, Role
from tests.timeline.story import fault, lane, ms, roles, two

HANDLER, SILENT, FROZEN, CUT_OFF, GONE = Role.HANDLER, Role.SILENT, Role.FROZEN, Role.CUT_OFF, Role.GONE


@pytest.mark.parametrize("instance", ["#2", "i2", "1002"], ids=["number", "id", "process"])
def test_whom_it_hit_is_named_by_number_id_or_process(instance: str) -> None:
    """Whatever the nemesis knows."""
    timeline = two().told(faults=[fault("kill", 5, None, instance, "kill -9 of a handler")])

    assert lane(timeline, "#2").marks[-1] == Mark(ms(5), "kill", "kill -9 of a handler", None, is_fault=True)
    assert not [mark for mark in lane(timeline, "#1").marks if mark.is_fault]


def test_a_process_number_that_came_again_is_that_of_the_last_who_had_it() -> None:
    """Before the fault."""
    story = two().at(3, "left", 2, messages=0).joined(4, 3, pid=1002)

    assert lane(story.told(faults=[fault("kill", 5, None, "1002")]), "#3").marks[-1].is_fault
    assert lane(story.told(faults=[fault("kill", 2.5, None, "1002")]), "#2").marks[1].is_fault


@pytest.mark.parametrize("instance", [None, "4711"], ids=["server", "unknown"])
def test_what_hit_the_server_or_nobody_that_is_known_concerns_all(instance: str | None) -> None:
    """It is shown in any case."""
    timeline = two().at(3, "failed", messages=1).told(faults=[fault("restart", 2, 4, instance)])

    assert [(mark.what, mark.is_fault, mark.ended_ms) for mark in timeline.server] == [
        ("restart", True, ms(4)),
        ("failed", False, None),
    ]


@pytest.mark.parametrize(
    ("kind", "role"),
    [("freeze", FROZEN), ("freeze long", FROZEN), ("cut", CUT_OFF), ("half-open", CUT_OFF), ("slow handler", None)],
)
def test_while_a_fault_lasted_its_victim_was_frozen_or_cut_off(kind: str, role: Role | None) -> None:
    """By the first word of its kind; what is neither leaves the role as it was, and has its mark with its length."""
    timeline = two().told(ended=10, faults=[fault(kind, 5, 7, "#2")])

    expected = [(2, 5, HANDLER), (5, 7, role), (7, 10, HANDLER)] if role else [(2, 10, HANDLER)]
    assert roles(timeline, "#2") == expected
    assert lane(timeline, "#2").marks[-1].ended_ms == ms(7)


def test_one_that_is_frozen_and_reclaimed_is_gone_in_spite_of_it() -> None:
    """What the log says is stronger where it says that somebody is not there."""
    story = two().at(16, "reclaimed", 2, because="lease", messages=1, heard_ms=10_500)
    timeline = story.told(ended=30, faults=[fault("freeze", 6, 20, "#2")])

    assert roles(timeline, "#2") == [(2, 6, HANDLER), (6, 16, FROZEN), (16, 30, GONE)]


def test_a_fault_that_never_ends_lasts_until_the_end() -> None:
    timeline = two().told(ended=10, faults=[fault("freeze", 6, None, "#2")])

    assert roles(timeline, "#2")[-1] == (6, 10, FROZEN)


def test_whoever_was_hit_lived_until_then() -> None:
    """Its last heartbeat was before; what the nemesis knows is more exact."""
    story = two().at(6, "reclaimed", 2, because="will", messages=0, heard_ms=900)
    timeline = story.told(ended=10, faults=[fault("kill", 5.5, None, "#2")])

    assert roles(timeline, "#2") == [(2, 5.5, HANDLER), (5.5, 6, SILENT), (6, 10, GONE)]


def test_what_is_said_of_a_fault_is_harmless() -> None:
    timeline = two().told(faults=[fault("kill", 5, None, "#2", "\x1b[2J<script>")])

    assert lane(timeline, "#2").marks[-1].told == "\\x1b[2J<script>"
