"""next.lua: turn and stamp. A call is applied once, and what does not fit changes nothing."""

from dataclasses import replace

import pytest

from tests.servers import Store
from tests.store.acting import DEPARTURES, Departure, Instance, Joins, dies, ids
from tests.store.state import nothing_changes, refused, silence


@pytest.fixture
def handler(generator: Instance, joined: Joins) -> Instance:
    """A handler that holds three of ten messages."""
    generator.publish(10)
    instance = joined()
    instance.next(want=3)
    assert len(instance.claimed) == 3
    return instance


# The repeat after a lost answer.


def test_a_repeated_call_is_answered_with_everything_held(
    store: Store, handler: Instance, said: dict[str, list[str]]
) -> None:
    """It was applied: the caller learns all that it holds, not only what is new, and the stamp for its next call."""
    held = handler.claimed
    call = handler.turn_call(want=2, completed=[held[1].encode()])
    first = handler.send_turn(call)
    silence(store)

    with nothing_changes(store):
        again = handler.send_turn(call)
        assert handler.send_turn(call) == again

    assert said["next"][-3:] == ["OK", "AGAIN", "AGAIN"]
    assert (again.again, again.hold_ms, again.stamp) == (True, 0, first.stamp)
    assert again.envelopes == handler.envelopes, "in the order of claiming: by it the next call names them"
    assert handler.claimed == [held[0], held[2], *(each.decode() for each in ids(first))]


def test_the_repeat_tells_the_attempts_of_everything_held(store: Store, generator: Instance, joined: Joins) -> None:
    """message.attempt must be right after a lost answer, too."""
    generator.publish(3)
    victim = joined()
    victim.next(want=1)
    dies(victim, generator)
    call = generator.turn_call(want=3)
    generator.send_turn(call)

    assert generator.send_turn(call).attempts == {b"1-tag": (1, 0)}


def test_after_a_repeat_the_next_turn_fits(store: Store, handler: Instance) -> None:
    """Its stamp is that of the answer, however often the answer was asked for."""
    call = handler.turn_call(want=1)
    handler.send_turn(call)
    handler.send_turn(call)

    assert handler.next(want=1).again is False


# What does not fit.


@pytest.mark.parametrize("off", [-2, -1, 1, 2])
def test_a_wrong_turn_is_refused(store: Store, handler: Instance, off: int) -> None:
    """Turns are taken one after another."""
    handler.next()
    call = handler.turn_call(want=1, completed=[min(handler.claimed).encode()])

    with refused(store, "next"):
        handler.send_turn(replace(call, turn=call.turn + off))


@pytest.mark.parametrize("stamp", ["", "1", "1794813761850440"])
def test_a_wrong_stamp_is_refused(store: Store, handler: Instance, stamp: str) -> None:
    """Turn alone is not enough: after a roll-back of Redis plus a late copy a message stayed claimed for ever."""
    call = handler.turn_call(want=1, completed=[min(handler.claimed).encode()])

    with refused(store, "next"):
        handler.send_turn(replace(call, stamp=stamp))


def test_the_stamp_of_the_call_before_is_refused(store: Store, handler: Instance) -> None:
    """It fits the repeat of that call, but not a new one."""
    stamp = handler.stamp
    handler.next()

    with refused(store, "next"):
        handler.send_turn(replace(handler.turn_call(want=1), stamp=stamp))


def test_the_turn_of_the_last_call_with_another_stamp_is_refused(store: Store, handler: Instance) -> None:
    """Not the call that was applied, but one of another history: it must not be told that it was."""
    handler.next()

    with refused(store, "next"):
        handler.send_turn(replace(handler.turn_call(want=1), turn=handler.turn))


def test_the_first_call_needs_the_stamp_of_join(store: Store, generator: Instance, joined: Joins) -> None:
    """A copy of turn 1 of nobody does not fit."""
    generator.publish()
    instance = joined()

    with refused(store, "next"):
        instance.send_turn(replace(instance.turn_call(want=1), stamp=""))
    assert len(instance.next(want=1).envelopes) == 1


@pytest.mark.parametrize("what", ["completed", "failed", "back"])
@pytest.mark.parametrize("instead", [False, True])
def test_an_id_that_is_not_claimed_is_refused(store: Store, handler: Instance, what: str, instead: bool) -> None:
    """Who lost its claim cannot complete, fail or give back; nor what it named beside it, or another in its place."""
    held = [each.encode() for each in handler.claimed]
    done = {"completed": held[:1], "failed": held[1:2], "back": held[2:]}
    if instead:
        done[what] = [b"99-tag"]
    else:
        done[what].append(b"99-tag")

    with refused(store, "next"):
        handler.next(want=1, completed=done["completed"], failed=done["failed"], back=done["back"])


def test_a_message_of_another_cannot_be_completed(store: Store, handler: Instance, joined: Joins) -> None:
    """Claims are of one instance."""
    other = joined()

    with refused(store, "next"):
        other.next(completed=[min(handler.claimed).encode()])
    other.next(want=1)
    with refused(store, "next"):
        other.next(completed=[min(handler.claimed).encode()])


def test_one_unclaimed_id_among_thousands_is_found(store: Store, generator: Instance) -> None:
    """Behind them, or in the place of the last."""
    generator.publish(2_500)
    held = ids(generator.next(want=2_500))

    with refused(store, "next"):
        generator.next(completed=[*held, b"99999-tag"])
    with refused(store, "next"):
        generator.next(completed=[*held[:-1], b"99999-tag"])


def test_a_completed_message_cannot_be_completed_again(store: Store, handler: Instance) -> None:
    """One completion."""
    message = min(handler.claimed).encode()
    handler.next(completed=[message])

    with refused(store, "next"):
        handler.next(completed=[message])


def test_presence_without_a_record_is_superseded(store: Store, handler: Instance) -> None:
    """A missing hash is never turn 0."""
    kept = handler.fields
    store.link.command("DEL", store.keys.instance(handler.id))

    with refused(store, "next"):
        handler.next(want=1)
    with refused(store, "next"):
        handler.send_turn(replace(handler.turn_call(want=1), turn=1, stamp=""))

    store.link.command("HSET", store.keys.instance(handler.id), *(part for pair in kept.items() for part in pair))


def test_a_record_without_presence_is_superseded(store: Store, generator: Instance, joined: Joins) -> None:
    """Presence is membership among the instances, whatever else is there: neither a repeat nor a new call is accepted."""
    instance = joined()
    call = instance.turn_call(want=1)
    instance.send_turn(call)
    generator.publish()
    store.link.command("ZREM", store.keys.instances, instance.id)

    for late in (call, instance.turn_call(want=1)):
        with refused(store, "next"):
            instance.send_turn(late)

    store.link.command("DEL", store.keys.instance(instance.id))


def test_one_that_never_joined_is_refused(store: Store, generator: Instance) -> None:
    """No presence, no claim."""
    generator.publish()

    with refused(store, "next"):
        Instance(store).next(want=1)


# Late copies.


def test_a_late_copy_of_an_older_call_changes_nothing(store: Store, handler: Instance) -> None:
    """Arriving after newer calls it neither completes nor claims."""
    first = handler.turn_call(want=1, completed=[min(handler.claimed).encode()])
    handler.send_turn(first)
    handler.next(want=1)
    handler.next()

    with refused(store, "next"):
        handler.send_turn(first)


@pytest.mark.parametrize("departs", DEPARTURES)
def test_late_copies_of_one_that_is_gone_change_nothing(
    store: Store, handler: Instance, joined: Joins, departs: Departure
) -> None:
    """After leave, reclaim or rebirth neither its last call nor a next one claims: it would rest with nobody for ever."""
    old = handler.turn_call(want=1)
    handler.send_turn(old)
    new = handler.turn_call(want=1, completed=[min(handler.claimed).encode()])
    departs(handler, joined())

    for call in (old, new):
        with refused(store, "next"):
            handler.send_turn(call)


def test_who_lost_its_messages_cannot_complete_them_elsewhere(store: Store, handler: Instance, joined: Joins) -> None:
    """Frozen past its lease, reclaimed, resumed: what it held is in other hands, and its result is discarded."""
    message = min(handler.claimed).encode()
    late = handler.turn_call(completed=[message])
    other = joined()
    dies(handler, other)
    assert message in ids(other.next(want=1))

    with refused(store, "next"):
        handler.send_turn(late)

    assert message.decode() in other.claimed
