"""pause.lua and handover.lua: what people ask of a running system."""

from soloist.store.control import Asked, handover, pause
from tests.servers import Store
from tests.store.acting import Instance, Joins, claimed_numbers
from tests.store.state import hash_of, nothing_changes


def test_of_a_paused_kind_nothing_is_claimed_until_it_is_resumed(store: Store, generator: Instance) -> None:
    """What is claimed is finished; resuming rings."""
    generator.publish(3)
    assert claimed_numbers(generator.next(want=1)) == [1]

    assert pause(store.link, store.keys, ["default"], on=True) == 1
    assert claimed_numbers(generator.next(completed=[b"1-tag"], want=5)) == []
    store.link.command("DEL", store.keys.bell("default"))
    assert pause(store.link, store.keys, ["default"], on=False) == 1

    assert store.link.command("LLEN", store.keys.bell("default")) == 1
    assert claimed_numbers(generator.next(want=5)) == [2, 3]


def test_pausing_again_is_no_news(store: Store, generator: Instance) -> None:
    """Safe to repeat."""
    pause(store.link, store.keys, ["default"], on=True)

    with nothing_changes(store):
        assert pause(store.link, store.keys, ["default"], on=True) == 0


def test_the_generator_is_asked_and_told_with_its_next_beat(store: Store, generator: Instance, joined: Joins) -> None:
    """Its term goes on until it resigns: nothing that it publishes before is refused."""
    joined().beat()

    assert handover(store.link, store.keys) == Asked("OK", 1)

    assert generator.beat(term=1).role == "asked"
    generator.publish(1)
    assert generator.beat(term=1, may_generate=False).role == "handler"
    assert hash_of(store, store.keys.term)["instance"] == ""


def test_a_new_term_is_not_asked(store: Store, generator: Instance, joined: Joins) -> None:
    """Who was asked is over; the question does not go on to the successor."""
    successor = joined()
    successor.beat()
    handover(store.link, store.keys)
    generator.beat(term=1, may_generate=False)

    assert successor.beat().role == "elected"
    assert successor.beat(term=2).role == "generator"


def test_without_a_successor_nobody_is_asked(store: Store, generator: Instance) -> None:
    with nothing_changes(store):
        assert handover(store.link, store.keys) == Asked("NOBODY")


def test_without_a_generator_nobody_is_asked(store: Store, joined: Joins) -> None:
    joined()

    with nothing_changes(store):
        assert handover(store.link, store.keys) == Asked("VACANT")


def test_a_late_copy_asks_only_for_its_own_term(store: Store, generator: Instance, joined: Joins) -> None:
    """It names the term that was on when it was made."""
    successor = joined()
    successor.beat()
    generator.beat(term=1, may_generate=False)
    successor.beat()

    with nothing_changes(store):
        assert handover(store.link, store.keys, term=1) == Asked("OVER", 2)
