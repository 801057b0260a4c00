"""Messages whose end somebody waits for: runs of schedules, and those that are unique by their key."""

import pytest

from soloist.store.messages import RetriedMessage, Run, Tally, TurnCall
from tests.servers import Store
from tests.store.acting import Instance, dies, ids
from tests.store.state import hash_of, nothing_changes, refused

RUN = "schedule:nightly"


@pytest.fixture
def generator(store: Store) -> Instance:
    generator = Instance(store)
    generator.join()
    generator.beat()
    return generator


def publish_runs(generator: Instance, count: int = 1) -> None:
    page = generator.page(count)
    generator.send_page(type(page)(**{**vars(page), "source": RUN}))


def runs(store: Store) -> dict[str, str]:
    return hash_of(store, store.keys.runs)


def tracked(store: Store) -> dict[str, str]:
    return hash_of(store, store.keys.tracked)


def test_what_a_schedule_publishes_is_tracked_as_its_runs(store: Store, generator: Instance) -> None:
    publish_runs(generator, 2)

    assert set(tracked(store).values()) == {"run 0 0 nightly"}
    assert runs(store) == {"running nightly": "2", "tick nightly": "0"}


def test_what_another_source_publishes_is_not_tracked(store: Store, generator: Instance) -> None:
    generator.publish(2)

    assert tracked(store) == runs(store) == {}


def test_a_page_that_is_repeated_is_tracked_once(store: Store, generator: Instance) -> None:
    page = generator.page(1)
    page = type(page)(**{**vars(page), "source": RUN})
    generator.send_page(page)

    generator.send_page(page)

    assert runs(store) == {"running nightly": "1", "tick nightly": "0"}


def test_a_claim_notes_when_the_run_began(store: Store, generator: Instance) -> None:
    publish_runs(generator)

    generator.next(1)

    (entry,) = tracked(store).values()
    began = runs(store)["began nightly"]
    assert entry == f"run {began} 0 nightly"
    assert int(began) > 0


def test_a_completed_run_leaves_its_result(store: Store, generator: Instance) -> None:
    publish_runs(generator)
    mine = ids(generator.next(1))

    generator.next(completed=mine)

    seen = runs(store)
    assert tracked(store) == {}
    assert seen["result nightly"] == "completed"
    assert int(seen["took nightly"]) == int(seen["ended nightly"]) - int(seen["began nightly"])
    assert not {"running nightly", "failures nightly"} & set(seen)


def test_failures_in_a_row_are_counted_until_one_completes(store: Store, generator: Instance) -> None:
    publish_runs(generator, 3)
    first, second, third = ids(generator.next(3))

    generator.next(failed=[first, second])
    assert (runs(store)["result nightly"], runs(store)["failures nightly"]) == ("failed", "2")

    generator.next(completed=[third])
    assert runs(store)["result nightly"] == "completed"
    assert "failures nightly" not in runs(store)


def test_a_run_that_is_tried_again_has_not_ended(store: Store, generator: Instance) -> None:
    publish_runs(generator)
    (mine,) = ids(generator.next(1))
    retried = Run(0, 1, mine, [RetriedMessage(0, mine, 60_000)])

    generator.send_turn(TurnCall(generator.turn + 1, generator.stamp, {"default": Tally(retried=1)}, [retried]))

    assert list(tracked(store)) == [mine.decode()]
    assert runs(store)["running nightly"] == "1"


def test_a_run_that_is_given_back_begins_anew_with_its_next_claim(store: Store, generator: Instance) -> None:
    publish_runs(generator)
    mine = ids(generator.next(1))
    generator.next(back=mine)
    store.link.command("HSET", store.keys.tracked, mine[0], "run 5 0 nightly")

    generator.next(1)

    assert tracked(store)[mine[0].decode()] != "run 5 0 nightly"


def test_a_run_that_is_reclaimed_has_not_ended_until_it_is_poison(store: Store, generator: Instance) -> None:
    """Two deaths are forgiven, the third is one too many."""
    publish_runs(generator)
    for deaths in range(1, 4):
        victim = Instance(store)
        victim.join()
        assert len(ids(victim.next(1))) == 1
        dies(victim, generator)
        assert len(tracked(store)) == (1 if deaths < 3 else 0)

    assert (runs(store)["result nightly"], runs(store)["failures nightly"]) == ("failed", "1")


def test_the_end_of_a_unique_message_frees_its_key(store: Store, generator: Instance) -> None:
    generator.publish(2)
    first, second = ids(generator.next(2))
    for message, key in ((first, "default a b"), (second, "default\nc")):
        store.link.command("HSET", store.keys.tracked, message, f"unique {key}")
        store.link.command("HSET", store.keys.unique, key, message)

    generator.next(completed=[first], failed=[second])

    assert tracked(store) == hash_of(store, store.keys.unique) == {}


def test_a_unique_message_that_is_poison_frees_its_key(store: Store, generator: Instance) -> None:
    """Not before: while it may be handled again it is there."""
    generator.publish(1)
    for deaths in range(1, 4):
        victim = Instance(store)
        victim.join()
        (mine,) = ids(victim.next(1))
        store.link.command("HSET", store.keys.tracked, mine, "unique default a")
        store.link.command("HSET", store.keys.unique, "default a", mine)
        dies(victim, generator)
        assert len(hash_of(store, store.keys.unique)) == (1 if deaths < 3 else 0)

    assert tracked(store) == {}


def test_a_key_that_is_another_messages_by_now_stays_its(store: Store, generator: Instance) -> None:
    generator.publish(1)
    (mine,) = ids(generator.next(1))
    store.link.command("HSET", store.keys.tracked, mine, "unique default a")
    store.link.command("HSET", store.keys.unique, "default a", "another")

    generator.next(completed=[mine])

    assert hash_of(store, store.keys.unique) == {"default a": "another"}


def test_a_repeated_next_ends_nothing_twice(store: Store, generator: Instance) -> None:
    publish_runs(generator, 2)
    mine = ids(generator.next(2))
    call = generator.turn_call(completed=[mine[0]])
    generator.send_turn(call)
    before = runs(store)

    with nothing_changes(store):
        generator.send_turn(call)

    assert runs(store) == before
    assert before["running nightly"] == "1"


def test_who_is_superseded_ends_nothing(store: Store, generator: Instance) -> None:
    publish_runs(generator)
    call = generator.turn_call(completed=ids(generator.next(1)))
    generator.leave()

    with refused(store, "next"):
        generator.send_turn(call)

    assert runs(store)["running nightly"] == "1"
