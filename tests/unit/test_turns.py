"""runtime/turns.py: what one incarnation holds between its numbered calls, and how a call is repeated."""

from collections.abc import Callable, Iterable

import pytest

from soloist.errors import Unavailable
from soloist.runtime import turns
from soloist.runtime.incarnation import Incarnation
from soloist.runtime.patience import Outage, Patience
from soloist.runtime.turns import Desk, Outcome, Turns
from soloist.settings import Settings
from soloist.store.envelope import pack
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.messages import Claimed, TurnCall
from soloist.store.presence import Who
from soloist.store.replies import Superseded
from soloist.store.server import Server
from tests.unit.hand_clock import HandClock, put_in_place

MAIL, ORDER = "mail", "order"
KINDS = (MAIL, ORDER)


def envelope(number: int, kind: str = MAIL) -> bytes:
    return pack(f"{number}-tag", kind, 5, b"a body with blanks")


def ids(*numbers: int) -> list[bytes]:
    return [f"{number}-tag".encode() for number in numbers]


def claimed(
    envelopes: Iterable[bytes] = (),
    stamp: str = "later",
    *,
    again: bool = False,
    hold: bool = False,
    attempts: dict[bytes, tuple[int, int]] | None = None,
) -> Claimed:
    return Claimed(stamp, list(envelopes), attempts or {}, hold, again)


@pytest.fixture
def desk() -> Desk:
    """The desk of an instance that has just joined."""
    return Desk(Incarnation(Who("ann", 1, "app", "host", 1, KINDS), number=1, stamp="joined"))


def lay_down(desk: Desk, *envelopes: bytes) -> None:
    """Let a call have claimed these."""
    desk.accept(desk.collect(KINDS, 10, give_back=False), claimed(envelopes))


def waiting(desk: Desk) -> list[tuple[str, bytes]]:
    return [(kind, each.split(b" ", 1)[0]) for kind, each in desk.waiting]


# Numbers and stamps.


def test_the_first_call_is_turn_one_with_the_stamp_of_joining(desk: Desk) -> None:
    """A call is tied to the answer before it."""
    call = desk.collect(KINDS, 5, give_back=False)

    assert (call.turn, call.stamp) == (1, "joined")


def test_the_next_call_has_the_next_turn_and_the_stamp_of_the_answer(desk: Desk) -> None:
    """One after another."""
    desk.accept(desk.collect(KINDS, 5, give_back=False), claimed(stamp="first"))
    call = desk.collect(KINDS, 5, give_back=False)

    assert (call.turn, call.stamp) == (2, "first")


def test_a_call_that_was_not_accepted_uses_no_turn(desk: Desk) -> None:
    """Only what is known to be applied counts."""
    desk.collect(KINDS, 5, give_back=False)

    assert desk.collect(KINDS, 5, give_back=False).turn == 1


# Collecting.


def test_what_is_wanted_is_wanted_of_every_kind(desk: Desk) -> None:
    """Also of those of which nothing was done."""
    call = desk.collect(KINDS, 7, give_back=False)

    assert {kind: done.want for kind, done in call.done.items()} == {MAIL: 7, ORDER: 7}


def test_outcomes_are_collected_by_kind_in_their_order(desk: Desk) -> None:
    """Completed and failed, the failed with their details; then nothing is left to record."""
    desk.outcomes.extend(
        [
            Outcome(MAIL, b"1-tag", None),
            Outcome(ORDER, b"2-tag", b"details"),
            Outcome(MAIL, b"3-tag", None),
            Outcome(MAIL, b"4-tag", b"others"),
        ]
    )

    call = desk.collect(KINDS, 0, give_back=False)

    assert call.done[MAIL].completed == ids(1, 3)
    assert call.done[MAIL].failed == [(b"4-tag", b"others")]
    assert (call.done[ORDER].completed, call.done[ORDER].failed) == ([], [(b"2-tag", b"details")])
    assert not desk.outcomes


def test_what_waits_is_given_back_oldest_first(desk: Desk) -> None:
    """Per kind, in the order in which it was claimed: so it stands at the head of its list as before."""
    lay_down(desk, envelope(1), envelope(2, ORDER), envelope(3), envelope(4, ORDER), envelope(5))

    call = desk.collect(KINDS, 0, give_back=True)

    assert call.done[MAIL].back == ids(1, 3, 5)
    assert call.done[ORDER].back == ids(2, 4)
    assert not desk.waiting


def test_nothing_is_given_back_unless_that_is_asked_for(desk: Desk) -> None:
    """It waits on."""
    lay_down(desk, envelope(1), envelope(2))

    call = desk.collect(KINDS, 0, give_back=False)

    assert call.done[MAIL].back == []
    assert waiting(desk) == [(MAIL, b"1-tag"), (MAIL, b"2-tag")]


def test_the_message_in_hand_is_not_given_back(desk: Desk) -> None:
    """Its handler is at work."""
    lay_down(desk, envelope(1), envelope(2))
    desk.in_hand = b"1-tag"
    desk.waiting.popleft()

    assert desk.collect(KINDS, 0, give_back=True).done[MAIL].back == ids(2)
    assert desk.in_hand == b"1-tag"


def test_attempts_of_what_is_given_back_are_forgotten(desk: Desk) -> None:
    """They come again with the message; the others stay."""
    desk.accept(
        desk.collect(KINDS, 10, give_back=False),
        claimed([envelope(1), envelope(2)], attempts={b"1-tag": (1, 0), b"2-tag": (2, 1)}),
    )
    desk.waiting.popleft()

    desk.collect(KINDS, 0, give_back=True)

    assert desk.attempts == {b"1-tag": (1, 0)}


# Accepting.


def test_what_was_claimed_waits_behind_what_waits(desk: Desk) -> None:
    """First in, first out; each with the kind that its envelope says."""
    lay_down(desk, envelope(1))
    lay_down(desk, envelope(2, ORDER), envelope(3))

    assert waiting(desk) == [(MAIL, b"1-tag"), (ORDER, b"2-tag"), (MAIL, b"3-tag")]


def test_an_answer_that_was_replayed_does_not_double_what_is_held(desk: Desk) -> None:
    """It names all that is held: what waits, what is in hand, what is done and not recorded. Only the rest is new."""
    lay_down(desk, envelope(1), envelope(2), envelope(3))
    desk.outcomes.append(Outcome(MAIL, b"1-tag", None))
    desk.in_hand = b"2-tag"
    desk.waiting.popleft()
    desk.waiting.popleft()
    call = TurnCall(2, "later", {})

    desk.accept(call, claimed([envelope(4), envelope(2), envelope(3), envelope(1)], again=True))

    assert waiting(desk) == [(MAIL, b"3-tag"), (MAIL, b"4-tag")]
    assert list(desk.outcomes) == [Outcome(MAIL, b"1-tag", None)]
    assert desk.in_hand == b"2-tag"


def test_a_replayed_answer_brings_what_the_lost_one_had_claimed(desk: Desk) -> None:
    """The claim was applied, its answer lost: nothing may rest under a beating heart."""
    call = desk.collect(KINDS, 10, give_back=False)

    desk.accept(call, claimed([envelope(1), envelope(2, ORDER)], again=True))

    assert waiting(desk) == [(MAIL, b"1-tag"), (ORDER, b"2-tag")]


def test_attempts_and_hold_come_with_the_answer(desk: Desk) -> None:
    """Deaths and retries of those that have any; whether to claim no more."""
    call = desk.collect(KINDS, 10, give_back=False)
    desk.accept(call, claimed([envelope(1)], hold=True, attempts={b"1-tag": (1, 0)}))

    assert desk.attempts == {b"1-tag": (1, 0)}
    assert desk.hold
    lay_down(desk)
    assert not desk.hold


@pytest.mark.parametrize("held", ["waiting", "in hand", "unrecorded", "nothing"])
def test_a_desk_is_empty_when_nothing_waits_is_in_hand_or_unrecorded(desk: Desk, held: str) -> None:
    """Each of the three alone makes it hold something."""
    if held == "waiting":
        desk.waiting.append((MAIL, envelope(1)))
    elif held == "in hand":
        desk.in_hand = b"1-tag"
    elif held == "unrecorded":
        desk.outcomes.append(Outcome(MAIL, b"1-tag", None))

    assert desk.is_empty == (held == "nothing")


# Calling.


class Calls:
    """Stands in for the script `next`: gives prepared answers, and keeps what it was called with."""

    def __init__(self, answers: list[Claimed | Exception]) -> None:
        self.made: list[TurnCall] = []
        self._answers = answers

    def __call__(self, link: Link, keys: Keys, instance: str, settings: Settings, call: TurnCall) -> Claimed:
        assert instance == "ann"
        self.made.append(call)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


Answers = Callable[..., Calls]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    def prepare(*prepared: Claimed | Exception) -> Calls:
        calls = Calls(list(prepared))
        monkeypatch.setattr(turns, "next_turn", calls)
        return calls

    return prepare


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> HandClock:
    return put_in_place(monkeypatch, "soloist.runtime.turns")


@pytest.fixture
def taking(clock: HandClock) -> Turns:
    patience = Patience("handler", Outage())
    return Turns(Link(Server("redis://nowhere"), 1), Keys("test"), Settings(), KINDS, patience)


def not_yet() -> bool:
    return False


def test_a_call_answers_what_it_recorded(desk: Desk, taking: Turns, answers: Answers) -> None:
    """Handled in all, and how many of them failed."""
    answers(claimed([envelope(9)]))
    desk.outcomes.extend([Outcome(MAIL, b"1-tag", None), Outcome(ORDER, b"2-tag", b"x"), Outcome(MAIL, b"3-tag", None)])

    assert taking.take(desk, 1, is_hopeless=not_yet) == (3, 1)
    assert waiting(desk) == [(MAIL, b"9-tag")]


def test_a_call_whose_outcome_is_unknown_is_repeated_unchanged(
    desk: Desk, taking: Turns, answers: Answers, clock: HandClock
) -> None:
    """What was done meanwhile has to wait for the next call; and the waits between attempts grow."""
    lost = Unavailable("no answer")
    calls = answers(lost, lost, lost, claimed(again=True))
    desk.outcomes.append(Outcome(MAIL, b"1-tag", None))

    taking.take(desk, 4, is_hopeless=not_yet)

    assert len(calls.made) == 4
    assert all(call is calls.made[0] for call in calls.made)
    assert calls.made[0].done[MAIL].completed == ids(1)
    assert clock.slept == [0.0, 0.02, 0.04]


def test_a_call_is_not_made_for_an_incarnation_that_is_over(desk: Desk, taking: Turns, answers: Answers) -> None:
    """Work remembers the id that claimed it, and is discarded if that id is no longer ours."""
    calls = answers()
    desk.incarnation.over = True

    with pytest.raises(Superseded):
        taking.take(desk, 4, is_hopeless=not_yet)
    assert calls.made == []


def test_a_call_is_given_up_when_the_incarnation_ends_meanwhile(desk: Desk, taking: Turns, answers: Answers) -> None:
    """The heart was told that presence is gone while the call was unknown."""

    def ends() -> bool:
        desk.incarnation.over = True
        return False

    calls = answers(Unavailable("no answer"))

    with pytest.raises(Superseded):
        taking.take(desk, 4, is_hopeless=ends)
    assert len(calls.made) == 1


def test_a_call_is_given_up_when_there_is_no_more_time(desk: Desk, taking: Turns, answers: Answers) -> None:
    """Stopping has an end, also while the server is away."""
    answers(Unavailable("no answer"))

    with pytest.raises(Unavailable):
        taking.take(desk, 4, is_hopeless=lambda: True)


def test_on_hold_nothing_is_claimed_until_nothing_is_held(desk: Desk, taking: Turns, answers: Answers) -> None:
    """A suspect of poison waits to be handled alone."""
    calls = answers(claimed([envelope(1)], hold=True), claimed(hold=True), claimed())

    taking.take(desk, 4, is_hopeless=not_yet)
    taking.take(desk, 4, is_hopeless=not_yet)
    desk.waiting.clear()
    taking.take(desk, 4, is_hopeless=not_yet)

    assert [call.done[MAIL].want for call in calls.made] == [4, 0, 4]
