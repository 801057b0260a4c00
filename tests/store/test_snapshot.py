"""snapshot.lua: one atomic read of everything that is shown."""

import pytest

from soloist.store.snapshot import Found, namespaces, snapshot
from tests.servers import Store
from tests.store.acting import Instance, Joins, dies, ids
from tests.store.state import check_equation, full_memory, nothing_changes, pause
from tests.turns import Done


def test_an_empty_namespace_has_nothing_to_show(store: Store, said: dict[str, list[str]]) -> None:
    """Nothing is made by looking."""
    with nothing_changes(store):
        seen = snapshot(store.link, store.keys)

    assert said["snapshot"] == ["OK"]
    assert (seen.meta, seen.term, seen.totals, seen.instances, seen.kinds) == ({}, {}, {}, [], [])


def test_who_and_what_is_there_is_asked_for_first(store: Store, joined: Joins, said: dict[str, list[str]]) -> None:
    """Their keys must be passed: CHANGED tells them, and the next question is answered."""
    instances = sorted(joined(("mail",)).id for _ in range(3))
    drainer = joined(drains=True)
    said.clear()

    seen = snapshot(store.link, store.keys)

    assert said["snapshot"] == ["CHANGED", "OK"]
    assert seen.found == Found(instances, [drainer.id], ["default", "mail"])


def test_what_was_found_saves_a_question(store: Store, joined: Joins, said: dict[str, list[str]]) -> None:
    """As long as nobody comes or goes."""
    joined()
    found = snapshot(store.link, store.keys).found
    said.clear()

    snapshot(store.link, store.keys, found)

    assert said["snapshot"] == ["OK"]


@pytest.mark.parametrize("change", ["instance", "drainer", "kind", "leave"])
def test_whoever_comes_or_goes_is_noticed(store: Store, joined: Joins, said: dict[str, list[str]], change: str) -> None:
    """A snapshot of those who were there before would not be whole."""
    first = joined()
    joined()
    found = snapshot(store.link, store.keys).found
    if change == "leave":
        first.leave()
    else:
        joined(("mail",) if change == "kind" else ("default",), drains=change == "drainer")
    said.clear()

    seen = snapshot(store.link, store.keys, found)

    assert said["snapshot"] == ["CHANGED", "OK"]
    assert seen.found != found


def test_everything_is_in_it(store: Store, generator: Instance, joined: Joins) -> None:
    """Messages in every state, of several kinds, and who holds them; and the books balance."""
    generator.publish({"mail": 8, "order": 6})
    victim, handler, drainer = joined(("mail",)), joined(("mail",)), joined(drains=True)
    victim.next(want=2, kind="mail")
    dies(victim, generator, ("mail",))
    held = ids(generator.next_of({"order": Done(want=4)}))
    assert len(held) == 3
    generator.next(completed=held[:1], failed=held[1:], kind="order")
    drainer.drain(limit=1)
    handler.next(want=1, kind="mail")
    handler.beat()
    pause(store, "order")

    seen = check_equation(store)

    assert (seen.errors, seen.draining) == (1, 1)
    waiting = {kind.name: (kind.waiting, kind.oldest_ms, kind.paused) for kind in seen.kinds}
    assert waiting == {"default": (0, None, False), "mail": (7, 5, False), "order": (3, 5, True)}
    by_id = {instance.id: instance for instance in seen.instances}
    assert set(by_id) == {generator.id, handler.id}
    assert (by_id[generator.id].holds, by_id[handler.id].holds) == (0, 1)
    assert by_id[handler.id].deadline_ms == handler.deadline
    assert (by_id[generator.id].fields["generated"], by_id[generator.id].fields["failed"]) == ("14", "2")
    assert (seen.term["instance"], seen.term["seq"]) == (generator.id, "14")
    assert seen.line["1"].startswith(handler.id)
    assert seen.meta["app"] == "demo"


def test_looking_changes_nothing(store: Store, generator: Instance) -> None:
    """The script may not even write."""
    generator.publish(3)
    generator.next(want=1)

    with nothing_changes(store):
        snapshot(store.link, store.keys)


def test_one_can_look_when_memory_is_full(store: Store, generator: Instance) -> None:
    """That is when one wants to."""
    generator.publish()

    with full_memory(store):
        assert check_equation(store).kinds[0].waiting == 1


def test_a_message_that_got_lost_is_seen(store: Store, generator: Instance) -> None:
    """Pending and claimed are counted by length: if a script were wrong, the equation would say so."""
    generator.publish(2)
    store.link.command("LPOP", store.keys.pending("default"))

    with pytest.raises(AssertionError):
        check_equation(store)


def test_the_namespaces_of_a_server_are_found(store: Store, joined: Joins) -> None:
    """By the key that each of them has; a kind that is called like that key is none."""
    joined(("meta",)).beat()

    found = [name for name in namespaces(store.link) if name.startswith(store.keys.namespace)]
    assert found == [store.keys.namespace]
