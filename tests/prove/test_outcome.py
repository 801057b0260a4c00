"""prove/outcome.py: how two outcomes differ, in words."""

from typing import Any

import pytest

from soloist.prove.outcome import Outcome, differences


@pytest.mark.parametrize(
    ("came", "wanted", "told"),
    [
        ({"charges": 2}, {"charges": 1}, ("charges 2, want 1",)),
        ({"charges": ["a", "b"]}, {"charges": ["a"]}, ("charges 2, want 1",)),
        ({"accounts": {"ann": 300}}, {"accounts": {"ann": 150}}, ("accounts.ann 300, want 150",)),
        ({"rows": [[1, "open"]]}, {"rows": [[1, "paid"]]}, ('rows[0][1] "open", want "paid"',)),
        ({}, {"mail": [1]}, ("mail none, want 1",)),
        ({"mail": "sent"}, {}, ('mail "sent", want none',)),
        ([1, 2], [1], ("the world 2, want 1",)),
        (2, 1, ("the world 2, want 1",)),
        (None, [], ("the world null, want []",)),
        ({"a": 1, "b": 2}, {"a": 2, "b": 1}, ("a 1, want 2", "b 2, want 1")),
        ({"a": [1, 2]}, {"a": [1, 2]}, ()),
    ],
)
def test_worlds_are_told_by_where_they_differ(came: Any, wanted: Any, told: tuple[str, ...]) -> None:
    """As deep as they are of one shape."""
    assert differences(Outcome(world=came), Outcome(world=wanted)) == told


@pytest.mark.parametrize(
    ("came", "wanted", "told"),
    [
        (["a", "a"], ["a"], ("published 2, want 1 (`a` too many)",)),
        (["a"], ["a", "b"], ("published 1, want 2 (`b` missing)",)),
        (["a"], ["b"], ("published `a`, want `b`",)),
        (["a", "b"], ["b", "a"], ("published in another order",)),
        (list("abcde"), [], ("published 5, want 0 (`a`, `b`, `c` and 2 more too many)",)),
    ],
)
def test_lists_are_told_by_what_is_too_many_or_missing(
    came: list[str], wanted: list[str], told: tuple[str, ...]
) -> None:
    """And by their order, if that is all."""
    assert differences(Outcome(lists={"published": came}), Outcome(lists={"published": wanted})) == told


def test_a_fate_and_a_world_that_cannot_be_shown_are_told_first() -> None:
    """Of many differences only the first are."""
    came = Outcome({"message": "failed: OSError: full"}, world_failure="OperationalError: no such table")
    many = Outcome(world={str(number): 1 for number in range(9)})

    assert differences(came, Outcome({"message": "completed"})) == (
        "message failed: OSError: full, want completed",
        "the world cannot be shown: OperationalError: no such table",
    )
    assert differences(many, Outcome(world={}))[-2:] == ("2 1, want none", "6 more differences")
