"""drain.lua: a drainer takes the oldest error records into its hands."""

import pytest

from soloist.store.replies import Superseded
from tests.servers import Store
from tests.store.acting import DEPARTURES, Departure, Instance, Joins, ids
from tests.store.state import check_equation, full_memory, nothing_changes
from tests.turns import Done


def fail(generator: Instance, count: int, *, details: bytes = b"{}") -> None:
    """So many messages fail, one after the other."""
    generator.publish(count)
    held = ids(generator.next(want=count))
    assert len(held) == count
    generator.next_of({"default": Done(failed=[(each, details) for each in held])})


def drained_ids(drainer: Instance, limit: int = 500) -> list[str]:
    return [record.id for record in drainer.drain(limit).records]


@pytest.fixture
def drainer(generator: Instance, joined: Joins) -> Instance:
    return joined(drains=True)


def test_records_come_oldest_first(store: Store, generator: Instance, drainer: Instance) -> None:
    """By the time of their failure; they are then in the hands of this drainer, and no longer in the store."""
    fail(generator, 12)
    fail(generator, 2)

    records = drainer.drain().records

    assert [record.id for record in records] == [f"{number}-tag" for number in range(1, 15)]
    assert [record.failed_us for record in records] == sorted(record.failed_us for record in records)
    seen = check_equation(store)
    assert (seen.errors, seen.draining) == (0, 14)


def test_the_repeat_answers_what_is_held(
    store: Store, generator: Instance, drainer: Instance, said: dict[str, list[str]]
) -> None:
    """The answer was lost: as long as it holds any, it is answered with those, also if there are more by now."""
    fail(generator, 3)
    first = drainer.drain(limit=2)
    fail(generator, 1)

    with nothing_changes(store):
        assert drainer.drain(limit=2) == first
        assert drainer.drain(limit=500) == first

    assert said["drain"] == ["OK", "OK", "OK"]


@pytest.mark.parametrize(("limit", "count"), [(1, 1), (2, 2), (3, 3), (4, 3)])
def test_no_more_than_the_limit_is_taken(
    store: Store, generator: Instance, drainer: Instance, limit: int, count: int
) -> None:
    """The others rest where they are."""
    fail(generator, 3)

    assert drained_ids(drainer, limit) == [f"{number}-tag" for number in range(1, count + 1)]
    assert check_equation(store).errors == 3 - count


def test_a_limit_of_none_takes_none(store: Store, generator: Instance, drainer: Instance) -> None:
    """`limit` is how many at most."""
    fail(generator, 2)

    with nothing_changes(store):
        assert drainer.drain(limit=0).records == []


def test_500_are_taken_at_once_at_most(store: Store, generator: Instance, drainer: Instance) -> None:
    """So that an answer has a bounded size, and unpack its values."""
    fail(generator, 700)

    assert drained_ids(drainer, 10_000) == [f"{number}-tag" for number in range(1, 501)]
    drainer.confirm([f"{number}-tag" for number in range(1, 501)])
    assert drained_ids(drainer, 10_000) == [f"{number}-tag" for number in range(501, 701)]


def test_a_megabyte_is_taken_at_once_at_most(store: Store, generator: Instance, drainer: Instance) -> None:
    """But always one record, however large."""
    fail(generator, 4, details=b"x" * 500_000)
    assert drained_ids(drainer) == ["1-tag", "2-tag"]
    drainer.confirm(["1-tag", "2-tag"])
    assert drained_ids(drainer) == ["3-tag", "4-tag"]
    drainer.confirm(["3-tag", "4-tag"])

    fail(generator, 2, details=b"x" * 2_000_000)

    assert drained_ids(drainer) == ["5-tag"]


def test_two_drainers_never_get_the_same_record(
    store: Store, generator: Instance, drainer: Instance, joined: Joins
) -> None:
    """Errors are removed exactly once."""
    other = joined(drains=True)
    fail(generator, 5)

    one, two, three = drained_ids(drainer, 2), drained_ids(other, 2), drained_ids(joined(drains=True), 2)

    assert (one, two, three) == (["1-tag", "2-tag"], ["3-tag", "4-tag"], ["5-tag"])


# None is left.


def test_an_empty_store_is_empty(store: Store, drainer: Instance, joined: Joins, said: dict[str, list[str]]) -> None:
    """Others that drain and can be heard need not be waited for: what they hold is theirs."""
    joined(drains=True)

    with nothing_changes(store):
        drained = drainer.drain()

    assert (drained.records, drained.silent) == ([], 0)
    assert said["drain"] == ["EMPTY"]


def test_silent_drainers_are_waited_for(
    store: Store, generator: Instance, drainer: Instance, joined: Joins, said: dict[str, list[str]]
) -> None:
    """One that was not heard for more than four intervals may be dead, with records in its hands."""
    heard, silent = joined(drains=True), joined(drains=True)
    now = heard.beat(may_generate=False).now_ms
    silence, lease = 4 * store.settings.heartbeat_ms, store.settings.claim_lease_ms
    store.link.command("ZADD", store.keys.drainers, now - silence - 1 + lease, silent.id)
    store.link.command("ZADD", store.keys.drainers, now - silence // 2 + lease, heard.id)

    assert drainer.drain().silent == 1
    assert said["drain"] == ["WAIT"]


def test_marked_drainers_are_waited_for(store: Store, generator: Instance, drainer: Instance, joined: Joins) -> None:
    """Its last will may be about to be executed."""
    joined(drains=True).marked_for(1)

    assert drainer.drain().silent == 1


def test_who_is_not_alone_but_finds_records_does_not_wait(
    store: Store, generator: Instance, drainer: Instance, joined: Joins
) -> None:
    """WAIT is said only where none rests in the store."""
    joined(drains=True).marked_for(1)
    fail(generator, 1)

    assert drained_ids(drainer) == ["1-tag"]


def test_silent_instances_are_not_waited_for(store: Store, generator: Instance, drainer: Instance) -> None:
    """They hold messages, not records."""
    generator.marked_for(1)

    assert drainer.drain().silent == 0


# Presence.


def test_one_that_never_joined_is_superseded(store: Store, generator: Instance) -> None:
    """No presence, no records: nobody would take them back."""
    fail(generator, 1)

    with nothing_changes(store), pytest.raises(Superseded):
        Instance(store, drains=True).drain()


def test_an_instance_cannot_drain(store: Store, generator: Instance) -> None:
    """Only who joined as a drainer is judged as one."""
    fail(generator, 1)

    with nothing_changes(store), pytest.raises(Superseded):
        generator.drain()


@pytest.mark.parametrize("departs", DEPARTURES)
def test_late_copies_of_one_that_is_gone_change_nothing(
    store: Store, generator: Instance, drainer: Instance, joined: Joins, departs: Departure
) -> None:
    """After leave, reclaim or rebirth a late drain takes nothing: it would rest with nobody."""
    fail(generator, 3)
    drainer.drain(limit=1)
    departs(drainer, joined(drains=True))

    with nothing_changes(store), pytest.raises(Superseded):
        drainer.drain()
    assert check_equation(store).errors == 3


def test_draining_does_not_extend_presence(store: Store, drainer: Instance) -> None:
    """Only a beat does."""
    before = drainer.deadline
    drainer.drain()

    assert drainer.deadline == before


def test_draining_works_when_memory_is_full(store: Store, generator: Instance, drainer: Instance) -> None:
    """It makes room."""
    fail(generator, 1)

    with full_memory(store):
        assert drained_ids(drainer) == ["1-tag"]


def test_the_details_are_kept_apart_from_the_envelope(store: Store, generator: Instance, drainer: Instance) -> None:
    """By length, so that neither needs to be read to find the other; empty details are details."""
    fail(generator, 1, details=b"")

    (record,) = drainer.drain().records

    assert (record.details, record.envelope.split()[0]) == (b"", b"1-tag")
