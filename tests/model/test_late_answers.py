"""What the histories take for granted: an answer that comes too late for its call is heard by nobody."""

from collections.abc import Iterator
from contextlib import closing
from itertools import count

import pytest

from soloist.errors import Unavailable
from soloist.store.link import Link
from soloist.store.messages import Tally, TurnCall, next_turn
from soloist.store.presence import Who, join
from tests.servers import Store

PAUSE_MS = 150
WITHIN = 0.04
"""Seconds for which a caller waits: it gives up several times before the server goes on."""


@pytest.fixture
def stalled(store: Store) -> Iterator[Store]:
    """The server reads what is sent, and answers nothing for a while."""
    store.link.command("CLIENT", "PAUSE", PAUSE_MS, "ALL")
    yield store
    with closing(Link(store.server, timeout=5)) as link:
        link.command("CLIENT", "UNPAUSE")


def test_who_gave_up_hears_only_the_answer_to_its_last_question(stalled: Store) -> None:
    """A call that is given up takes its connection with it; so no answer is taken for that of another call."""
    with closing(Link(stalled.server, timeout=WITHIN)) as link:
        for question in count():
            try:
                heard = link.command("ECHO", str(question))
                break
            except Unavailable:
                continue
    assert int(heard) == question > 0


def test_a_turn_that_was_given_up_and_repeated_is_taken_once(store: Store) -> None:
    """Whichever of its copies is carried out, in whatever order: one turn, and the answer is that of the repetition."""
    who = Who("late", 0, "demo", "host", 17, ("a",))
    stamp = join(store.link, store.keys, who, store.settings).stamp
    call = TurnCall(1, stamp, {"a": Tally(1)})
    store.link.command("CLIENT", "PAUSE", PAUSE_MS, "ALL")
    with closing(Link(store.server, timeout=WITHIN)) as link:
        given_up = 0
        while True:
            try:
                answer = next_turn(link, store.keys, who.id, store.settings, call)
                break
            except Unavailable:
                given_up += 1
        assert given_up > 0
        assert next_turn(link, store.keys, who.id, store.settings, TurnCall(2, answer.stamp, {"a": Tally(1)})).stamp
    assert store.link.command("HGET", store.keys.instance(who.id), "turn") == b"2"
