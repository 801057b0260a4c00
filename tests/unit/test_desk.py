"""runtime/desk.py: what one incarnation holds between its numbered calls."""

import random
import time
from typing import Any

import pytest

from soloist.runtime.desk import Desk, Tray
from soloist.store.envelope import id_of
from soloist.store.messages import FailedMessage, Run, Tally, TurnCall
from tests.unit.desks import (
    KINDS,
    MAIL,
    ORDER,
    back,
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


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> HandClock:
    return put_in_place(monkeypatch, "soloist.runtime.desk")


# Numbers and stamps.


def test_the_first_call_is_turn_one_with_the_stamp_of_joining(desk: Desk) -> None:
    """A call is tied to the answer before it."""
    call = collect(desk, 5)

    assert (call.turn, call.stamp) == (1, "joined")


def test_the_next_call_has_the_next_turn_and_the_stamp_of_the_answer(desk: Desk) -> None:
    """One after another."""
    desk.accept(collect(desk, 5), claimed(stamp="first"))
    call = collect(desk, 5)

    assert (call.turn, call.stamp) == (2, "first")


def test_a_call_that_was_not_accepted_uses_no_turn(desk: Desk) -> None:
    """Only what is known to be applied counts."""
    collect(desk, 5)

    assert collect(desk, 5).turn == 1


# Collecting.


def test_what_is_wanted_is_wanted_of_every_kind(desk: Desk) -> None:
    """Also of those of which nothing was done."""
    call = collect(desk, 7)

    assert call.kinds == {MAIL: Tally(7), ORDER: Tally(7)}


def test_outcomes_are_one_run_at_the_head_counted_by_kind(desk: Desk) -> None:
    """Completed and failed, the failed by their places and with their details; then nothing is left to record."""
    lay_down(desk, envelope(1), envelope(2, ORDER), envelope(3), envelope(4), envelope(5))
    for details in (None, b"details", None, b"others"):
        handle(desk, details)

    call = collect(desk, 0)

    failures = [FailedMessage(1, b"2-tag", b"details"), FailedMessage(3, b"4-tag", b"others")]
    assert call.runs == [done(4, b"1-tag", *failures)]
    assert call.kinds == {MAIL: Tally(0, completed=2, failed=1), ORDER: Tally(0, completed=0, failed=1)}
    assert not outcomes(desk)


def test_details_may_be_empty(desk: Desk) -> None:
    """Failed is what has details, not what has many."""
    lay_down(desk, envelope(1))
    handle(desk, b"")

    assert collect(desk, 0).kinds[MAIL] == Tally(0, completed=0, failed=1)


def test_what_is_done_out_of_order_is_named_where_it_stands(desk: Desk) -> None:
    """Many at a time: neighbours make one run, and what stays between them stays."""
    lay_down(desk, *(envelope(number) for number in range(1, 8)))
    tray = desk.trays[MAIL]
    by_number = dict(enumerate(tray.waiting, 1))
    tray.waiting.clear()
    for number, details in ((6, None), (2, None), (3, b"why")):
        tray.outcomes.append((by_number[number], details))

    call = collect(desk, 0)

    assert call.runs == [Run(1, 2, b"2-tag", [FailedMessage(2, b"3-tag", b"why")]), Run(5, 1, b"6-tag", [])]
    assert call.kinds[MAIL] == Tally(0, completed=2, failed=1)
    desk.accept(call, claimed())
    assert [id_of(each) for each in desk._held] == [b"1-tag", b"4-tag", b"5-tag", b"7-tag"]


def test_of_some_trays_what_waits_is_given_back(desk: Desk) -> None:
    """Of one kind, whose handler is held up; the others go on."""
    lay_down(desk, envelope(1), envelope(2, ORDER), envelope(3))

    call = desk.collect({}, [desk.trays[MAIL]])

    assert call.runs == [back(0, 1, b"1-tag"), back(2, 1, b"3-tag")]
    assert list(call.kinds) == [MAIL]
    assert waiting(desk) == [(ORDER, b"2-tag")]


def test_what_waits_is_given_back_as_one_run_at_the_end(desk: Desk) -> None:
    """Named by its oldest: in the order in which it was claimed it stands at the heads of its lists as before."""
    lay_down(desk, envelope(1), envelope(2, ORDER), envelope(3))
    lay_down(desk, envelope(4, ORDER), envelope(5))
    handle(desk)

    call = collect(desk, 0, give_back=True)

    assert call.runs == [done(1, b"1-tag"), back(1, 4, b"2-tag")]
    assert call.kinds == {MAIL: Tally(0, completed=1), ORDER: Tally(0)}
    assert not waiting(desk)


def test_nothing_is_given_back_unless_that_is_asked_for(desk: Desk) -> None:
    """It waits on."""
    lay_down(desk, envelope(1), envelope(2))

    call = collect(desk, 0)

    assert call.runs == []
    assert waiting(desk) == [(MAIL, b"1-tag"), (MAIL, b"2-tag")]


def test_where_nothing_waits_nothing_is_given_back(desk: Desk) -> None:
    """A run of nothing would be refused."""
    lay_down(desk, envelope(1))
    takes_in_hand(desk)

    assert collect(desk, 0, give_back=True).runs == []


def test_the_message_in_hand_is_not_given_back(desk: Desk) -> None:
    """Its handler is at work: it stands between what is done and what waits."""
    lay_down(desk, envelope(1), envelope(2), envelope(3))
    handle(desk)
    takes_in_hand(desk)

    assert collect(desk, 0, give_back=True).runs == [done(1, b"1-tag"), back(2, 1, b"3-tag")]
    assert desk.trays[MAIL].in_hand == envelope(2)


def test_places_are_those_after_the_last_answer(desk: Desk) -> None:
    """What was recorded and what was given back is gone from the list, what was claimed stands at its end."""
    lay_down(desk, envelope(1), envelope(2), envelope(3), envelope(4))
    handle(desk)
    takes_in_hand(desk)
    desk.accept(collect(desk, 2, give_back=True), claimed([envelope(8), envelope(9)]))
    desk.trays[MAIL].in_hand = None
    desk.trays[MAIL].outcomes.append((envelope(2), b"why"))

    call = collect(desk, 0, give_back=True)

    assert call.runs == [
        done(1, b"2-tag", FailedMessage(0, b"2-tag", b"why")),
        back(1, 2, b"8-tag"),
    ]


def test_what_is_done_while_a_call_is_on_its_way_keeps_its_place(desk: Desk) -> None:
    """The handler goes on beside the recorder: the answer counts only what the call named."""
    lay_down(desk, envelope(1), envelope(2), envelope(3))
    handle(desk)
    call = collect(desk, 0)
    handle(desk)
    desk.accept(call, claimed([envelope(4)]))

    assert collect(desk, 0, give_back=True).runs == [done(1, b"2-tag"), back(1, 2, b"3-tag")]


@pytest.mark.parametrize("seed", range(40))
def test_the_server_finds_at_every_place_what_the_desk_means(desk: Desk, seed: int) -> None:
    """A list is kept as the script keeps it, and answers are lost: whatever is done in between, each run fits."""
    chance, number, server = random.Random(seed), 0, list[bytes]()
    for _ in range(60):
        for _ in range(chance.randrange(4)):
            tray = desk.trays[chance.choice(KINDS)]
            if tray.in_hand is not None and chance.random() < 0.5:
                tray.outcomes.append((tray.in_hand, chance.choice((None, b"why"))))
                tray.in_hand = None
            elif tray.in_hands and chance.random() < 0.5:
                each, _ = tray.in_hands.popitem()
                tray.outcomes.append((each, chance.choice((None, b"why"))))
            elif tray.waiting and tray.in_hand is None:
                tray.in_hand = tray.waiting.popleft()
            elif tray.waiting:
                tray.in_hands[tray.waiting.popleft()] = 0.0
        call = desk.collect(wants(3), [each for each in desk.trays.values() if chance.random() < 0.2])
        gone: set[int] = set()
        for run in call.runs:
            places = range(run.place, run.place + run.length)
            assert id_of(server[places[0]]) == run.id
            assert all(id_of(server[failure.place]) == failure.id for failure in run.specials)
            assert places[-1] < len(server)
            assert not gone.intersection(places)
            gone.update(places)
        server = [each for place, each in enumerate(server) if place not in gone]
        new = [envelope(number + more, chance.choice(KINDS)) for more in range(1, chance.choice((1, 1, 3, 4)))]
        number, server = number + len(new), server + new
        again = chance.random() < 0.3
        desk.accept(call, claimed(server if again else new, again=again))

    assert sorted(each for tray in desk.trays.values() for each in tray.held) == sorted(server)
    assert desk._held == server


def test_attempts_of_what_is_given_back_are_forgotten(desk: Desk) -> None:
    """They come again with the message; the others stay."""
    desk.accept(
        collect(desk, 10),
        claimed([envelope(1), envelope(2)], attempts={b"1-tag": (1, 0), b"2-tag": (2, 1)}),
    )
    desk.trays[MAIL].waiting.popleft()

    collect(desk, 0, give_back=True)

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
    assert outcomes(desk) == [(envelope(1), None)]
    assert desk.trays[MAIL].in_hand == envelope(2)
    assert collect(desk, 0, give_back=True).runs == [done(1, b"1-tag"), back(2, 2, b"3-tag")]


class FinishingTray(Tray):
    """Its handler is done with what is in hand at the very moment in which the recorder looks at it."""

    def __getattribute__(self, name: str) -> Any:
        seen = super().__getattribute__(name)
        if name == "in_hand" and seen is not None:
            self.outcomes.append((seen, None))
            self.in_hand = None
        return seen


def test_what_is_finished_while_a_replayed_answer_is_read_is_not_missed(desk: Desk) -> None:
    """The handler takes no lock: what is in hand is read once, and found among what is done if it is there no more."""
    desk.trays[MAIL] = tray = FinishingTray(MAIL)
    lay_down(desk, envelope(1), envelope(2))
    tray.in_hand = envelope(1)
    tray.waiting.popleft()

    desk.accept(
        TurnCall(2, "later", {MAIL: Tally(9), ORDER: Tally(9)}), claimed([envelope(1), envelope(2)], again=True)
    )

    assert waiting(desk) == [(MAIL, b"2-tag")]
    assert outcomes(desk) == [(envelope(1), None)]


def test_a_replayed_answer_brings_what_the_lost_one_had_claimed(desk: Desk) -> None:
    """The claim was applied, its answer lost: nothing may rest under a beating heart."""
    call = collect(desk, 10)

    desk.accept(call, claimed([envelope(1), envelope(2, ORDER)], again=True))

    assert waiting(desk) == [(MAIL, b"1-tag"), (ORDER, b"2-tag")]


def test_a_replayed_answer_brings_again_what_the_lost_one_gave_back_and_claimed(desk: Desk) -> None:
    """The same call did both: it stands at the end of the list now, and at the end of what waits."""
    lay_down(desk, envelope(1), envelope(2), envelope(3))
    handle(desk)
    takes_in_hand(desk)
    call = collect(desk, 9, give_back=True)

    desk.accept(call, claimed([envelope(2), envelope(3), envelope(4)], again=True))

    assert waiting(desk) == [(MAIL, b"3-tag"), (MAIL, b"4-tag")]
    assert collect(desk, 0, give_back=True).runs == [back(1, 2, b"3-tag")]


def test_of_one_kind_everything_claimed_is_of_that_kind(desk: Desk) -> None:
    """What the call asked for; nothing is read out of the envelopes."""
    desk.accept(desk.collect({ORDER: 5}), claimed([envelope(1, ORDER), envelope(2, ORDER)]))

    assert waiting(desk) == [(ORDER, b"1-tag"), (ORDER, b"2-tag")]


def test_attempts_come_with_the_answer(desk: Desk) -> None:
    """Deaths and retries of those that have any."""
    desk.accept(collect(desk, 10), claimed([envelope(1)], attempts={b"1-tag": (1, 0)}))

    assert desk.attempts == {b"1-tag": (1, 0)}


@pytest.fixture
def on_hold(desk: Desk) -> Desk:
    """An order waits; then the lane of mail was told to hold for an hour."""
    desk.accept(desk.collect({ORDER: 1}), claimed([envelope(1, ORDER)]))
    desk.accept(desk.collect({MAIL: 5}), claimed(hold_ms=3_600_000))
    return desk


def wanted(desk: Desk, kind: str) -> int:
    """How many a call for five of a kind really wants."""
    return desk.collect({kind: 5}).kinds[kind].want


def test_on_hold_nothing_is_claimed_while_anything_is_held(on_hold: Desk) -> None:
    """Of no kind: a suspect is to be handled alone."""
    assert (wanted(on_hold, MAIL), wanted(on_hold, ORDER)) == (0, 0)
    takes_in_hand(on_hold)
    assert (wanted(on_hold, MAIL), wanted(on_hold, ORDER)) == (0, 0)


def test_who_was_told_to_hold_claims_first_when_nothing_is_held(on_hold: Desk) -> None:
    """In the call that lays down the last of it. If another kind came first, the suspect would never be alone."""
    handle(on_hold)

    assert not on_hold.may_claim(ORDER)
    call = on_hold.collect({MAIL: 5})
    assert (call.kinds[MAIL].want, call.runs) == (5, [done(1, b"1-tag")])


def test_a_hold_is_over_when_who_was_told_so_has_claimed(on_hold: Desk) -> None:
    """Whatever it got: another instance may have been quicker. What only records leaves the hold as it is."""
    handle(on_hold)
    on_hold.accept(on_hold.collect({ORDER: 5}), claimed())
    assert not on_hold.may_claim(ORDER)

    on_hold.accept(on_hold.collect({MAIL: 5}), claimed())

    assert on_hold.may_claim(ORDER)


def test_a_hold_has_an_end_though_something_is_still_held(desk: Desk, clock: HandClock) -> None:
    """What is in hand may take an hour: the others go on meanwhile."""
    desk.accept(desk.collect({ORDER: 1}), claimed([envelope(1, ORDER)]))
    desk.accept(desk.collect({MAIL: 5}), claimed(hold_ms=5_000))
    clock.pass_by(4.9)
    before = (wanted(desk, MAIL), wanted(desk, ORDER))

    clock.pass_by(0.2)

    assert (before, wanted(desk, MAIL), wanted(desk, ORDER)) == ((0, 0), 5, 5)


@pytest.mark.parametrize("held", ["waiting", "in hand", "in hands", "unrecorded", "nothing"])
def test_a_desk_is_empty_when_nothing_waits_is_in_hand_or_unrecorded(desk: Desk, held: str) -> None:
    """Each of them alone makes it hold something."""
    tray = desk.trays[ORDER]
    if held == "waiting":
        tray.waiting.append(envelope(1))
    elif held == "in hand":
        tray.in_hand = envelope(1)
    elif held == "in hands":
        tray.in_hands[envelope(1)] = 0.0
    elif held == "unrecorded":
        tray.outcomes.append((envelope(1), None))

    assert desk.is_empty == (held == "nothing")


# Writing off.


def overdue(desk: Desk, seconds: float = 10.0) -> None:
    """What is in hand has been there for so long."""
    desk.trays[MAIL].begun_at = time.monotonic() - seconds


def test_what_a_thread_does_not_come_back_from_fails(desk: Desk) -> None:
    """What was done before it is recorded, what waits is still there, and what the thread may do later is not seen."""
    lay_down(desk, envelope(1), envelope(2), envelope(3))
    handle(desk)
    takes_in_hand(desk)
    overdue(desk)
    old = desk.trays[MAIL]

    assert desk.write_off(MAIL, 5, lambda _: b"too late")
    old.outcomes.append((envelope(2), None))

    assert outcomes(desk) == [(envelope(1), None), (envelope(2), b"too late")]
    assert waiting(desk) == [(MAIL, b"3-tag")]


@pytest.mark.parametrize("what", ["done", "another"])
def test_a_thread_that_came_back_meanwhile_is_not_written_off(desk: Desk, what: str) -> None:
    """It is done with the message, or has begun another."""
    lay_down(desk, envelope(1), envelope(2))
    if what == "done":
        handle(desk)
        overdue(desk)
    else:
        takes_in_hand(desk)
        overdue(desk, 1)
    tray = desk.trays[MAIL]

    assert not desk.write_off(MAIL, 5, lambda _: b"too late")
    assert desk.trays[MAIL] is tray
