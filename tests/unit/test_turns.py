"""runtime/turns.py: how a call is made, repeated, asked for ahead, and given up."""

import threading
from collections.abc import Callable

import pytest

from soloist.errors import Defect, ForeignData, Unavailable
from soloist.runtime import turns
from soloist.runtime.desk import Desk
from soloist.runtime.patience import Outage, Patience
from soloist.runtime.turns import Turns
from soloist.settings import Settings
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.messages import Claimed, Run, TurnCall
from soloist.store.replies import Superseded
from soloist.store.server import Server
from tests.unit.desks import (
    MAIL,
    ORDER,
    claimed,
    collect,
    done,
    envelope,
    handle,
    lay_down,
    new_desk,
    outcomes,
    takes_in_hand,
    waiting,
    wants,
)
from tests.unit.hand_clock import HandClock, put_in_place


@pytest.fixture
def desk() -> Desk:
    """The desk of an instance that has just joined."""
    return new_desk()


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
        if isinstance(answer, NotSent | Broken):
            raise answer

        def receive() -> Claimed:
            if isinstance(answer, Exception):
                raise answer
            return answer

        return receive


class NotSent(Unavailable):
    """Raised when the call is sent, not when its answer is awaited."""


class Broken(Exception):
    """The same, and nobody has foreseen it."""


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
    return Turns(Link(Server("redis://nowhere"), 1), Keys("test"), Settings(), patience)


def not_yet() -> bool:
    return False


def test_a_call_answers_what_it_recorded(desk: Desk, taking: Turns, answers: Answers) -> None:
    """Handled in all, and how many of them failed."""
    lay_down(desk, envelope(1), envelope(2, ORDER), envelope(3))
    for details in (None, b"x", None):
        handle(desk, details)
    answers(claimed([envelope(9)]))

    assert taking.take(desk, wants(1), is_hopeless=not_yet) == (3, 1)
    assert waiting(desk) == [(MAIL, b"9-tag")]


def test_a_call_whose_outcome_is_unknown_is_repeated_unchanged(
    desk: Desk, taking: Turns, answers: Answers, clock: HandClock
) -> None:
    """What was done meanwhile has to wait for the next call; and the waits between attempts grow."""
    lost = Unavailable("no answer")
    lay_down(desk, envelope(1))
    handle(desk)
    calls = answers(lost, lost, lost, claimed(again=True))

    taking.take(desk, wants(4), is_hopeless=not_yet)

    assert len(calls.made) == 4
    assert all(call is calls.made[0] for call in calls.made)
    assert calls.made[0].runs == [done(1, b"1-tag")]
    assert clock.slept == [0.0, 0.02, 0.04]


def test_a_call_is_not_made_for_an_incarnation_that_is_over(desk: Desk, taking: Turns, answers: Answers) -> None:
    """Work remembers the id that claimed it, and is discarded if that id is no longer ours."""
    calls = answers()
    desk.incarnation.over = True

    with pytest.raises(Superseded):
        taking.take(desk, wants(4), is_hopeless=not_yet)
    assert calls.made == []


def test_a_call_is_given_up_when_the_incarnation_ends_meanwhile(desk: Desk, taking: Turns, answers: Answers) -> None:
    """The heart was told that presence is gone while the call was unknown."""

    def ends() -> bool:
        desk.incarnation.over = True
        return False

    calls = answers(Unavailable("no answer"))

    with pytest.raises(Superseded):
        taking.take(desk, wants(4), is_hopeless=ends)
    assert len(calls.made) == 1


def test_a_call_is_given_up_when_there_is_no_more_time(desk: Desk, taking: Turns, answers: Answers) -> None:
    """Stopping has an end, also while the server is away."""
    answers(Unavailable("no answer"))

    with pytest.raises(Unavailable):
        taking.take(desk, wants(4), is_hopeless=lambda: True)


def test_on_hold_nothing_is_claimed_until_nothing_is_held(desk: Desk, taking: Turns, answers: Answers) -> None:
    """A suspect of poison waits to be handled alone."""
    calls = answers(claimed([envelope(1)], hold_ms=60_000), claimed(), claimed())

    taking.take(desk, wants(4), is_hopeless=not_yet)
    taking.take(desk, wants(4), is_hopeless=not_yet)
    desk.trays[MAIL].waiting.clear()
    taking.take(desk, wants(4), is_hopeless=not_yet)

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
    taking.ask(desk, wants(4))
    handle(desk)

    assert (before, taking.is_asked) == (False, True)
    assert [call.runs for call in calls.made] == [[done(1, b"1-tag")]]
    assert waiting(desk) == []
    assert taking.await_asked(desk, not_yet) == (1, 0)
    assert waiting(desk) == [(MAIL, b"3-tag")]
    assert collect(desk, 0).runs == [done(1, b"2-tag")]
    assert taking.await_asked(desk, not_yet) == (0, 0), "it was answered"


def test_whoever_takes_a_turn_meanwhile_awaits_it_first(desk: Desk, taking: Turns, answers: Answers) -> None:
    """The recorder, or who stops: calls go one after another, and what was claimed is given back with the rest."""
    lay_down(desk, envelope(1), envelope(2))
    handle(desk)
    calls = answers(claimed([envelope(3)], stamp="asked"), claimed())

    taking.ask(desk, wants(4))
    recorded = taking.take(desk, wants(0), back=desk.trays.values(), is_hopeless=not_yet)

    assert recorded == (1, 0)
    assert [(call.turn, call.stamp) for call in calls.made] == [(2, "later"), (3, "asked")]
    assert calls.made[1].runs == [Run(0, 2, b"2-tag", is_back=True)]
    assert desk.is_empty


def test_only_one_is_asked_for_at_a_time(desk: Desk, taking: Turns, answers: Answers) -> None:
    """Nothing else may go over the link."""
    calls = answers(claimed())
    taking.ask(desk, wants(4))
    taking.ask(desk, wants(4))

    assert len(calls.made) == 1


@pytest.mark.parametrize("lost", [NotSent("not sent"), Unavailable("no answer")])
def test_one_that_was_asked_for_and_is_unknown_is_repeated_unchanged(
    desk: Desk, taking: Turns, answers: Answers, lost: Exception
) -> None:
    """Whether it could not be sent, or its answer did not come."""
    lay_down(desk, envelope(1))
    handle(desk)
    calls = answers(lost, claimed([envelope(2)], again=True))

    taking.ask(desk, wants(4))
    assert taking.await_asked(desk, not_yet) == (1, 0)

    assert len(calls.made) == 2
    assert calls.made[0] is calls.made[1]
    assert waiting(desk) == [(MAIL, b"2-tag")]


def test_the_answer_of_an_incarnation_that_is_over_is_not_taken_for_another(
    desk: Desk, taking: Turns, answers: Answers, closed: list[Link]
) -> None:
    """It may still come: the connection goes."""
    answers(claimed([envelope(1)]))
    taking.ask(desk, wants(4))
    desk.incarnation.over = True

    with pytest.raises(Superseded):
        taking.await_asked(desk, not_yet)
    assert len(closed) == 1


def test_a_new_incarnation_drops_what_the_one_before_had_asked_for(
    desk: Desk, taking: Turns, answers: Answers, closed: list[Link]
) -> None:
    """Its call goes over a new connection; and it is not told that it is over."""
    calls = answers(claimed([envelope(1)]), claimed([envelope(2)]))
    taking.ask(desk, wants(4))
    desk.incarnation.over = True
    reborn = new_desk("reborn")

    assert taking.take(reborn, wants(4), is_hopeless=not_yet) == (0, 0)

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

    taking.ask(desk, wants(4))

    assert calls.made == []
    assert len(outcomes(desk)) == 1


def test_whoever_comes_late_for_the_incarnation_before_leaves_the_call_of_the_one_after_alone(
    desk: Desk, taking: Turns, answers: Answers, closed: list[Link]
) -> None:
    """The recorder may have looked before it was over, and get the lock after. A call that is dropped would be followed by
    another with its turn and stamp: the server would take that for its repeat, and outcomes for recorded.
    """
    reborn = new_desk("reborn")
    calls = answers(claimed([envelope(1)], stamp="asked"), claimed())
    desk.incarnation.over = True
    taking.ask(reborn, wants(4))

    with pytest.raises(Superseded):
        taking.take(desk, wants(0), back=desk.trays.values(), is_hopeless=not_yet)

    assert closed == []
    taking.take(reborn, wants(4), is_hopeless=not_yet)
    assert [(call.turn, call.stamp) for call in calls.made] == [(1, "reborn"), (2, "asked")]


def test_what_is_no_message_is_told_after_the_call_counts(desk: Desk, taking: Turns, answers: Answers) -> None:
    """It was applied: what it recorded is recorded, and what was done since can be."""
    lay_down(desk, envelope(1), envelope(2))
    handle(desk)
    calls = answers(Claimed("foreign", [], {}, hold_ms=0, again=False, foreign="pending:mail"), claimed())
    taking.ask(desk, wants(4))
    handle(desk)

    with pytest.raises(ForeignData, match="pending:mail"):
        taking.await_asked(desk, not_yet)

    assert taking.take(desk, wants(0), back=desk.trays.values(), is_hopeless=not_yet) == (1, 0)
    assert (calls.made[1].turn, calls.made[1].stamp) == (3, "foreign")
    assert calls.made[1].runs == [done(1, b"2-tag")]


def test_after_a_call_that_ended_in_no_known_way_nothing_else_is_sent(
    desk: Desk, taking: Turns, answers: Answers
) -> None:
    """It would have the same turn and stamp, and be taken for its repeat."""
    calls = answers(Defect("what is this?"))

    with pytest.raises(Defect):
        taking.take(desk, wants(4), is_hopeless=not_yet)
    with pytest.raises(Unavailable):
        taking.take(desk, wants(4), is_hopeless=not_yet)

    assert len(calls.made) == 1


def test_after_one_that_was_asked_for_and_ended_in_no_known_way_nothing_else_is_sent(
    desk: Desk, taking: Turns, answers: Answers
) -> None:
    """What was done is in it, and it may have arrived: whoever comes next must neither repeat its turn nor forget it."""
    lay_down(desk, envelope(1), envelope(2))
    handle(desk)
    calls = answers(Broken("while it was sent"), claimed(), claimed(), claimed())

    with pytest.raises(Broken):
        taking.ask(desk, wants(4))
    handle(desk)
    taking.ask(desk, wants(4))
    with pytest.raises(Unavailable):
        taking.take(desk, wants(0), back=desk.trays.values(), is_hopeless=not_yet)

    assert desk.given_up
    assert not taking.is_asked
    assert len(calls.made) == 1


def test_a_message_is_not_written_off_while_a_call_is_under_way(desk: Desk, taking: Turns) -> None:
    """The heart asks, and must beat: it asks again then."""
    lay_down(desk, envelope(1))
    takes_in_hand(desk)
    answers = list[bool]()

    def write_off() -> None:
        answers.append(taking.write_off(desk, MAIL, 0.0, lambda _: b"too late", lambda: None))

    asking = threading.Thread(target=write_off)
    with taking._lock:
        asking.start()
        asking.join(30)
        while_it_is = answers.copy()
    write_off()

    assert (while_it_is, answers) == ([False], [False, True])
