"""runtime/played_term.py: a term as the generator plays it."""

from collections.abc import Callable

import pytest

from soloist.runtime.incarnation import Incarnation
from soloist.runtime.played_term import PlayedTerm
from soloist.store.presence import Term, Who
from tests.unit.hand_clock import HandClock, put_in_place

LEASE = 2.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> HandClock:
    return put_in_place(monkeypatch, "soloist.runtime.played_term")


@pytest.fixture
def term(clock: HandClock) -> PlayedTerm:
    """A term that was begun by a beat sent just now."""
    told = Term(number=7, call=3, seq=120, tag="tag", takeover_ms=40, ticks={"generator": 5_000})
    who = Who("ann", 1, "app", "host", 1)
    return PlayedTerm(told, Incarnation(who, 1, "stamp"), clock.now, LEASE)


def when_it_waits(term: PlayedTerm, monkeypatch: pytest.MonkeyPatch, happens: Callable[[], None]) -> list[bool]:
    """Let something happen while the generator waits; the answer grows by one with each wait."""
    waits: list[bool] = []

    def wait(timeout: float | None = None) -> bool:
        assert timeout is None
        waits.append(True)
        happens()
        return True

    monkeypatch.setattr(term._changed, "wait", wait)
    return waits


def test_it_goes_on_where_the_term_is(term: PlayedTerm) -> None:
    """Number, call, sequence number, tag and ticks are those that the server told."""
    assert (term.number, term.call, term.seq, term.tag, term.ticks) == (7, 3, 120, "tag", {"generator": 5_000})
    assert not term.is_over


def test_a_publish_moves_call_and_sequence_number(term: PlayedTerm, clock: HandClock) -> None:
    """The generator is their only writer."""
    term.published(call=4, messages=10, sent=clock.now, lease=LEASE)

    assert (term.call, term.seq) == (4, 130)


def test_it_is_permitted_until_a_tenth_of_the_lease_is_left(
    term: PlayedTerm, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the others may judge, by its own clock: no waiting up to then."""
    waits = when_it_waits(term, monkeypatch, term.end)

    clock.now += LEASE * 0.89
    assert term.wait_until_permitted()
    assert not waits
    clock.now += LEASE * 0.02
    assert not term.wait_until_permitted()
    assert waits


def test_it_waits_until_a_beat_renews_it(term: PlayedTerm, clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """And goes on then: an unchallenged holder may renew late."""
    clock.now += LEASE
    waits = when_it_waits(term, monkeypatch, lambda: term.renewed(clock.now, LEASE))

    assert term.wait_until_permitted()
    assert len(waits) == 1


def test_a_renewal_counts_from_when_it_was_sent(
    term: PlayedTerm, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that was on its way for a whole lease permits nothing."""
    sent = clock.now
    clock.now += LEASE
    term.renewed(sent, LEASE)
    waits = when_it_waits(term, monkeypatch, term.end)

    assert not term.wait_until_permitted()
    assert waits


def test_an_old_answer_does_not_shorten_what_is_permitted(
    term: PlayedTerm, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beats and publishes are answered in any order."""
    begun = clock.now
    term.renewed(begun + 1, LEASE)
    term.renewed(begun, LEASE)
    waits = when_it_waits(term, monkeypatch, term.end)

    clock.now = begun + 1 + LEASE * 0.89

    assert term.wait_until_permitted()
    assert not waits


def test_a_publish_renews_too(term: PlayedTerm, clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was applied, so the term is ours."""
    clock.now += 1.5
    term.published(4, 1, clock.now, LEASE)
    waits = when_it_waits(term, monkeypatch, term.end)

    clock.now += 1.5

    assert term.wait_until_permitted()
    assert not waits


def test_nothing_is_permitted_in_a_term_that_is_over(term: PlayedTerm) -> None:
    """Whatever its own clock says."""
    term.end()

    assert term.is_over
    assert not term.wait_until_permitted()
    assert term.wait_until_over(within=60)


def test_waiting_for_the_end_ends_without_it(term: PlayedTerm) -> None:
    """It is also how the generator waits for its next tick."""
    assert not term.wait_until_over(within=0)
