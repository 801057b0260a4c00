"""purge.lua: a namespace is removed, and nothing else."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from uuid import uuid4

import pytest

from soloist.store import foreign
from soloist.store.envelope import NAME
from soloist.store.keys import Keys
from soloist.store.snapshot import purge
from tests.servers import Store
from tests.store.acting import Instance, ids
from tests.store.committing import key
from tests.store.state import dump, full_memory, nothing_changes
from tests.turns import Done


@pytest.fixture
def another(store: Store) -> Iterator[Callable[[str], Store]]:
    """Makes further namespaces on the same server; their names begin with that of the test's own."""
    made: list[Store] = []

    def make(ending: str) -> Store:
        made.append(replace(store, keys=Keys(store.keys.namespace + ending)))
        return made[-1]

    yield make
    for each in made:
        purge(store.link, each.keys)


def fill(store: Store) -> None:
    """Every kind of key that there is."""
    instance, handler, drainer = Instance(store), Instance(store), Instance(store, drains=True)
    instance.join()
    instance.beat()
    instance.publish(6)
    handler.join()
    handler.beat()
    handler.next(want=1)
    instance.next(failed=ids(instance.next(want=2)))
    drainer.join()
    drainer.drain(limit=1)
    store.link.command("HSET", store.keys.attempts, "1-tag", "1 0 0 0")
    store.link.command("HSET", store.keys.paused, "kind:mail", 1)
    (held,) = ids(instance.next(want=1))
    instance.next_of({"default": Done(retried=[(held, 60_000)])})


def test_everything_is_removed(store: Store, said: dict[str, list[str]]) -> None:
    """Also what instances hold that are still there: they will be superseded. The answer says how many keys."""
    fill(store)
    keys = len(dump(store.link, store.keys))
    assert keys >= 20

    assert purge(store.link, store.keys) == keys

    assert dump(store.link, store.keys) == {}
    assert said["purge"] == ["OK"]


def test_what_was_written_along_with_messages_stays_unless_it_is_asked_for(store: Store) -> None:
    """It is the users' own, and often what they did the work for. A new namespace of that name finds it as it was."""
    fill(store)
    data = key(store, "sum")
    store.link.command("SET", data, 7)

    purge(store.link, store.keys)
    assert dump(store.link, store.keys) == {"data:sum": b"7"}
    Instance(store).join()
    assert foreign.keys_not_ours(store.link, store.keys) == []
    purge(store.link, store.keys, data=True)

    assert dump(store.link, store.keys) == {}


def test_the_repeat_finds_nothing(store: Store) -> None:
    """Safe to repeat."""
    fill(store)
    purge(store.link, store.keys)

    assert purge(store.link, store.keys) == 0


@pytest.mark.parametrize("ending", ["b", ":b", "/b", "*", "?", "[ab]", "\\"])
def test_other_namespaces_stay(store: Store, another: Callable[[str], Store], ending: str) -> None:
    """Whatever their names look like."""
    other = another(ending)
    fill(store)
    fill(other)

    with nothing_changes(other):
        purge(store.link, store.keys)

    assert dump(store.link, store.keys) == {}


@pytest.mark.parametrize(("ending", "looks_like"), [("*", "bc"), ("?", "b"), ("[ab]", "a"), ("\\*", "*"), ("\\", "")])
def test_a_name_is_never_taken_for_a_pattern(
    store: Store, another: Callable[[str], Store], ending: str, looks_like: str
) -> None:
    """Names with such letters are refused elsewhere; here they would cost others their data."""
    assert not NAME.fullmatch("a" + ending)
    pattern, other = another(ending), another(looks_like or uuid4().hex)
    fill(pattern)
    fill(other)

    with nothing_changes(other):
        purge(store.link, pattern.keys)

    assert dump(store.link, pattern.keys) == {}


def test_many_keys_are_removed_at_once(store: Store) -> None:
    """In chunks inside: unpack stops below 8,000."""
    names = [store.keys.pending(f"kind{number}") for number in range(8_500)]
    for first in range(0, len(names), 1_000):
        store.link.command("MSET", *(part for name in names[first : first + 1_000] for part in (name, "")))

    assert purge(store.link, store.keys) == 8_500
    assert dump(store.link, store.keys) == {}


def test_purging_works_when_memory_is_full(store: Store) -> None:
    """It makes room."""
    fill(store)

    with full_memory(store):
        assert purge(store.link, store.keys) > 0
