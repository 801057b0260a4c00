"""leave.lua: an instance or a drainer goes in order."""

import pytest

from soloist.store.envelope import pack
from tests.servers import Store
from tests.store.acting import Instance, Joins, dies, ids
from tests.store.state import (
    attempts_of,
    check_equation,
    dump,
    full_memory,
    logged,
    nothing_changes,
    numbers,
    silence,
    term_of,
    tokens,
    waiting,
)
from tests.turns import Done


def test_what_it_holds_is_given_back_to_the_head_in_order(store: Store, generator: Instance, joined: Joins) -> None:
    """By number, however the claims were spread over its turns; no death is counted."""
    generator.publish(12)
    handler = joined()
    handler.next(want=2)
    held = ids(handler.next(want=3))
    handler.next(want=1, completed=held[:1])

    assert handler.leave() == 5

    assert numbers(waiting(store, "pending")) == [1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    assert attempts_of(store, "1-tag") is None


def test_numbers_are_ordered_as_numbers(store: Store, generator: Instance, joined: Joins) -> None:
    """10 comes after 9."""
    generator.publish(12)
    handler = joined()
    handler.next(want=12)
    handler.next(want=12)

    assert handler.leave() == 12
    assert numbers(waiting(store, "pending")) == list(range(1, 13))


def test_more_than_8000_messages_are_given_back(store: Store, joined: Joins) -> None:
    """In chunks: unpack stops below 8,000, and a script that raised would strand them."""
    joined()
    handler = joined()
    handler.holds([pack(f"{number}-tag", "default", 5, b"") for number in range(8_500, 0, -1)])

    assert handler.leave() == 8_500
    assert numbers(waiting(store, "pending")) == list(range(1, 8_501))


def test_nothing_of_it_remains(store: Store, joined: Joins) -> None:
    """Every key of an instance goes away with it; so do its will and its place in line."""
    joined().beat()
    before = dump(store.link, store.keys)
    handler = joined()
    handler.beat()
    assert handler.id in str(dump(store.link, store.keys)["line"])

    assert handler.leave() == 0

    after = dump(store.link, store.keys)
    for state in (before, after):
        del state["log"], state["meta"]
    assert after == before


def test_its_term_is_vacant(store: Store, generator: Instance) -> None:
    """Losing presence vacates the term; seq and cursors stay for the next."""
    generator.send_page(generator.page(3, cursor="row 3"))

    generator.leave()

    stored = term_of(store)
    assert (stored["instance"], stored["deadline"]) == ("", "0")
    assert (stored["term"], stored["seq"], stored["cursor:generator"]) == ("1", "3", "row 3")


def test_the_term_of_another_stays(store: Store, generator: Instance, joined: Joins) -> None:
    """Only the holder vacates."""
    before = term_of(store)
    joined().leave()

    assert term_of(store) == before


def test_what_has_deaths_goes_back_to_those_that_wait_again(store: Store, generator: Instance, joined: Joins) -> None:
    """Leaves and deploys are not deaths: they are neither counted nor forgotten."""
    generator.publish(4)
    victim, handler = joined(), joined()
    victim.next(want=1)
    dies(victim, generator)
    handler.next(want=3)
    handler.next(want=3)
    assert len(handler.claimed) == 4

    handler.leave()

    assert numbers(waiting(store, "again")) == [1]
    assert numbers(waiting(store, "pending")) == [2, 3, 4]
    assert attempts_of(store, "1-tag") == (1, 0, 0, 0)


def test_a_suspect_goes_back_to_the_suspects(store: Store, generator: Instance, joined: Joins) -> None:
    """A deploy while it is handled must not make it poison."""
    generator.publish(1)
    for _ in range(store.settings.max_attempts - 1):
        victim = joined()
        victim.next(want=1)
        dies(victim, generator)
    before = attempts_of(store, "1-tag")
    handler = joined()
    handler.next(want=1)

    assert handler.leave() == 1

    assert numbers(waiting(store, "suspect")) == [1]
    assert attempts_of(store, "1-tag") == before


def test_what_it_drained_is_back_in_the_error_store(store: Store, generator: Instance, joined: Joins) -> None:
    """In the old order: another drainer gets the same."""
    generator.publish(3)
    generator.next(failed=ids(generator.next(want=3)))
    drainer, other = joined(drains=True), joined(drains=True)
    drained = drainer.drain().records
    assert len(drained) == 3

    assert drainer.leave() == 0

    assert check_equation(store).errors == 3
    assert other.drain().records == drained


def test_the_bells_ring_for_what_was_given_back(store: Store, generator: Instance, joined: Joins) -> None:
    """Somebody must come for it; who gives nothing back rings for nothing."""
    generator.publish(1)
    handler = joined()
    handler.next(want=1)
    silence(store)

    handler.leave()
    assert tokens(store) == 1
    silence(store)
    joined().leave()

    assert tokens(store) == 0


def test_leaving_is_logged(store: Store, generator: Instance, joined: Joins) -> None:
    """Of instances; drainers come and go unseen."""
    generator.publish(1)
    handler = joined()
    handler.next(want=1)
    handler.leave()
    joined(drains=True).leave()

    assert logged(store, "left") == [{"event": "left", "number": "2", "instance": handler.id, "messages": "1"}]


def test_who_is_not_there_cannot_leave(store: Store, joined: Joins, said: dict[str, list[str]]) -> None:
    """The repeat after a lost answer, and the late copy: GONE, and nothing changes."""
    joined()
    handler = joined()
    handler.leave()

    with nothing_changes(store):
        assert handler.leave() is None
        assert Instance(store).leave() is None

    assert said["leave"] == ["OK", "GONE", "GONE"]


def test_a_late_leave_does_not_touch_the_reborn(store: Store, generator: Instance, joined: Joins) -> None:
    """The new id is another one, although the number is the same."""
    generator.publish(2)
    handler = joined()
    handler.leave()
    reborn = joined(number=2)
    reborn.next(want=1)

    with nothing_changes(store):
        assert handler.leave() is None

    assert reborn.claimed == ["1-tag"]


def test_a_late_leave_after_reclaim_changes_nothing(store: Store, generator: Instance, joined: Joins) -> None:
    """What was reclaimed is in other hands."""
    generator.publish(2)
    handler = joined()
    handler.next(want=1)
    dies(handler, generator)
    generator.next(want=1)

    with nothing_changes(store):
        assert handler.leave() is None


def test_kinds_that_were_not_given_are_answered_and_the_caller_repeats(
    store: Store, generator: Instance, said: dict[str, list[str]]
) -> None:
    """A script touches no key that it was not passed: it changes nothing and names the kinds."""
    generator.publish({"mail": 1, "order": 1})
    generator.next_of({"mail": Done(want=1), "order": Done(want=1)})

    assert generator.leave(kinds=["default"]) == 2

    assert said["leave"] == ["KINDS", "OK"]
    assert numbers(waiting(store, "pending", "mail") + waiting(store, "pending", "order")) == [1, 2]


def test_nothing_is_changed_before_all_kinds_are_given(
    store: Store, generator: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole or not at all: the first answer, KINDS, finds everything as it was."""
    generator.publish({"mail": 1, "order": 1})
    generator.next_of({"mail": Done(want=1), "order": Done(want=1)})
    before = dump(store.link, store.keys)
    between: list[bool] = []
    ask_again = store.keys.of_kinds

    def watched(kinds: list[str]) -> list[str]:
        if len(kinds) > 1:
            between.append(dump(store.link, store.keys) == before)
        return ask_again(kinds)

    monkeypatch.setattr(store.keys, "of_kinds", watched)
    generator.leave(kinds=["default"])

    assert between[0] is True


def test_leaving_works_when_memory_is_full(store: Store, generator: Instance, joined: Joins) -> None:
    """An instance that stops must not leave its messages behind."""
    generator.publish(2)
    handler = joined()
    handler.next(want=1)

    with full_memory(store):
        assert handler.leave() == 1


def test_who_came_while_the_namespace_was_purged_leaves_nothing_behind(store: Store, joined: Joins) -> None:
    """Purge removes the keys that it found; whoever joined after it looked has a hash, and no presence."""
    instance = joined()
    store.link.command("DEL", store.keys.instances)

    assert instance.leave() is None

    assert store.link.command("EXISTS", store.keys.instance(instance.id)) == 0
