"""requeue.lua and discard.lua: what becomes of error records that are not drained."""

from itertools import chain

import pytest

from soloist.errors import Unavailable
from soloist.store import records
from soloist.store.records import Failure
from tests.servers import Store
from tests.store.acting import Instance, claimed_numbers, ids
from tests.store.state import check_equation, full_memory, nothing_changes, total


@pytest.fixture
def failures(store: Store, generator: Instance) -> list[Failure]:
    """Three messages that failed."""
    generator.publish(3)
    generator.next(failed=ids(generator.next(want=3)))
    return failures_in(store)


def failures_in(store: Store) -> list[Failure]:
    found = chain(*records.pages(store.link, store.keys))
    return [(record.id, record.failed_us) for record in found]


def test_requeued_messages_wait_again_as_if_they_had_not_failed(
    store: Store, generator: Instance, failures: list[Failure]
) -> None:
    """Pending in their old order, no longer failed, no longer in the error store; the bell rings."""
    assert records.requeue(store.link, store.keys, failures[:2]) == 2

    seen = check_equation(store)
    assert (seen.errors, total(store, "failed")) == (1, 1)
    assert store.link.command("LLEN", store.keys.bell("default")) == 1
    assert claimed_numbers(generator.next(want=5)) == [1, 2]


def test_a_repeated_requeue_changes_nothing(store: Store, failures: list[Failure]) -> None:
    """The answer was lost: the same call again finds nothing."""
    records.requeue(store.link, store.keys, failures)

    with nothing_changes(store):
        assert records.requeue(store.link, store.keys, failures, ["default"]) == 0


def test_a_late_copy_does_not_requeue_what_failed_again(
    store: Store, generator: Instance, failures: list[Failure]
) -> None:
    """The record of a second failure is another one: nobody asked for it to be put back."""
    records.requeue(store.link, store.keys, failures[:1])
    generator.next(failed=ids(generator.next(want=1)))

    with nothing_changes(store):
        assert records.requeue(store.link, store.keys, failures[:1], ["default"]) == 0
        assert records.discard(store.link, store.keys, failures[:1]) == 0


def test_kinds_that_were_not_given_are_asked_for(
    store: Store, failures: list[Failure], said: dict[str, list[str]]
) -> None:
    """Every key that a script touches is passed: the wrapper repeats with the kinds that it was told."""
    records.requeue(store.link, store.keys, failures)

    assert said["requeue"] == ["KINDS", "OK"]


def test_requeue_is_refused_whole_when_memory_is_full(store: Store, failures: list[Failure]) -> None:
    """It adds to what waits, as publishing does."""
    with full_memory(store), nothing_changes(store), pytest.raises(Unavailable):
        records.requeue(store.link, store.keys, failures, ["default"])


def test_discarded_records_are_gone_and_their_messages_stay_failed(store: Store, failures: list[Failure]) -> None:
    """Also when memory is full."""
    with full_memory(store):
        assert records.discard(store.link, store.keys, failures[1:]) == 2

    seen = check_equation(store)
    assert (seen.errors, total(store, "failed"), total(store, "discarded")) == (1, 3, 2)
    assert failures_in(store) == failures[:1]


def test_a_repeated_discard_changes_nothing(store: Store, failures: list[Failure]) -> None:
    records.discard(store.link, store.keys, failures)

    with nothing_changes(store):
        assert records.discard(store.link, store.keys, failures) == 0


def test_more_than_a_chunk_is_requeued_in_order(store: Store, generator: Instance) -> None:
    """Variadic calls go in chunks of 1,000 values."""
    generator.publish(2500)
    for _ in range(3):
        generator.next(failed=ids(generator.next(want=1000)))

    assert records.requeue(store.link, store.keys, failures_in(store)) == 2500

    assert claimed_numbers(generator.next(want=3)) == [1, 2, 3]
    check_equation(store)
