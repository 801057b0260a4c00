"""runtime/turns.py: what one incarnation holds between its numbered calls, and how a call is repeated."""

import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from soloist.errors import Defect, ForeignData, Unavailable
from soloist.runtime import turns
from soloist.runtime.incarnation import Incarnation
from soloist.runtime.patience import Outage, Patience
from soloist.runtime.turns import Desk, Turns
from soloist.settings import Settings
from soloist.store.envelope import id_of, pack
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.messages import Claimed, FailedMessage, Run, Tally, TurnCall
from soloist.store.presence import Who
from soloist.store.replies import Superseded
from soloist.store.server import Server
from tests.unit.hand_clock import HandClock, put_in_place

MAIL, ORDER = "mail", "order"
KINDS = (MAIL, ORDER)


def envelope(number: int, kind: str = MAIL) -> bytes:
    return pack(f"{number}-tag", kind, 5, b"a body with blanks")


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


def handle(desk: Desk, details: bytes | None = None) -> None:
    """The handler takes the oldest that waits, and is done with it."""
    kind, each = desk.waiting.popleft()
    desk.outcomes.append((kind, each, details))


def takes_in_hand(desk: Desk) -> bytes:
    """The handler is at work on the oldest that waits."""
    _, desk.in_hand = desk.waiting.popleft()
    assert desk.in_hand is not None
    return desk.in_hand


def done(length: int, first: bytes, *failures: FailedMessage) -> Run:
    """What is done stands at the head."""
    return Run(0, length, first, [*failures])


def back(place: int, length: int, first: bytes) -> Run:
    return Run(place, length, first, is_back=True)


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

    assert call.kinds == {MAIL: Tally(7), ORDER: Tally(7)}


def test_outcomes_are_one_run_at_the_head_counted_by_kind(desk: Desk) -> None:
    """Completed and failed, the failed by their places and with their details; then nothing is left to record."""
    lay_down(desk, envelope(1), envelope(2, ORDER), envelope(3), envelope(4), envelope(5))
    for details in (None, b"details", None, b"others"):
        handle(desk, details)

    call = desk.collect(KINDS, 0, give_back=False)

    failures = [FailedMessage(1, b"2-tag", b"details"), FailedMessage(3, b"4-tag", b"others")]
    assert call.runs == [done(4, b"1-tag", *failures)]
    assert call.kinds == {MAIL: Tally(0, completed=2, failed=1), ORDER: Tally(0, completed=0, failed=1)}
    assert not desk.outcomes


def test_details_may_be_empty(desk: Desk) -> None:
    """Failed is what has details, not what has many."""
    lay_down(desk, envelope(1))
    handle(desk, b"")

    assert desk.collect(KINDS, 0, give_back=False).kinds[MAIL] == Tally(0, completed=0, failed=1)


def test_what_waits_is_given_back_as_one_run_at_the_end(desk: Desk) -> None:
    """Named by its oldest: in the order in which it was claimed it stands at the heads of its lists as before."""
    lay_down(desk, envelope(1), envelope(2, ORDER), envelope(3))
    lay_down(desk, envelope(4, ORDER), envelope(5))
    handle(desk)

    call = desk.collect(KINDS, 0, give_back=True)

    assert call.runs == [done(1, b"1-tag"), back(1, 4, b"2-tag")]
    assert call.kinds == {MAIL: Tally(0, completed=1), ORDER: Tally(0)}
    assert not desk.waiting


def test_nothing_is_given_back_unless_that_is_asked_for(desk: Desk) -> None:
    """It waits on."""
    lay_down(desk, envelope(1), envelope(2))

    call = desk.collect(KINDS, 0, give_back=False)

    assert call.runs == []
    assert waiting(desk) == [(MAIL, b"1-tag"), (MAIL, b"2-tag")]


def test_where_nothing_waits_nothing_is_given_back(desk: Desk) -> None:
    """A run of nothing would be refused."""
    lay_down(desk, envelope(1))
    takes_in_hand(desk)

    assert desk.collect(KINDS, 0, give_back=True).runs == []


def test_the_message_in_hand_is_not_given_back(desk: Desk) -> None:
    """Its handler is at work: it stands between what is done and what waits."""
    lay_down(desk, envelope(1), envelope(2), envelope(3))
    handle(desk)
    takes_in_hand(desk)

    assert desk.collect(KINDS, 0, give_back=True).runs == [done(1, b"1-tag"), back(2, 1, b"3-tag")]
    assert desk.in_hand == envelope(2)


def test_places_are_those_after_the_last_answer(desk: Desk) -> None:
    """What was recorded and what was given back is gone from the list, what was claimed stands at its end."""
    lay_down(desk, envelope(1), envelope(2), envelope(3), envelope(4))
    handle(desk)
    takes_in_hand(desk)
    desk.accept(desk.collect(KINDS, 2, give_back=True), claimed([envelope(8), envelope(9)]))
    desk.in_hand = None
    desk.outcomes.append((MAIL, envelope(2), b"why"))

    call = desk.collect(KINDS, 0, give_back=True)

    assert call.runs == [
        done(1, b"2-tag", FailedMessage(0, b"2-tag", b"why")),
        back(1, 2, b"8-tag"),
    ]


def test_what_is_done_while_a_call_is_on_its_way_keeps_its_place(desk: Desk) -> None:
    """The handler goes on beside the recorder: the answer counts only what the call named."""
    lay_down(desk, envelope(1), envelope(2), envelope(3))
    handle(desk)
    call = desk.collect(KINDS, 0, give_back=False)
    handle(desk)
    desk.accept(call, claimed([envelope(4)]))

    assert desk.collect(KINDS, 0, give_back=True).runs == [done(1, b"2-tag"), back(1, 2, b"3-tag")]


@pytest.mark.parametrize("seed", range(40))
def test_the_server_finds_at_every_place_what_the_desk_means(desk: Desk, seed: int) -> None:
    """A list is kept as the script keeps it, and answers are lost: whatever is done in between, each run fits."""
    chance, number, server = random.Random(seed), 0, list[bytes]()
    for _ in range(60):
        for _ in range(chance.randrange(4)):
            if desk.in_hand is not None:
                desk.outcomes.append((MAIL, desk.in_hand, chance.choice((None, b"why"))))
                desk.in_hand = None
            elif desk.waiting:
                takes_in_hand(desk)
        call = desk.collect(KINDS, 3, give_back=chance.random() < 0.3)
        gone: set[int] = set()
        for run in call.runs:
            places = range(run.place, run.place + run.length)
            assert id_of(server[places[0]]) == run.id
            assert all(id_of(server[failure.place]) == failure.id for failure in run.failures)
            assert places[-1] < len(server)
            assert not gone.intersection(places)
            gone.update(places)
        server = [each for place, each in enumerate(server) if place not in gone]
        new = [envelope(number + more, chance.choice(KINDS)) for more in range(1, chance.choice((1, 1, 3, 4)))]
        number, server = number + len(new), server + new
        again = chance.random() < 0.3
        desk.accept(call, claimed(server if again else new, again=again))

    held = [*(each for _, each, _ in desk.outcomes), *([desk.in_hand] if desk.in_hand else [])]
    assert [*held, *(each for _, each in desk.waiting)] == server


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
    handle(desk)
    takes_in_hand(desk)
    call = TurnCall(2, "later", {MAIL: Tally(9), ORDER: Tally(9)})

    desk.accept(call, claimed([envelope(1), envelope(2), envelope(3), envelope(4)], again=True))

    assert waiting(desk) == [(MAIL, b"3-tag"), (MAIL, b"4-tag")]
    assert list(desk.outcomes) == [(MAIL, envelope(1), None)]
    assert desk.in_hand == envelope(2)
    assert desk.collect(KINDS, 0, give_back=True).runs == [done(1, b"1-tag"), back(2, 2, b"3-tag")]


class FinishingDesk(Desk):
    """Its handler is done with what is in hand at the very moment in which the recorder looks at it."""

    def __getattribute__(self, name: str) -> Any:
        seen = super().__getattribute__(name)
        if name == "in_hand" and seen is not None:
            self.outcomes.append((MAIL, seen, None))
            self.in_hand = None
        return seen


def test_what_is_finished_while_a_replayed_answer_is_read_is_not_missed() -> None:
    """The handler takes no lock: what is in hand is read once, and found among what is done if it is there no more."""
    desk = FinishingDesk(Incarnation(Who("ann", 1, "app", "host", 1, KINDS), number=1, stamp="joined"))
    lay_down(desk, envelope(1), envelope(2))
    desk.in_hand = envelope(1)
    desk.waiting.popleft()

    desk.accept(
        TurnCall(2, "later", {MAIL: Tally(9), ORDER: Tally(9)}), claimed([envelope(1), envelope(2)], again=True)
    )

    assert waiting(desk) == [(MAIL, b"2-tag")]
    assert list(desk.outcomes) == [(MAIL, envelope(1), None)]


def test_a_replayed_answer_brings_what_the_lost_one_had_claimed(desk: Desk) -> None:
    """The claim was applied, its answer lost: nothing may rest under a beating heart."""
    call = desk.collect(KINDS, 10, give_back=False)

    desk.accept(call, claimed([envelope(1), envelope(2, ORDER)], again=True))

    assert waiting(desk) == [(MAIL, b"1-tag"), (ORDER, b"2-tag")]


def test_a_replayed_answer_brings_again_what_the_lost_one_gave_back_and_claimed(desk: Desk) -> None:
    """The same call did both: it stands at the end of the list now, and at the end of what waits."""
    lay_down(desk, envelope(1), envelope(2), envelope(3))
    handle(desk)
    takes_in_hand(desk)
    call = desk.collect(KINDS, 9, give_back=True)

    desk.accept(call, claimed([envelope(2), envelope(3), envelope(4)], again=True))

    assert waiting(desk) == [(MAIL, b"3-tag"), (MAIL, b"4-tag")]
    assert desk.collect(KINDS, 0, give_back=True).runs == [back(1, 2, b"3-tag")]


def test_of_one_kind_everything_claimed_is_of_that_kind(desk: Desk) -> None:
    """What the call asked for; nothing is read out of the envelopes."""
    desk.accept(desk.collect((ORDER,), 5, give_back=False), claimed([envelope(1, ORDER), envelope(2, ORDER)]))

    assert waiting(desk) == [(ORDER, b"1-tag"), (ORDER, b"2-tag")]


def test_attempts_and_hold_come_with_the_answer(desk: Desk) -> None:
    """Deaths and retries of those that have any; whether to claim no more."""
    call = desk.collect(KINDS, 10, give_back=False)
    desk.accept(call, claimed([envelope(1)], hold=True, attempts={b"1-tag": (1, 0)}))

    assert desk.attempts == {b"1-tag": (1, 0)}
    assert desk.hold
    lay_down(desk)
    assert desk.hold, "it still holds the message"
    handle(desk)
    lay_down(desk)
    assert not desk.hold, "nothing is held any more"


@pytest.mark.parametrize("held", ["waiting", "in hand", "unrecorded", "nothing"])
def test_a_desk_is_empty_when_nothing_waits_is_in_hand_or_unrecorded(desk: Desk, held: str) -> None:
    """Each of the three alone makes it hold something."""
    if held == "waiting":
        desk.waiting.append((MAIL, envelope(1)))
    elif held == "in hand":
        desk.in_hand = envelope(1)
    elif held == "unrecorded":
        desk.outcomes.append((MAIL, envelope(1), None))

    assert desk.is_empty == (held == "nothing")


# Calling.


class Calls:
    """Stands in for the script `next`: gives prepared answers, and keeps what it was called with."""

    def __init__(self, answers: list[Claimed | Exception]) -> None:
        self.made: list[TurnCall] = []
        self._answers = answers

    def __call__(
        self, link: Link, keys: Keys, instance: str, settings: Settings, call: TurnCall
    ) -> Callable[[], Claimed]:
        assert instance == "ann"
        self.made.append(call)
        answer = self._answers.pop(0)
        if isinstance(answer, NotSent):
            raise answer

        def receive() -> Claimed:
            if isinstance(answer, Exception):
                raise answer
            return answer

        return receive


class NotSent(Unavailable):
    """Raised when the call is sent, not when its answer is awaited."""


Answers = Callable[..., Calls]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    def prepare(*prepared: Claimed | Exception) -> Calls:
        calls = Calls(list(prepared))
        monkeypatch.setattr(turns, "begin_turn", calls)
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
    lay_down(desk, envelope(1), envelope(2, ORDER), envelope(3))
    for details in (None, b"x", None):
        handle(desk, details)
    answers(claimed([envelope(9)]))

    assert taking.take(desk, 1, is_hopeless=not_yet) == (3, 1)
    assert waiting(desk) == [(MAIL, b"9-tag")]


def test_a_call_whose_outcome_is_unknown_is_repeated_unchanged(
    desk: Desk, taking: Turns, answers: Answers, clock: HandClock
) -> None:
    """What was done meanwhile has to wait for the next call; and the waits between attempts grow."""
    lost = Unavailable("no answer")
    lay_down(desk, envelope(1))
    handle(desk)
    calls = answers(lost, lost, lost, claimed(again=True))

    taking.take(desk, 4, is_hopeless=not_yet)

    assert len(calls.made) == 4
    assert all(call is calls.made[0] for call in calls.made)
    assert calls.made[0].runs == [done(1, b"1-tag")]
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

    assert [call.kinds[MAIL].want for call in calls.made] == [4, 0, 4]


# Asking ahead.


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[Link]:
    """The links that were closed."""
    links: list[Link] = []
    monkeypatch.setattr(Link, "close", lambda link: links.append(link))  # noqa: PLW0108 - a method must be a function
    return links


def test_what_was_asked_for_comes_when_it_is_awaited(desk: Desk, taking: Turns, answers: Answers) -> None:
    """Sent at once, with what is done by then; and what is done meanwhile is for the next call."""
    lay_down(desk, envelope(1), envelope(2))
    handle(desk)
    calls = answers(claimed([envelope(3)], stamp="asked"))

    before = taking.is_asked
    taking.ask(desk, 4)
    handle(desk)

    assert (before, taking.is_asked) == (False, True)
    assert [call.runs for call in calls.made] == [[done(1, b"1-tag")]]
    assert waiting(desk) == []
    assert taking.await_asked(desk, not_yet) == (1, 0)
    assert waiting(desk) == [(MAIL, b"3-tag")]
    assert desk.collect(KINDS, 0, give_back=False).runs == [done(1, b"2-tag")]
    assert taking.await_asked(desk, not_yet) == (0, 0), "it was answered"


def test_whoever_takes_a_turn_meanwhile_awaits_it_first(desk: Desk, taking: Turns, answers: Answers) -> None:
    """The recorder, or who stops: calls go one after another, and what was claimed is given back with the rest."""
    lay_down(desk, envelope(1), envelope(2))
    handle(desk)
    calls = answers(claimed([envelope(3)], stamp="asked"), claimed())

    taking.ask(desk, 4)
    recorded = taking.take(desk, 0, give_back=True, is_hopeless=not_yet)

    assert recorded == (1, 0)
    assert [(call.turn, call.stamp) for call in calls.made] == [(2, "later"), (3, "asked")]
    assert calls.made[1].runs == [Run(0, 2, b"2-tag", is_back=True)]
    assert desk.is_empty


def test_only_one_is_asked_for_at_a_time(desk: Desk, taking: Turns, answers: Answers) -> None:
    """Nothing else may go over the link."""
    calls = answers(claimed())
    taking.ask(desk, 4)
    taking.ask(desk, 4)

    assert len(calls.made) == 1


@pytest.mark.parametrize("lost", [NotSent("not sent"), Unavailable("no answer")])
def test_one_that_was_asked_for_and_is_unknown_is_repeated_unchanged(
    desk: Desk, taking: Turns, answers: Answers, lost: Exception
) -> None:
    """Whether it could not be sent, or its answer did not come."""
    lay_down(desk, envelope(1))
    handle(desk)
    calls = answers(lost, claimed([envelope(2)], again=True))

    taking.ask(desk, 4)
    assert taking.await_asked(desk, not_yet) == (1, 0)

    assert len(calls.made) == 2
    assert calls.made[0] is calls.made[1]
    assert waiting(desk) == [(MAIL, b"2-tag")]


def test_the_answer_of_an_incarnation_that_is_over_is_not_taken_for_another(
    desk: Desk, taking: Turns, answers: Answers, closed: list[Link]
) -> None:
    """It may still come: the connection goes."""
    answers(claimed([envelope(1)]))
    taking.ask(desk, 4)
    desk.incarnation.over = True

    with pytest.raises(Superseded):
        taking.await_asked(desk, not_yet)
    assert len(closed) == 1


def test_a_new_incarnation_drops_what_the_one_before_had_asked_for(
    desk: Desk, taking: Turns, answers: Answers, closed: list[Link]
) -> None:
    """Its call goes over a new connection; and it is not told that it is over."""
    calls = answers(claimed([envelope(1)]), claimed([envelope(2)]))
    taking.ask(desk, 4)
    desk.incarnation.over = True
    reborn = Desk(Incarnation(Who("ann", 1, "app", "host", 1, KINDS), number=1, stamp="reborn"))

    assert taking.take(reborn, 4, is_hopeless=not_yet) == (0, 0)

    assert len(closed) == 1
    assert [call.stamp for call in calls.made] == ["joined", "reborn"]
    assert waiting(reborn) == [(MAIL, b"2-tag")]


@pytest.mark.parametrize("why", ["over", "given up"])
def test_nothing_is_asked_for_in_vain(desk: Desk, taking: Turns, answers: Answers, why: str) -> None:
    """What is done stays where it is."""
    lay_down(desk, envelope(1))
    handle(desk)
    calls = answers()
    desk.incarnation.over = why == "over"
    desk.given_up = why == "given up"

    taking.ask(desk, 4)

    assert calls.made == []
    assert len(desk.outcomes) == 1


def test_whoever_comes_late_for_the_incarnation_before_leaves_the_call_of_the_one_after_alone(
    desk: Desk, taking: Turns, answers: Answers, closed: list[Link]
) -> None:
    """The recorder may have looked before it was over, and get the lock after. A call that is dropped would be followed by
    another with its turn and stamp: the server would take that for its repeat, and outcomes for recorded.
    """
    reborn = Desk(Incarnation(Who("ann", 1, "app", "host", 1, KINDS), number=1, stamp="reborn"))
    calls = answers(claimed([envelope(1)], stamp="asked"), claimed())
    desk.incarnation.over = True
    taking.ask(reborn, 4)

    with pytest.raises(Superseded):
        taking.take(desk, 0, give_back=True, is_hopeless=not_yet)

    assert closed == []
    taking.take(reborn, 4, is_hopeless=not_yet)
    assert [(call.turn, call.stamp) for call in calls.made] == [(1, "reborn"), (2, "asked")]


def test_what_is_no_message_is_told_after_the_call_counts(desk: Desk, taking: Turns, answers: Answers) -> None:
    """It was applied: what it recorded is recorded, and what was done since can be."""
    lay_down(desk, envelope(1), envelope(2))
    handle(desk)
    calls = answers(Claimed("foreign", [], {}, hold=False, again=False, foreign="pending:mail"), claimed())
    taking.ask(desk, 4)
    handle(desk)

    with pytest.raises(ForeignData, match="pending:mail"):
        taking.await_asked(desk, not_yet)

    assert taking.take(desk, 0, give_back=True, is_hopeless=not_yet) == (1, 0)
    assert (calls.made[1].turn, calls.made[1].stamp) == (3, "foreign")
    assert calls.made[1].runs == [done(1, b"2-tag")]


def test_after_a_call_that_ended_in_no_known_way_nothing_else_is_sent(
    desk: Desk, taking: Turns, answers: Answers
) -> None:
    """It would have the same turn and stamp, and be taken for its repeat."""
    calls = answers(Defect("what is this?"))

    with pytest.raises(Defect):
        taking.take(desk, 4, is_hopeless=not_yet)
    with pytest.raises(Unavailable):
        taking.take(desk, 4, is_hopeless=not_yet)

    assert len(calls.made) == 1
