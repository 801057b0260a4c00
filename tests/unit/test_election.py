"""runtime/election.py: what a beat's answer means for the instance."""

import pytest

from soloist.runtime.election import Consequence, consequence, permitted_until
from soloist.store.presence import Heard, Term


def heard(role: str, term: int | None = None) -> Heard:
    held = None if term is None else Term(number=term, call=0, seq=0, tag="tag", takeover_ms=0)
    return Heard(now_ms=0, role=role, place=0, next_ms=150, instances=3, gone=[], term=held)


@pytest.mark.parametrize(
    ("role", "term", "played", "highest", "follows"),
    [
        # nothing new
        ("handler", None, 0, 0, Consequence.GO_ON),
        ("handler", None, 0, 7, Consequence.GO_ON),
        # the term that we named was extended
        ("generator", None, 3, 3, Consequence.RENEWED),
        # … and somebody asked for a hand-over
        ("asked", None, 3, 3, Consequence.STEP_DOWN),
        # a term that we did not name: newly elected, or the answer to an earlier beat was lost
        ("elected", 1, 0, 0, Consequence.ADOPT),
        ("elected", 4, 0, 3, Consequence.ADOPT),
        ("elected", 4, 3, 3, Consequence.ADOPT),
        # a term that we have played, or a lower one: the server went back to an older state
        ("elected", 3, 0, 3, Consequence.BE_REBORN),
        ("elected", 2, 0, 3, Consequence.BE_REBORN),
        ("elected", 2, 3, 3, Consequence.BE_REBORN),
        # an election without a term is no election
        ("elected", None, 0, 0, Consequence.BE_REBORN),
        # the term is another's
        ("superseded", None, 3, 3, Consequence.LOSE_TERM),
        # we played, and asked for nothing more: it is vacant
        ("handler", None, 3, 3, Consequence.RESIGNED),
    ],
)
def test_what_follows_from_a_beat(role: str, term: int | None, played: int, highest: int, follows: Consequence) -> None:
    """The table of decisions."""
    assert consequence(heard(role, term), played, highest) is follows


def test_every_consequence_is_reached_by_the_table() -> None:
    """A new one must get its rows."""
    reached = {row[-1] for row in test_what_follows_from_a_beat.pytestmark[0].args[1]}  # type: ignore[attr-defined]

    assert reached == set(Consequence)


def test_a_generator_stops_by_itself_before_others_may_judge() -> None:
    """A tenth of the lease before its end, counted from when the renewal was sent, not from when it was answered."""
    assert permitted_until(sent=100.0, lease=2.0) == pytest.approx(101.8)
