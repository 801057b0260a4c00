"""next.lua: suspects of poison are handled alone, so that a death is their own."""

import pytest

from tests.servers import Store
from tests.store.acting import Instance, Joins, claimed_numbers, dies, ids
from tests.store.state import attempts_of, now_ms, numbers, pause, suspect_for, tokens, waiting

WAITS_MS = 10_000


@pytest.fixture
def suspects(store: Store, generator: Instance, joined: Joins) -> list[str]:
    """Two suspects and four pending messages, 1 to 6; the generator and one more instance are there."""
    generator.publish(2)
    for _ in range(store.settings.max_attempts - 1):
        victim = joined()
        victim.next(want=1)
        victim.next(want=1)
        assert len(victim.claimed) == 2
        dies(victim, generator)
    generator.publish(4)
    assert numbers(waiting(store, "suspect")) == [1, 2]
    return waiting(store, "suspect")


def test_a_suspect_is_not_claimed_while_others_wait(store: Store, generator: Instance, suspects: list[str]) -> None:
    """Its neighbours are innocent: it comes last."""
    assert claimed_numbers(generator.next(want=10)) == [3, 4, 5, 6]
    assert numbers(waiting(store, "suspect")) == [1, 2]


def test_a_suspect_is_claimed_alone_when_nothing_else_is_there(
    store: Store, generator: Instance, suspects: list[str]
) -> None:
    """By one that holds nothing; one at a time, however many are wanted. Its deaths are told with it."""
    held = ids(generator.next(want=10))

    claimed = generator.next(want=10, completed=held)

    assert claimed_numbers(claimed) == [1]
    assert claimed.attempts == {b"1-tag": (store.settings.max_attempts - 1, 0)}
    assert numbers(waiting(store, "suspect")) == [2]


def test_who_still_holds_something_gets_no_suspect(store: Store, generator: Instance, suspects: list[str]) -> None:
    """It would not be alone."""
    held = ids(generator.next(want=10))

    assert generator.next(want=10, completed=held[1:]).envelopes == []


def test_while_a_suspect_is_held_nothing_else_is_claimed(
    store: Store, generator: Instance, suspects: list[str]
) -> None:
    """Neither a message that comes meanwhile, nor another suspect: it is told to hold. Afterwards it goes on."""
    held = ids(generator.next(want=10))
    (suspect,) = ids(generator.next(want=10, completed=held))
    generator.publish(2)

    barred = generator.next(want=10)

    assert (barred.hold_ms, barred.envelopes) == (WAITS_MS, [])
    after = generator.next(want=10, completed=[suspect])
    assert (after.hold_ms, claimed_numbers(after)) == (0, [7, 8])


def test_a_repeat_tells_of_the_suspect_held(store: Store, generator: Instance, suspects: list[str]) -> None:
    """The answer that gave it was lost: it is still alone with it."""
    held = ids(generator.next(want=10))
    call = generator.turn_call(want=10, completed=held)
    generator.send_turn(call)

    assert claimed_numbers(generator.send_turn(call)) == [1]
    assert generator.next(want=10).envelopes == []


def test_a_suspect_that_has_waited_for_long_goes_first(store: Store, generator: Instance, suspects: list[str]) -> None:
    """After 10 s, to one that holds nothing: it must not starve under a steady load."""
    suspect_for(store, suspects[0], WAITS_MS)

    assert claimed_numbers(generator.next(want=10)) == [1]
    assert len(waiting(store, "pending")) == 4


def test_a_suspect_does_not_go_first_before_its_time(store: Store, generator: Instance, suspects: list[str]) -> None:
    """Less than 10 s: the others come first."""
    suspect_for(store, suspects[0], WAITS_MS - 5_000)

    assert claimed_numbers(generator.next(want=1)) == [3]


def test_one_caller_is_asked_to_make_room(
    store: Store, generator: Instance, joined: Joins, suspects: list[str]
) -> None:
    """To claim no more until nothing is held, for half as long as the suspect has waited. The others go on, for thrice that."""
    other = joined()
    held = ids(generator.next(want=1))
    other.next(want=1)
    before = now_ms(store)
    suspect_for(store, suspects[0], WAITS_MS)

    asked = generator.next(want=10)

    assert asked.envelopes == []
    assert WAITS_MS // 2 <= asked.hold_ms <= (WAITS_MS + now_ms(store) - before + 1) // 2
    _, _, _, hold = attempts_of(store, suspects[0]) or (0, 0, 0, 0)
    assert before + 3 * asked.hold_ms <= hold <= now_ms(store) + 3 * asked.hold_ms
    not_asked = other.next(want=1)
    assert (not_asked.hold_ms, claimed_numbers(not_asked)) == (0, [5])
    assert claimed_numbers(generator.next(want=10, completed=held)) == [1]


def test_nobody_is_asked_for_more_than_half_a_minute(store: Store, generator: Instance, suspects: list[str]) -> None:
    """However long the suspect has waited, or the clock went forward: other kinds wait meanwhile."""
    generator.next(want=1)
    suspect_for(store, suspects[0], 3_600_000)

    assert generator.next(want=1).hold_ms == 30_000


def test_another_is_asked_when_the_first_does_not_make_room(
    store: Store, generator: Instance, suspects: list[str]
) -> None:
    """Its answer may be lost, or its message long: after a while the next caller is asked."""
    generator.next(want=1)
    suspect_for(store, suspects[0], WAITS_MS, hold=now_ms(store) + 60_000)
    assert generator.next(want=1).hold_ms == 0

    suspect_for(store, suspects[0], WAITS_MS, hold=now_ms(store) - 1)

    assert generator.next(want=1).hold_ms > 0


def test_the_repeat_of_a_call_that_was_asked_to_hold_claims_nothing(
    store: Store, generator: Instance, suspects: list[str]
) -> None:
    """The hold may be lost with its answer; nothing else is."""
    generator.next(want=1)
    suspect_for(store, suspects[0], WAITS_MS)
    call = generator.turn_call(want=10)
    assert generator.send_turn(call).hold_ms > 0

    assert claimed_numbers(generator.send_turn(call)) == [3]


def test_who_wants_nothing_is_neither_given_a_suspect_nor_asked(
    store: Store, generator: Instance, suspects: list[str]
) -> None:
    """A call that only completes."""
    suspect_for(store, suspects[0], WAITS_MS)

    claimed = generator.next(want=0)

    assert (claimed.hold_ms, claimed.envelopes) == (0, [])


def test_suspects_of_a_paused_kind_stay(store: Store, generator: Instance, suspects: list[str]) -> None:
    """Whether they have waited for long or not."""
    suspect_for(store, suspects[0], WAITS_MS)
    pause(store)

    claimed = generator.next(want=10)

    assert (claimed.hold_ms, claimed.envelopes) == (0, [])
    assert numbers(waiting(store, "suspect")) == [1, 2]


def test_suspects_are_work_for_which_beats_ring(
    store: Store, generator: Instance, joined: Joins, suspects: list[str]
) -> None:
    """A next that leaves nothing but suspects does not: who may not have them now would ring for itself again and again."""
    generator.next(want=10)
    joined().next(want=10)
    store.link.command("DEL", store.keys.bell("default"))

    generator.next(want=1)
    after_next = tokens(store)
    generator.beat()

    assert (after_next, tokens(store)) == (0, 1)


def test_a_suspect_that_is_completed_is_forgotten(store: Store, generator: Instance, suspects: list[str]) -> None:
    """It was innocent after all."""
    held = ids(generator.next(want=10))
    (suspect,) = ids(generator.next(want=10, completed=held))
    generator.next(completed=[suspect])

    assert attempts_of(store, suspect.decode()) is None
