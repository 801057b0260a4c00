"""cli/processes.py: the pure parts of `run --processes`."""

from itertools import pairwise

import pytest

from soloist.cli.account import sentence
from soloist.cli.processes import JOINED, LONGEST_PAUSE, pause_after, words_of_one


def test_pauses_grow_up_to_a_limit() -> None:
    """One that dies at once must not be started a thousand times a minute; nor be given up."""
    pauses = [pause_after(deaths) for deaths in range(1, 1000)]

    assert pauses[:4] == [0.1, 0.2, 0.4, 0.8]
    assert all(later >= earlier for earlier, later in pairwise(pauses))
    assert pauses[-1] == LONGEST_PAUSE


@pytest.mark.parametrize(
    "words",
    [
        ["run", "shop:app", "--processes", "4", "--url", "redis://one"],
        ["run", "--processes=4", "shop:app", "--url", "redis://one"],
        ["run", "shop:app", "--url", "redis://one", "--processes", "2", "--processes", "4"],
    ],
)
def test_each_is_started_without_the_option(words: list[str]) -> None:
    """Else each would start as many again."""
    assert words_of_one(words) == ["run", "shop:app", "--url", "redis://one"]


def test_what_follows_two_dashes_is_no_option() -> None:
    assert words_of_one(["run", "--", "--processes"]) == ["run", "--", "--processes"]


def test_the_parent_knows_how_a_child_tells_that_it_joined() -> None:
    """With --events and without."""
    assert JOINED.match(b'{"event": "joined", "at": 1}\n')
    assert JOINED.match(f"12:34:56  #12  {sentence('joined', {})}\n".encode())
    assert not JOINED.match(b'{"event": "left", "at": 1}\n')
    assert not JOINED.match(b"namespace joined on localhost\n")
