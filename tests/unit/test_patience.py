"""runtime/patience.py: trying again, and saying once that the server is away."""

import logging
from collections.abc import Iterator

import pytest

from soloist.errors import Unavailable
from soloist.runtime.patience import LONGEST, Outage, Patience
from tests.unit.hand_clock import HandClock, put_in_place

LOST = Unavailable("it cannot be reached")
REFUSED = Unavailable("it is loading", refused=True)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> HandClock:
    return put_in_place(monkeypatch, "soloist.runtime.patience")


@pytest.fixture
def said() -> Iterator[list[str]]:
    """What is logged: attached to our own logger, since the command line cuts it off from the others."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("soloist")
    logger.addHandler(handler)
    yield lines
    logger.removeHandler(handler)


@pytest.fixture
def outage(clock: HandClock) -> Outage:
    return Outage()


@pytest.fixture
def heart(outage: Outage) -> Patience:
    return Patience("heart", outage)


@pytest.fixture
def handler(outage: Outage) -> Patience:
    return Patience("handler", outage)


def test_the_first_repeat_is_immediate_and_the_waits_grow(heart: Patience) -> None:
    """A broken connection costs nothing, a server that is away is not stormed."""
    waits = [heart.failed(LOST) for _ in range(9)]

    assert waits == pytest.approx([0, 0.02, 0.04, 0.08, 0.16, 0.32, LONGEST, LONGEST, LONGEST])


def test_one_who_says_no_is_not_asked_again_at_once(heart: Patience) -> None:
    """It is there and answers: even the first repeat waits."""
    waits = [heart.failed(REFUSED) for _ in range(3)]

    assert waits == pytest.approx([0.02, 0.04, 0.08])


def test_after_an_answer_it_begins_anew(heart: Patience) -> None:
    """The next failure is the first one again."""
    for _ in range(5):
        heart.failed(LOST)
    heart.well()

    assert heart.failed(LOST) == 0


def test_one_lost_call_is_not_worth_a_line(heart: Patience, said: list[str]) -> None:
    """Its repeat went well: nobody need know."""
    heart.failed(LOST)
    heart.well()

    assert said == []


def test_one_line_when_the_server_goes_and_one_when_it_is_back(
    heart: Patience, said: list[str], clock: HandClock
) -> None:
    """However often it is tried in between; the second says how long it took."""
    for _ in range(30):
        heart.failed(LOST)
        clock.pass_by(0.5)
    assert said == ["server.lost reason='it cannot be reached'; trying again until it is back"]

    heart.well()
    heart.well()
    assert said[1:] == ["server.back after=14.5s"]


def test_a_server_that_refuses_is_told_at_once(heart: Patience, said: list[str]) -> None:
    """It will not be well by the first repeat."""
    heart.failed(REFUSED)

    assert len(said) == 1


def test_all_actors_of_an_instance_say_it_once(heart: Patience, handler: Patience, said: list[str]) -> None:
    """And it is back when the last of them has been answered."""
    for _ in range(3):
        heart.failed(LOST)
        handler.failed(LOST)
    assert len(said) == 1

    heart.well()
    assert len(said) == 1
    handler.well()
    assert len(said) == 2


def test_an_actor_that_tries_no_more_does_not_keep_the_server_away(
    heart: Patience, handler: Patience, said: list[str]
) -> None:
    """Its term or its incarnation ended; the others are well."""
    for _ in range(3):
        heart.failed(LOST)
        handler.failed(LOST)

    handler.ended()
    heart.well()

    assert said[1:] == ["server.back after=0.0s"]


def test_the_next_outage_is_told_again(heart: Patience, said: list[str]) -> None:
    """Each has its two lines."""
    for _ in range(2):
        heart.failed(REFUSED)
        heart.well()

    assert [line.split(" ")[0] for line in said] == ["server.lost", "server.back"] * 2
