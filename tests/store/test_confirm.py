"""confirm.lua: what was printed and flushed is removed."""

import pytest

from soloist.store.replies import Superseded
from tests.servers import Store
from tests.store.acting import DEPARTURES, Departure, Instance, Joins, ids
from tests.store.state import check_equation, full_memory, nothing_changes, total


@pytest.fixture
def drainer(generator: Instance, joined: Joins) -> Instance:
    """A drainer that holds three of four records."""
    generator.publish(4)
    generator.next(failed=ids(generator.next(want=4)))
    instance = joined(drains=True)
    assert len(instance.drain(limit=3).records) == 3
    return instance


def test_only_what_is_named_is_removed(store: Store, drainer: Instance) -> None:
    """The rest stays in hand; the answer says how many went, and they are counted."""
    assert drainer.confirm(["1-tag", "3-tag"]) == 2

    assert [record.id for record in drainer.drain().records] == ["2-tag"]
    assert total(store, "drained") == 2


def test_after_all_were_confirmed_the_next_ones_come(store: Store, drainer: Instance) -> None:
    """Drain and confirm take turns."""
    drainer.confirm(["1-tag", "2-tag", "3-tag"])

    assert [record.id for record in drainer.drain().records] == ["4-tag"]


def test_the_repeat_removes_nothing(store: Store, drainer: Instance) -> None:
    """The answer was lost: the same call again finds none of them, and counts none."""
    drainer.confirm(["1-tag"])

    with nothing_changes(store):
        assert drainer.confirm(["1-tag"]) == 0


def test_what_is_not_in_hand_stays(store: Store, drainer: Instance, joined: Joins) -> None:
    """Neither a record in the store, nor one in other hands, nor one that never was."""
    other = joined(drains=True)
    assert [record.id for record in other.drain().records] == ["4-tag"]

    assert drainer.confirm(["4-tag", "99-tag"]) == 0
    assert other.confirm(["1-tag"]) == 0

    assert check_equation(store).draining == 4


def test_a_late_copy_does_not_touch_what_was_drained_since(store: Store, drainer: Instance) -> None:
    """An id never comes again, so an old confirm names nothing new."""
    drainer.confirm(["1-tag", "2-tag", "3-tag"])
    drainer.drain()

    with nothing_changes(store):
        assert drainer.confirm(["1-tag", "2-tag", "3-tag"]) == 0


@pytest.mark.parametrize("departs", DEPARTURES)
def test_one_whose_presence_is_gone_removes_nothing(
    store: Store, drainer: Instance, joined: Joins, departs: Departure
) -> None:
    """What it held is back in the store, or in other hands: it may be printed twice, but is removed once."""
    other = joined(drains=True)
    departs(drainer, other)
    assert len(other.drain().records) == 4

    with nothing_changes(store), pytest.raises(Superseded):
        drainer.confirm(["1-tag", "2-tag"])

    assert other.confirm(["1-tag", "2-tag", "3-tag", "4-tag"]) == 4


def test_confirming_works_when_memory_is_full(store: Store, drainer: Instance) -> None:
    """It makes room."""
    with full_memory(store):
        assert drainer.confirm(["1-tag"]) == 1
