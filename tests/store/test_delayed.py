"""next.lua delays what is retried, beat.lua moves what is due: never early, by the server's clock."""

from dataclasses import replace

import pytest

from soloist.store.messages import Full, RetriedMessage, Run, Tally, TurnCall
from tests.servers import Store
from tests.store.acting import DEPARTURES, Departure, Instance, Joins, claimed_numbers, dies, ids
from tests.store.committing import followup
from tests.store.state import (
    attempts_of,
    check_equation,
    nothing_changes,
    now_ms,
    numbers,
    pause,
    refused,
    silence,
    tokens,
    total,
    waiting,
)
from tests.turns import Done

SOON, LATER = 1_000, 3_600_000


def retries(instance: Instance, after_ms: int = SOON, many: int = 1) -> list[bytes]:
    """Claims so many, and has them retried."""
    held = ids(instance.next(want=many))
    instance.next_of({"default": Done(retried=[(each, after_ms) for each in held])})
    return held


def delayed(store: Store, kind: str = "default") -> dict[str, int]:
    """Message id to the moment when it is due."""
    flat = store.link.command("ZRANGE", f"{store.keys.base}delayed:{kind}", 0, -1, "WITHSCORES")
    return {one.split()[0].decode(): int(due) for one, due in zip(flat[::2], flat[1::2], strict=True)}


def time_passes(store: Store, ms: int, kind: str = "default") -> None:
    """What is delayed is due so much earlier: the same as if so much time had passed."""
    key = f"{store.keys.base}delayed:{kind}"
    for envelope in store.link.command("ZRANGE", key, 0, -1):
        store.link.command("ZINCRBY", key, -ms, envelope)


# Retrying.


def test_what_is_retried_waits_until_it_is_due(store: Store, generator: Instance) -> None:
    """It is pending, neither completed nor failed; one retry is counted, and nothing rests in the error store."""
    generator.publish(1)
    before = now_ms(store)
    (ident,) = retries(generator, LATER)

    assert before + LATER <= delayed(store)[ident.decode()] <= now_ms(store) + LATER
    assert attempts_of(store, ident.decode()) == (0, 1, 0, 0)
    assert (total(store, "retried"), total(store, "retried:default"), generator.fields["retried"]) == (1, 1, "1")
    seen = check_equation(store)
    assert (seen.kinds[0].waiting, seen.errors, generator.claimed) == (1, 0, [])
    assert generator.next(want=1).envelopes == []


def test_it_comes_back_with_one_attempt_more(store: Store, generator: Instance) -> None:
    """As often as it is retried; a completion forgets it all."""
    generator.publish(1)
    for attempt in range(1, 4):
        (ident,) = retries(generator, 0)
        generator.beat()
        claimed = generator.next(want=1)
        assert claimed.attempts == {ident: (0, attempt)}
        generator.next(back=[ident])

    generator.next(completed=ids(generator.next(want=1)))

    assert attempts_of(store, ident.decode()) is None
    assert (total(store, "retried"), total(store, "completed")) == (3, 1)


def test_deaths_are_kept_and_go_on(store: Store, generator: Instance, joined: Joins) -> None:
    """A retry is no death, and does not make up for one."""
    generator.publish(1)
    victim = joined()
    victim.next(want=1)
    dies(victim, generator)
    (ident,) = retries(generator, 0)

    assert attempts_of(store, ident.decode()) == (1, 1, 0, 0)


def test_retried_ones_leave_their_neighbours_alone(store: Store, generator: Instance) -> None:
    """One call, every fate."""
    generator.publish(6)
    one, two, three, four, five, six = ids(generator.next(want=6))

    generator.next_of(
        {"default": Done(completed=[one, three], failed=[(five, b"{}")], back=[six], retried=[(two, SOON), (four, 0)])}
    )

    assert [*delayed(store)] == [four.decode(), two.decode()]
    assert [total(store, name) for name in ("completed", "failed", "retried")] == [2, 1, 2]
    assert numbers(waiting(store, "pending")) == [6]


def test_a_repeated_call_retries_once(store: Store, generator: Instance) -> None:
    """AGAIN changes nothing."""
    generator.publish(1)
    (ident,) = ids(generator.next(want=1))
    call = generator.turn_call_of({"default": Done(retried=[(ident, SOON)])})
    generator.send_turn(call)

    with nothing_changes(store):
        assert generator.send_turn(call).again


@pytest.mark.parametrize("departs", DEPARTURES)
def test_who_lost_its_claim_cannot_retry(store: Store, generator: Instance, joined: Joins, departs: Departure) -> None:
    """The same fencing as for completing."""
    generator.publish(1)
    handler = joined()
    (ident,) = ids(handler.next(want=1))
    call = handler.turn_call_of({"default": Done(retried=[(ident, SOON)])})
    departs(handler, generator)

    with refused(store, "next"):
        handler.send_turn(call)


@pytest.mark.parametrize("tally", [Tally(0, 1), Tally(0, 0, 1), Tally(0, 0, 0, 2), Tally(0, 1, 0, -1), Tally()])
def test_a_retry_that_is_not_counted_as_one_is_refused(store: Store, generator: Instance, tally: Tally) -> None:
    """As much is named as is counted."""
    generator.publish(2)
    (ident,) = ids(generator.next(want=1))
    run = Run(0, 1, ident, [RetriedMessage(0, ident, SOON)])

    with refused(store, "next"):
        generator.send_turn(TurnCall(generator.turn + 1, generator.stamp, {"default": tally}, [run]))


# Becoming due.


def test_nothing_is_moved_early(store: Store, generator: Instance) -> None:
    """A moment before it is due it still waits."""
    generator.publish(1)
    retries(generator, LATER)
    time_passes(store, LATER - 20_000)

    generator.beat()

    assert waiting(store, "again") == []
    assert len(delayed(store)) == 1


def test_what_is_due_waits_like_the_others(store: Store, generator: Instance) -> None:
    """What was attempted before among those that wait again, what was not at the tail of pending; the bell rings."""
    generator.publish(2)
    (ident,) = ids(generator.next(want=1))
    on = followup("default", "7-on", delay_ms=SOON)
    generator.next_of({"default": Done(committed=[(ident, [], [on])])})
    retries(generator, SOON)
    generator.publish(1)
    silence(store)
    time_passes(store, SOON)

    generator.beat()

    assert numbers(waiting(store, "again")) == [2]
    assert waiting(store, "pending") == ["3-tag", "7-on"]
    assert (delayed(store), tokens(store)) == ({}, 1)
    check_equation(store)


def test_the_first_due_is_the_first_to_wait(store: Store, generator: Instance) -> None:
    """In the order of their moments, not of their numbers."""
    generator.publish(3)
    held = ids(generator.next(want=3))
    generator.next_of({"default": Done(retried=list(zip(held, (30, 10, 20), strict=True)))})
    time_passes(store, 60)

    generator.beat()

    assert numbers(waiting(store, "again")) == [2, 3, 1]
    assert claimed_numbers(generator.next(want=3)) == [2, 3, 1]


def test_a_beat_moves_a_thousand_and_the_next_one_comes_at_once(store: Store, generator: Instance) -> None:
    """A beat must stay short, whatever has piled up."""
    generator.publish(2500)
    for _ in range(3):
        retries(generator, 0, many=1000)
    assert len(delayed(store)) == 2500

    left = []
    while delayed(store):
        assert generator.beat().next_ms <= 1 or not delayed(store)
        left.append(len(delayed(store)))

    assert left == [1500, 500, 0]
    assert len(waiting(store, "again")) == 2500


def test_a_suspect_that_is_retried_is_a_suspect_again(store: Store, generator: Instance, joined: Joins) -> None:
    """It is still claimed alone, and has waited since it was due, not since it first was one."""
    generator.publish(2)
    for _ in range(store.settings.max_attempts - 1):
        victim = joined()
        (ident,) = ids(victim.next(want=1))
        dies(victim, generator)
    assert waiting(store, "suspect") == ["1-tag"]
    generator.next(completed=ids(generator.next(want=1)))
    (ident,) = retries(generator, 0)
    before = now_ms(store)

    generator.beat()

    assert waiting(store, "suspect") == [ident.decode()]
    deaths, tries, since, hold = attempts_of(store, ident.decode()) or ()
    assert (deaths, tries, hold) == (store.settings.max_attempts - 1, 1, 0)
    assert since >= before


def test_only_who_handles_a_kind_moves_what_is_due_of_it(store: Store, generator: Instance, joined: Joins) -> None:
    """Others were not given its keys; nobody could claim it sooner for that."""
    generator.publish({"mail": 1})
    (ident,) = ids(generator.next(want=1, kind="mail"))
    generator.next_of({"mail": Done(retried=[(ident, 0)])})

    generator.beat()
    assert len(delayed(store, "mail")) == 1
    joined(kinds=["mail"]).beat()

    assert waiting(store, "again", "mail") == [ident.decode()]


def test_what_is_paused_becomes_due_in_silence(store: Store, generator: Instance) -> None:
    """It waits, and nobody is woken for it."""
    generator.publish(1)
    retries(generator, 0)
    silence(store)
    pause(store)

    generator.beat()

    assert (len(waiting(store, "again")), tokens(store)) == (1, 0)


def test_a_repeated_beat_moves_nothing_twice(store: Store, generator: Instance) -> None:
    """What is due is moved and taken out in one step."""
    generator.publish(1)
    retries(generator, 0)

    generator.beat()
    generator.beat()

    assert len(waiting(store, "again")) == 1


def test_the_next_beat_comes_when_something_is_due(store: Store, generator: Instance) -> None:
    """Exactly then, for one that beats often; at the earliest after a heartbeat for an idle one, since there may be many."""
    generator.publish(1)
    heartbeat = store.settings.heartbeat_ms
    retries(generator, heartbeat // 2)

    assert 0 < generator.beat().next_ms <= heartbeat // 2


def test_an_idle_one_beats_a_heartbeat_later_at_the_earliest(store: Store, generator: Instance, joined: Joins) -> None:
    """And not only after a third of a lease: it may be the only one that handles this kind."""
    generator.publish(1)
    retries(generator, 10_000)
    for _ in range(2):
        joined(kinds=["other"]).beat()  # they stand in line
    store.link.command("ZADD", f"{store.keys.base}delayed:default", now_ms(store) + 10_000, "1-x default 1 5 0 0 x")
    store.link.command("HINCRBY", store.keys.totals, "published", 1)
    store.link.command("HINCRBY", store.keys.totals, "published:default", 1)

    heard = joined().beat()

    assert (heard.place, heard.next_ms) == (0, store.settings.heartbeat_ms)


# Around it.


def test_what_is_delayed_is_given_back_to_where_it_came_from(store: Store, generator: Instance) -> None:
    """Once it was due and claimed, it waits again among those that were attempted before."""
    generator.publish(2)
    retries(generator, 0)
    generator.beat()
    held = ids(generator.next(want=1))

    generator.next(back=held)

    assert numbers(waiting(store, "again")) == [1]
    assert attempts_of(store, "1-tag") == (0, 1, 0, 0)


def test_the_generator_waits_for_what_is_delayed_as_well(store: Store, generator: Instance) -> None:
    """max_pending bounds memory, and what is delayed takes as much."""
    generator.publish(3)
    retries(generator, LATER, many=2)
    generator.store = replace(store, settings=store.settings.changed(max_pending=3))

    with pytest.raises(Full):
        generator.publish(1)
