"""reclaim.lua: who may judge whom, and what becomes of what the victim held."""

from collections.abc import Callable

import pytest

from soloist.store.envelope import pack
from tests.servers import Store
from tests.store.acting import Instance, Joins, dies, ids
from tests.store.state import (
    attempts_of,
    check_equation,
    dump,
    full_memory,
    logged,
    nothing_changes,
    numbers,
    silence,
    term_of,
    tokens,
    total,
    waiting,
)
from tests.turns import Done


@pytest.fixture
def victim(generator: Instance, joined: Joins) -> Instance:
    """A handler that holds three of six messages. The generator may judge it as soon as its lease is over."""
    generator.publish(6)
    handler = joined()
    handler.next(want=3)
    generator.becomes_judge()
    return handler


# Alive.


def test_a_victim_whose_lease_runs_is_alive(
    store: Store, generator: Instance, victim: Instance, said: dict[str, list[str]]
) -> None:
    """The judgement is made in the script, whatever the judge was told before."""
    with nothing_changes(store):
        assert generator.reclaim(victim) is None

    assert said["reclaim"] == ["ALIVE"]


def is_fresh(judge: Instance) -> None:
    judge.heard_for(0)


def is_not_heard_for_a_claim_lease(judge: Instance) -> None:
    judge.heard_for(judge.store.settings.claim_lease_ms - 60_000)


def was_silent(judge: Instance) -> None:
    judge.silent_for(judge.store.settings.lease_ms // 2 + 1)


def was_heard_in_the_future(judge: Instance) -> None:
    judge.silent_for(-60_000)


def is_itself_gone(judge: Instance) -> None:
    judge.leave()


@pytest.mark.parametrize(
    "unfit", [is_fresh, is_not_heard_for_a_claim_lease, was_silent, was_heard_in_the_future, is_itself_gone]
)
def test_an_unfit_judge_cannot_reclaim_by_lease(
    store: Store, generator: Instance, victim: Instance, said: dict[str, list[str]], unfit: Callable[[Instance], None]
) -> None:
    """After a stall, a restart or a clock jump the first to be heard would declare everybody else dead."""
    victim.lease_ended()
    unfit(generator)

    with nothing_changes(store):
        assert generator.reclaim(victim) is None

    assert said["reclaim"] == ["ALIVE"]


def test_nobody_reclaims_itself(
    store: Store, generator: Instance, victim: Instance, said: dict[str, list[str]]
) -> None:
    """Who can call is alive."""
    generator.lease_ended()

    with nothing_changes(store):
        assert generator.reclaim(generator) is None

    assert said["reclaim"] == ["ALIVE"]


def test_a_mark_is_no_death_while_the_subscription_counts(store: Store, generator: Instance, victim: Instance) -> None:
    """The channel is asked once more, inside: it may have come back since the mark was seen."""
    generator.becomes_witness()
    victim.subscribe()
    victim.beat(busy=True)
    victim.marked_for(3_600_000)

    with nothing_changes(store):
        assert generator.reclaim(victim) is None


def test_a_mark_within_its_grace_is_no_death(store: Store, generator: Instance, victim: Instance) -> None:
    """The victim may still call, and clear it."""
    generator.becomes_witness()
    victim.subscribe()
    victim.beat(busy=True)
    victim.unsubscribe()
    victim.marked_for(store.settings.heartbeat_ms)

    with nothing_changes(store):
        assert generator.reclaim(victim) is None


def test_a_mark_in_the_future_is_no_death(store: Store, generator: Instance, victim: Instance) -> None:
    """After a clock went back nothing is known of it."""
    generator.becomes_witness()
    victim.marked_for(-3_600_000)

    with nothing_changes(store):
        assert generator.reclaim(victim) is None


@pytest.mark.parametrize("subscribed_ms", [0, 100])
def test_who_was_not_subscribed_for_a_second_cannot_reclaim_by_will(
    store: Store, generator: Instance, victim: Instance, subscribed_ms: int
) -> None:
    """An onlooker whose own subscription is new, or was never seen, knows nothing of others'."""
    victim.marked_for(3_600_000)
    generator.heard_for(60_000)
    store.link.command("HSET", store.keys.instance(generator.id), "will_since", 0)
    if subscribed_ms:
        generator.subscribe()
        generator.beat()

    with nothing_changes(store):
        assert generator.reclaim(victim) is None


# Gone.


def test_a_victim_whose_lease_is_over_is_reclaimed(
    store: Store, generator: Instance, victim: Instance, said: dict[str, list[str]]
) -> None:
    """What it held waits again, in order, ahead of what is pending; each has one death more."""
    victim.lease_ended()

    assert generator.reclaim(victim) == 3

    assert said["reclaim"] == ["OK"]
    assert numbers(waiting(store, "again")) == [1, 2, 3]
    assert numbers(waiting(store, "pending")) == [4, 5, 6]
    assert [attempts_of(store, f"{number}-tag") for number in (1, 2, 3)] == [(1, 0, 0, 0)] * 3
    assert total(store, "reclaimed") == 3
    assert victim.deadline is None
    (entry,) = logged(store, "reclaimed")
    assert entry.pop("heard_ms").isdigit()
    assert entry == {
        "event": "reclaimed",
        "number": "2",
        "instance": victim.id,
        "judge": generator.id,
        "messages": "3",
        "because": "lease",
    }


def test_the_log_tells_how_long_before_the_victim_was_last_heard(
    store: Store, generator: Instance, victim: Instance
) -> None:
    """Between the last sign of it and this entry, nobody knows: so the timeline can show from when on it was silent."""
    store.link.command("HINCRBY", store.keys.instance(victim.id), "beat", -12_345)
    victim.lease_ended()

    generator.reclaim(victim)

    (entry,) = logged(store, "reclaimed")
    assert 12_345 <= int(entry["heard_ms"]) < 60_000


def test_a_victim_whose_will_was_executed_is_reclaimed(store: Store, generator: Instance, victim: Instance) -> None:
    """Its process was killed and its grace is over: long before its lease, by one heard and subscribed for a second."""
    generator.becomes_witness()
    victim.subscribe()
    victim.beat(busy=True)
    victim.unsubscribe()
    assert generator.beat().gone == []
    victim.marked_for(2 * store.settings.heartbeat_ms)
    assert generator.beat().gone == [victim.id]

    assert generator.reclaim(victim) == 3

    assert logged(store, "reclaimed")[0]["because"] == "will"
    assert numbers(waiting(store, "again")) == [1, 2, 3]


def test_nothing_of_the_victim_remains(store: Store, generator: Instance, joined: Joins) -> None:
    """Every key of an instance goes away with it; so do its will and its place in line."""
    before = dump(store.link, store.keys)
    victim = joined()
    victim.beat()

    dies(victim, generator)

    after = dump(store.link, store.keys)
    assert set(after) - set(before) == {"totals"}
    for key in ("instances", "wills", "term"):
        assert after[key] == before[key]
    assert "line" not in after


def test_the_term_of_the_victim_is_vacant(store: Store, generator: Instance, joined: Joins) -> None:
    """Losing presence vacates the term too."""
    judge = joined()
    dies(generator, judge)

    assert (term_of(store)["instance"], term_of(store)["deadline"]) == ("", "0")


def test_the_repeat_finds_nobody(
    store: Store, generator: Instance, victim: Instance, said: dict[str, list[str]]
) -> None:
    """Its answer was lost, or two judges were told: GONE, and no second death is counted."""
    victim.lease_ended()
    generator.reclaim(victim)

    with nothing_changes(store):
        assert generator.reclaim(victim) is None

    assert said["reclaim"] == ["OK", "GONE"]


def test_a_late_reclaim_does_not_touch_the_reborn(
    store: Store, generator: Instance, victim: Instance, joined: Joins
) -> None:
    """It left and joined again under a new id."""
    victim.leave()
    reborn = joined(number=2)
    reborn.next(want=1)
    reborn.lease_ended()

    with nothing_changes(store):
        assert generator.reclaim(victim) is None


def test_messages_are_reclaimed_by_number(store: Store, generator: Instance, joined: Joins) -> None:
    """Across kinds and turns; and behind those that wait again already."""
    victim = joined(("default", "mail"))
    victim.holds([pack(f"{number}-tag", "default", 5, b"") for number in (10, 9, 100, 2)])
    dies(victim, generator)
    second = joined()
    second.holds([pack(f"{number}-tag", "default", 5, b"") for number in (5, 1)])
    dies(second, generator)

    assert numbers(waiting(store, "again")) == [2, 9, 10, 100, 1, 5]


@pytest.mark.parametrize("deaths", [0, 1])
def test_more_than_8000_messages_are_reclaimed(store: Store, generator: Instance, joined: Joins, deaths: int) -> None:
    """In chunks: a reclaim that raises strands its messages."""
    victim = joined()
    victim.holds([pack(f"{number}-tag", "default", 5, b"") for number in range(8_500, 0, -1)])
    if deaths:
        entries = [part for number in range(1, 8_501) for part in (f"{number}-tag", f"{deaths} 0 0 0")]
        store.link.command("HSET", store.keys.attempts, *entries)

    dies(victim, generator)

    assert numbers(waiting(store, "suspect" if deaths else "again")) == list(range(1, 8_501))
    assert attempts_of(store, "8500-tag") is not None
    assert store.link.command("HLEN", store.keys.attempts) == 8_500


def test_kinds_that_were_not_given_are_answered_and_the_judge_repeats(
    store: Store, generator: Instance, joined: Joins, said: dict[str, list[str]]
) -> None:
    """The victim may have handled kinds that the judge never heard of."""
    generator.publish({"mail": 2, "order": 2})
    victim = joined(("mail", "order"))
    victim.next_of({"mail": Done(want=1), "order": Done(want=1)})

    dies(victim, generator)

    assert said["reclaim"] == ["KINDS", "OK"]
    assert numbers(waiting(store, "again", "mail") + waiting(store, "again", "order")) == [1, 3]


def test_the_bells_ring_for_what_waits_again(store: Store, generator: Instance, victim: Instance) -> None:
    """Somebody must come for it; one token is enough."""
    silence(store)
    dies(victim, generator)

    assert tokens(store) == 1


def test_reclaiming_works_when_memory_is_full(store: Store, generator: Instance, victim: Instance) -> None:
    """Or what the dead hold would block memory for ever."""
    victim.lease_ended()

    with full_memory(store):
        assert generator.reclaim(victim) == 3


# Poison.


def dies_with_it(store: Store, judge: Instance, joined: Joins) -> None:
    victim = joined()
    victim.next(want=1)
    assert victim.claimed == ["1-tag"]
    dies(victim, judge)


def test_deaths_are_counted_until_a_message_is_suspect(store: Store, generator: Instance, joined: Joins) -> None:
    """After max_attempts - 1 deaths of instances that held it, it waits among the suspects, from now on."""
    generator.publish()
    dies_with_it(store, generator, joined)
    assert (waiting(store, "again"), waiting(store, "suspect")) == (["1-tag"], [])

    dies_with_it(store, generator, joined)

    assert (waiting(store, "again"), waiting(store, "suspect")) == ([], ["1-tag"])
    deaths, retries, since, hold = attempts_of(store, "1-tag") or (0, 0, 0, 0)
    assert (deaths, retries, hold) == (2, 0, 0)
    assert since > 0


def test_a_suspect_whose_holder_dies_goes_to_the_error_store(store: Store, generator: Instance, joined: Joins) -> None:
    """It was alone, so the death is its own: it failed, its attempts are forgotten, a drainer can read why."""
    page = generator.publish()
    for _ in range(store.settings.max_attempts - 1):
        dies_with_it(store, generator, joined)
    last = joined()
    last.next(want=1)

    dies(last, generator)

    assert attempts_of(store, "1-tag") is None
    assert [waiting(store, where) for where in ("pending", "again", "suspect")] == [[], [], []]
    assert [total(store, name) for name in ("failed", "failed:default", "completed")] == [1, 1, 0]
    (record,) = joined(drains=True).drain().records
    assert record.envelope == page.envelopes["default"][0]
    assert b'"reason":"its handler died 3 times"' in record.details
    assert b'"attempts":3' in record.details
    assert last.id.encode() in record.details


def test_only_the_poisoned_message_fails(store: Store, generator: Instance, joined: Joins) -> None:
    """Its neighbours in the same hands wait again."""
    victim = joined()
    victim.holds([pack(f"{number}-tag", "default", 5, b"") for number in (1, 2, 3)])
    store.link.command("HSET", store.keys.attempts, "2-tag", "2 4 7 0")

    dies(victim, generator)

    assert numbers(waiting(store, "again")) == [1, 3]
    (record,) = joined(drains=True).drain().records
    assert record.id == "2-tag"
    assert b'"attempts":7' in record.details, "deaths and retries"


# Drainers.


def test_what_a_dead_drainer_held_is_back_in_the_error_store(store: Store, generator: Instance, joined: Joins) -> None:
    """In the old order, judged by another drainer: nobody else may be alive."""
    generator.publish(3)
    generator.next(failed=ids(generator.next(want=3)))
    drainer, judge = joined(drains=True), joined(drains=True)
    drained = drainer.drain(limit=2).records
    generator.leave()

    dies(drainer, judge)

    assert check_equation(store).errors == 3
    assert judge.drain(limit=2).records == drained


def test_a_drainer_that_is_alive_keeps_what_it_holds(store: Store, generator: Instance, joined: Joins) -> None:
    """Drainers are judged like instances."""
    generator.publish(1)
    generator.next(failed=ids(generator.next(want=1)))
    drainer = joined(drains=True)
    drainer.drain()
    generator.becomes_judge()

    with nothing_changes(store):
        assert generator.reclaim(drainer) is None
