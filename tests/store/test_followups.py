"""next.lua: what is published along with a message, if and only if it completes."""

from dataclasses import replace

import pytest

from soloist.errors import Defect
from soloist.store import messages
from soloist.store.messages import CommittedMessage, Followup, Run, Tally, TurnCall, Write
from tests.servers import Store
from tests.store.acting import Instance, Joins, dies, ids
from tests.store.committing import commits, followup, key
from tests.store.state import (
    check_equation,
    full_memory,
    nothing_changes,
    now_ms,
    silence,
    term_of,
    tokens,
    total,
    waiting,
)
from tests.turns import Done


def test_a_message_is_handed_on_in_the_step_that_completes_another(store: Store, generator: Instance) -> None:
    """At the tail of its kind, counted as published, in all and per kind; the bell rings; the kind is known."""
    generator.publish({"default": 1, "mail": 1})
    silence(store, "mail")

    commits(generator, messages=[followup("mail", "1-on"), followup("mail", "2-on"), followup("audit", "3-on")])

    assert waiting(store, "pending", "mail") == ["2-tag", "1-on", "2-on"]
    assert waiting(store, "pending", "audit") == ["3-on"]
    assert [total(store, name) for name in ("published", "published:mail", "published:audit")] == [5, 3, 1]
    assert (tokens(store, "mail"), tokens(store, "audit")) == (1, 1)
    assert {kind.name for kind in check_equation(store).kinds} == {"default", "mail", "audit"}


def test_the_numbers_of_the_generator_go_on(store: Store, generator: Instance) -> None:
    """What handlers publish is not numbered by it, and is not generated."""
    generator.publish(1)
    before = term_of(store)["seq"]

    commits(generator, messages=[followup("default", "1-on")])

    assert term_of(store)["seq"] == before == "1"
    assert generator.fields["generated"] == "1"
    generator.publish(1)
    assert waiting(store, "pending") == ["1-on", "2-tag"]


def test_a_delayed_one_waits_until_it_is_due(store: Store, generator: Instance) -> None:
    """It is published already, and pending; only not to be had yet. Nobody is woken for it."""
    generator.publish(1)
    before = now_ms(store)

    commits(generator, messages=[followup("mail", "1-on", delay_ms=60_000)])

    (due,) = store.link.command("ZRANGE", f"{store.keys.base}delayed:mail", 0, -1, "WITHSCORES")[1::2]
    assert before + 60_000 <= int(due) <= now_ms(store) + 60_000
    assert (total(store, "published:mail"), waiting(store, "pending", "mail"), tokens(store, "mail")) == (1, [], 0)


def test_it_can_be_claimed_by_the_call_that_publishes_it(store: Store, generator: Instance) -> None:
    """A chain of messages need not wait for a bell."""
    generator.publish(1)

    claimed = commits(generator, messages=[followup("default", "1-on")], want=1)

    assert ids(claimed) == [b"1-on"]


def test_the_limit_of_pending_messages_does_not_apply(store: Store, generator: Instance) -> None:
    """It is the generator that waits: who hands on is at work on making room."""
    generator.publish(3)
    generator.store = replace(store, settings=store.settings.changed(max_pending=1))

    commits(generator, messages=[followup("default", "1-on")])

    assert len(waiting(store, "pending")) == 3


def test_many_are_handed_on_at_once(store: Store, generator: Instance) -> None:
    """In chunks: unpack stops below 8,000."""
    generator.publish(1)

    commits(generator, messages=[followup("mail", f"{number}-on") for number in range(8_500)])

    assert len(waiting(store, "pending", "mail")) == total(store, "published:mail") == 8_500


def test_one_that_fails_hands_nothing_on(store: Store, generator: Instance) -> None:
    """Its commit was refused."""
    generator.publish(1)

    commits(generator, [Write("expire", key(store), (0,))], [followup("mail", "1-on")])

    assert (total(store, "published"), waiting(store, "pending", "mail")) == (1, [])


def test_one_whose_holder_dies_hands_on_once(store: Store, generator: Instance, joined: Joins) -> None:
    """Its first attempt leaves no trace; whoever completes it hands on."""
    generator.publish(1)
    victim = joined()
    victim.next(want=1)
    dies(victim, generator)

    commits(generator, messages=[followup("mail", "1-on")])

    assert waiting(store, "pending", "mail") == ["1-on"]


def test_it_goes_on_when_memory_is_full(store: Store, generator: Instance) -> None:
    """Unlike what a generator publishes: it cannot be refused without undoing work that is done."""
    generator.publish(1)
    (ident,) = ids(generator.next(want=1))
    call = generator.turn_call_of({"default": Done(committed=[(ident, [], [followup("mail", "1-on")])])})

    with full_memory(store):
        generator.send_turn(call)

    assert waiting(store, "pending", "mail") == ["1-on"]


def test_the_kind_that_is_published_to_must_be_given(store: Store, generator: Instance) -> None:
    """A script must not touch keys that it was not passed. The wrapper names all of them; so here it is deceived."""
    generator.publish(1)
    (ident,) = ids(generator.next(want=1))
    lying = Followup("default", followup("mail", "1-on").envelope)
    run = Run(0, 1, ident, [CommittedMessage(0, ident, [Write("incrby", key(store), (1,))], [lying])])

    with nothing_changes(store), pytest.raises(Defect, match="KINDS"):
        messages.next_turn(
            store.link,
            store.keys,
            generator.id,
            store.settings,
            TurnCall(generator.turn + 1, generator.stamp, {"default": Tally(0, 1)}, [run]),
        )


def test_messages_of_the_same_number_keep_their_order(store: Store, generator: Instance, joined: Joins) -> None:
    """Handlers number what they publish by themselves; whoever leaves gives back in the order in which it claimed."""
    generator.publish(1)
    commits(generator, messages=[followup("default", f"1-on{each}") for each in "dacb"])
    handler = joined()
    while handler.next(want=1).envelopes:
        pass

    handler.leave()

    assert waiting(store, "pending") == ["1-ond", "1-ona", "1-onc", "1-onb"]
