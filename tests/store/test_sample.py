"""sample.lua: the history, one sample a second, written by the generator alone."""

from soloist.store.history import SECONDS, Sample, read_history, sample
from tests.servers import Store
from tests.store.acting import Instance, Joins, ids
from tests.store.state import hash_of, logged, nothing_changes, now_ms
from tests.waiting import wait_until


def note(instance: Instance, term: int = 1) -> None:
    store = instance.store
    sample(store.link, store.keys, instance.id, term, instance.who.kinds)


def next_second(store: Store) -> None:
    """The sample before was taken in another second."""
    store.link.command("HSET", store.keys.term, "sampled", 1)


def samples(store: Store) -> list[Sample]:
    return read_history(store.link, store.keys)


def test_a_sample_says_what_there_is(store: Store, generator: Instance, joined: Joins) -> None:
    """The same totals as the snapshot; pending without what is claimed, and since when the oldest waits."""
    handler = joined()
    generator.publish(5)
    claimed = ids(handler.next(want=3))
    handler.next(completed=claimed[:1], failed=claimed[1:2])

    note(generator)

    (seen,) = samples(store)
    assert (seen.published, seen.completed, seen.failed, seen.pending, seen.instances) == (5, 1, 1, 2, 2)
    assert abs(seen.oldest_pending_ms - (seen.at_ms - 5)) < 1000, "published at 5, as the tests do"


def test_without_messages_nothing_waits(store: Store, generator: Instance) -> None:
    note(generator)

    (seen,) = samples(store)
    assert (seen.published, seen.pending, seen.oldest_pending_ms) == (0, 0, 0)


def test_a_second_has_one_sample(store: Store, generator: Instance) -> None:
    """Safe to repeat."""

    def noted_twice_in_one_second() -> bool:
        store.link.command("DEL", store.keys.history)
        next_second(store)
        begun = now_ms(store) // 1000
        note(generator)
        note(generator)
        return begun == now_ms(store) // 1000

    wait_until(noted_twice_in_one_second, what="both calls within one second")
    assert len(samples(store)) == 1

    next_second(store)
    note(generator)
    assert len(samples(store)) == 2


def test_only_who_holds_the_term_notes(store: Store, generator: Instance, joined: Joins) -> None:
    """Neither a handler, nor a generator of an old term."""
    handler = joined()

    with nothing_changes(store):
        note(handler)
        note(generator, term=2)


def test_the_history_is_bounded(store: Store, generator: Instance) -> None:
    """About an hour; the server may keep a few more to save itself work."""
    for _ in range(SECONDS + 500):
        store.link.command("XADD", store.keys.history, "*", "published", 1)

    note(generator)

    assert store.link.command("XLEN", store.keys.history) <= SECONDS + 100


def test_failures_come_into_the_common_log_in_bursts(store: Store, generator: Instance) -> None:
    """One entry for all that failed, and the next not before ten seconds are over."""
    generator.publish(6)
    claimed = ids(generator.next(want=6))
    generator.next(failed=claimed[:2])
    note(generator)
    generator.next(failed=claimed[2:5])
    next_second(store)
    note(generator)
    assert [entry["messages"] for entry in logged(store, "failed")] == ["2"]

    store.link.command("HSET", store.keys.term, "failed_noted_at", now_ms(store) - 10_000)
    next_second(store)
    note(generator)

    assert [entry["messages"] for entry in logged(store, "failed")] == ["2", "3"]
    assert hash_of(store, store.keys.term)["failed_noted"] == "5"


def test_what_was_put_back_and_fails_again_is_told_again(store: Store, generator: Instance) -> None:
    store.link.command("HSET", store.keys.term, "failed_noted", 7)
    note(generator)

    assert hash_of(store, store.keys.term)["failed_noted"] == "0"
    assert logged(store, "failed") == []
