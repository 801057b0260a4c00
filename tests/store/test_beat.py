"""beat.lua: a sign of life, and what follows from it for presence, bells and those who are gone."""

from dataclasses import replace

import pytest

from soloist.settings import Settings
from soloist.store.replies import Superseded
from tests.servers import Store
from tests.store.acting import DEPARTURES, Departure, Instance, Joins
from tests.store.state import full_memory, nothing_changes, pause, silence, term_of, tokens


def test_a_beat_extends_presence(store: Store, joined: Joins) -> None:
    """Presence lasts for one claim lease from the last beat; also of one that is late, if nobody challenged it."""
    instance = joined()
    instance.lease_ended()

    heard = instance.beat()

    assert instance.deadline == heard.now_ms + store.settings.claim_lease_ms
    assert instance.fields["beat"] == str(heard.now_ms)


def test_a_beat_of_a_drainer_extends_its_own_presence_alone(store: Store, joined: Joins) -> None:
    """Drainers are not instances: not counted, not elected though the term is vacant, but they beat alike."""
    joined()
    drainer = joined(drains=True)
    drainer.lease_ended()

    heard = drainer.beat(may_generate=False)

    assert drainer.deadline == heard.now_ms + store.settings.claim_lease_ms
    assert (heard.role, heard.place, heard.instances) == ("handler", 0, 1)
    assert heard.next_ms == store.settings.heartbeat_ms
    assert term_of(store) == {}


def test_a_beat_counts_the_instances(joined: Joins) -> None:
    """The answer says how many instances there are, drainers left out."""
    instance, _, _ = joined(), joined(), joined(drains=True)

    assert instance.beat().instances == 2


def test_a_stranger_is_superseded(store: Store) -> None:
    """Who never joined has no presence to extend; nothing is made for it."""
    with nothing_changes(store), pytest.raises(Superseded):
        Instance(store).beat()


def test_presence_without_a_record_is_superseded(store: Store, joined: Joins) -> None:
    """A missing hash is never taken for a fresh one: its owner must be reborn."""
    joined()
    instance = joined()
    store.link.command("DEL", store.keys.instance(instance.id))

    with nothing_changes(store), pytest.raises(Superseded):
        instance.beat()


def test_a_record_without_presence_is_superseded(store: Store, joined: Joins) -> None:
    """Presence is membership, whatever else is there; a beat does not bring it back."""
    joined()
    instance = joined()
    store.link.command("ZREM", store.keys.instances, instance.id)

    with nothing_changes(store), pytest.raises(Superseded):
        instance.beat()

    store.link.command("DEL", store.keys.instance(instance.id))


@pytest.mark.parametrize("departs", DEPARTURES)
def test_a_late_beat_of_one_that_is_gone_changes_nothing(store: Store, joined: Joins, departs: Departure) -> None:
    """An id never comes again: after leave, reclaim or rebirth its late beats find no presence."""
    instance, other = joined(), joined()
    instance.beat()
    departs(instance, other)

    with nothing_changes(store), pytest.raises(Superseded):
        instance.beat()


# Being heard without a gap.


def test_regular_beats_are_heard_without_a_gap(store: Store, joined: Joins) -> None:
    """As long as no pause is longer than half a lease, `since` stays where it was."""
    instance = joined()
    instance.silent_for(store.settings.lease_ms // 2 - 30_000)
    since = instance.fields["since"]

    instance.beat()

    assert instance.fields["since"] == since


def test_a_pause_of_more_than_half_a_lease_is_a_gap(store: Store, joined: Joins) -> None:
    """After a stall the first to be heard may judge nobody: it starts to be heard anew."""
    instance = joined()
    instance.silent_for(store.settings.lease_ms // 2 + 1)

    heard = instance.beat()

    assert instance.fields["since"] == str(heard.now_ms)


def test_a_clock_that_went_back_is_a_gap(store: Store, joined: Joins) -> None:
    """Where the last beat lies in the future, nothing can be said about how long it was heard."""
    instance = joined()
    instance.silent_for(-60_000)

    heard = instance.beat()

    assert instance.fields["since"] == str(heard.now_ms)


def test_deadlines_beyond_their_lease_are_cut(store: Store, generator: Instance, joined: Joins) -> None:
    """After a clock went back, presences and the term last for their own lease from now, and not for hours."""
    onlooker, other, drainer = joined(), joined(), joined(drains=True)
    onlooker.beat()
    for late, presence in ((generator, "instances"), (other, "instances"), (drainer, "drainers")):
        store.link.command("ZADD", store.keys.base + presence, 10**14, late.id)
    store.link.command("HSET", store.keys.term, "deadline", 10**14)

    heard = onlooker.beat()

    assert [each.deadline for each in (generator, other, drainer)] == [heard.now_ms + store.settings.claim_lease_ms] * 3
    assert term_of(store)["deadline"] == str(heard.now_ms + store.settings.lease_ms)


def test_deadlines_within_their_lease_are_left_alone(store: Store, generator: Instance, joined: Joins) -> None:
    """A beat extends its own presence and no other's; and not the term of another."""
    onlooker, other = joined(), joined()
    onlooker.beat()
    before = other.deadline, generator.deadline, term_of(store)["deadline"]

    onlooker.beat()

    assert (other.deadline, generator.deadline, term_of(store)["deadline"]) == before


# Whom to reclaim.


def test_a_judge_is_told_whose_lease_is_over(store: Store, generator: Instance, joined: Joins) -> None:
    """Who has been heard for a claim lease is told which instances and drainers are gone."""
    victim, drainer, alive = joined(), joined(drains=True), joined()
    victim.lease_ended()
    drainer.lease_ended()
    generator.becomes_judge()

    heard = generator.beat()

    assert sorted(heard.gone) == sorted([victim.id, drainer.id])
    assert alive.deadline is not None


def test_one_heard_for_a_lease_may_not_judge_a_claim_lease(store: Store, generator: Instance, joined: Joins) -> None:
    """To judge an instance by its lease takes a claim lease of being heard, not a lease."""
    joined().lease_ended()
    generator.heard_for(store.settings.claim_lease_ms - 60_000)

    assert generator.beat().gone == []


def test_a_judge_after_a_gap_is_told_nothing(store: Store, generator: Instance, joined: Joins) -> None:
    """After a stall everybody looks dead: who was silent itself judges nobody."""
    joined().lease_ended()
    generator.silent_for(store.settings.lease_ms // 2 + 1)

    assert generator.beat().gone == []


def test_idle_ones_look_only_at_those_whose_part_they_might_take(
    store: Store, generator: Instance, joined: Joins
) -> None:
    """The load of heartbeats must hardly grow with the number of idle instances: these see holder and line alone."""
    successors = [joined(), joined()]
    idle, victim = joined(), joined()
    for successor in successors:
        successor.beat()
    victim.lease_ended()
    idle.becomes_judge()

    assert idle.beat(may_generate=False).gone == []
    assert idle.beat(may_generate=False, busy=True).gone == [victim.id]


# When to beat again. With the default settings: 150 ms for those who matter, 500 ms for idle ones.


def test_the_generator_beats_every_heartbeat(generator: Instance) -> None:
    """150 ms with the default settings."""
    generator.store = replace(generator.store, settings=Settings())

    assert generator.beat().next_ms == 150


def test_successors_and_busy_ones_beat_every_heartbeat_idle_ones_four_times_a_lease(
    store: Store, generator: Instance, joined: Joins
) -> None:
    """Generator, both successors and whoever holds a message are quick; all others save commands."""
    heartbeat, idle = store.settings.heartbeat_ms, store.settings.lease_ms // 3
    first, second, third = joined(), joined(), joined()

    assert first.beat().next_ms == heartbeat
    assert second.beat().next_ms <= heartbeat
    assert second.will_stored[1] == heartbeat
    assert third.beat().next_ms == idle
    assert third.will_stored[1] == idle, "others must know how often it beats"
    assert third.beat(busy=True).next_ms == heartbeat
    assert third.will_stored[1] == heartbeat


def test_the_second_in_line_beats_midway_between_two_beats_of_the_first(
    store: Store, generator: Instance, joined: Joins
) -> None:
    """So one of the two looks twice per heartbeat, and a death is marked within half of one."""
    heartbeat = store.settings.heartbeat_ms
    first, second = joined(), joined()
    heard, of_second = first.beat(), second.beat()

    assert (heard.place, of_second.place) == (1, 2)
    assert of_second.now_ms + of_second.next_ms == heard.now_ms + heartbeat // 2

    store.link.command("HSET", store.keys.line, "1", f"{first.id} {second.beat().now_ms - heartbeat // 2} 0")
    assert heartbeat - 50 <= second.beat().next_ms <= heartbeat, "it is midway now, and stays there"


def test_who_may_take_the_term_looks_again_when_its_lease_ends(
    store: Store, generator: Instance, joined: Joins
) -> None:
    """Earlier than the interval when the term's deadline comes before: one ms after it."""
    instance = joined()
    ends = instance.beat().now_ms + 10_000
    store.link.command("HSET", store.keys.term, "deadline", ends)

    heard = instance.beat()

    assert heard.next_ms == ends - heard.now_ms + 1


# Bells.


def test_a_beat_rings_where_there_is_work_and_silence(store: Store, generator: Instance, joined: Joins) -> None:
    """A token eaten by a frozen instance costs a heartbeat, not a message; there are never two tokens."""
    generator.publish({"mail": 1, "order": 1})
    silence(store, "mail")
    silence(store, "order")
    handler = joined(("mail", "order", "empty"))

    handler.beat()
    handler.beat()

    assert [tokens(store, kind) for kind in ("mail", "order", "empty")] == [1, 1, 0]


def test_a_beat_rings_only_for_the_kinds_of_its_caller(store: Store, generator: Instance, joined: Joins) -> None:
    """Others ring for theirs."""
    generator.publish({"mail": 1, "order": 1})
    silence(store, "mail")
    silence(store, "order")

    joined(("order",)).beat()

    assert (tokens(store, "mail"), tokens(store, "order")) == (0, 1)


def test_a_beat_does_not_ring_for_paused_kinds(store: Store, generator: Instance) -> None:
    """Paused kinds are no work: the token would wake somebody for nothing, again and again."""
    generator.publish()
    silence(store)
    pause(store)

    generator.beat()

    assert tokens(store) == 0


@pytest.mark.parametrize("where", ["again", "suspect"])
def test_reclaimed_messages_are_work(store: Store, generator: Instance, where: str) -> None:
    """A bell rings for messages that wait again, and for suspects, as for pending ones."""
    generator.publish()
    store.link.command("RENAME", store.keys.pending("default"), f"{store.keys.base}{where}:default")
    silence(store)

    generator.beat()

    assert tokens(store) == 1


def test_beats_are_heard_when_memory_is_full(store: Store, generator: Instance) -> None:
    """Full memory must not look like the death of everybody."""
    with full_memory(store):
        assert generator.beat().role == "generator"
