"""publish.lua: the generator publishes one page of one source, whole and once."""

from dataclasses import replace

import pytest

from soloist.errors import Unavailable
from soloist.store.messages import Full, PageCall
from soloist.store.replies import TermOver
from tests.servers import Store
from tests.store.acting import DEPARTURES, Departure, Instance, Joins
from tests.store.state import (
    check_equation,
    full_memory,
    nothing_changes,
    numbers,
    refused,
    silence,
    term_ended,
    term_of,
    tokens,
    total,
    waiting,
)


def test_numbers_are_contiguous_across_pages_and_terms(store: Store, generator: Instance, joined: Joins) -> None:
    """No gap, no repeat: 1, 2, 3, … whoever generates."""
    generator.publish(3)
    generator.publish(2)
    generator.leave()
    successor = joined()
    successor.beat(tag="next")
    successor.publish(2)

    assert waiting(store, "pending") == ["1-tag", "2-tag", "3-tag", "4-tag", "5-tag", "6-next", "7-next"]
    assert (term_of(store)["seq"], term_of(store)["call"]) == ("7", "1")


def test_publishing_counts(store: Store, generator: Instance) -> None:
    """In all, per kind, and for the instance that generated."""
    generator.publish({"mail": 2, "order": 1})

    assert [total(store, name) for name in ("published", "published:mail", "published:order")] == [3, 2, 1]
    assert generator.fields["generated"] == "3"


def test_a_page_of_several_kinds_goes_to_the_list_of_each(store: Store, generator: Instance) -> None:
    """In the order of the page; kinds that nobody handles yet are known and waited for."""
    generator.publish({"mail": 2, "order": 1, "x.y/z": 2})

    assert numbers(waiting(store, "pending", "mail")) == [1, 2]
    assert numbers(waiting(store, "pending", "order")) == [3]
    assert numbers(waiting(store, "pending", "x.y/z")) == [4, 5]
    assert [kind.name for kind in check_equation(store).kinds] == ["default", "mail", "order", "x.y/z"]


@pytest.mark.parametrize("count", [1_000, 1_001, 8_001, 20_000])
def test_a_large_page_is_published_whole(store: Store, generator: Instance, count: int) -> None:
    """Lua's unpack stops below 8,000 values: the script goes in chunks, and the order holds across them."""
    generator.publish({"mail": count, "order": 3})

    assert numbers(waiting(store, "pending", "mail")) == list(range(1, count + 1))
    assert numbers(waiting(store, "pending", "order")) == [count + 1, count + 2, count + 3]


def test_cursor_and_tick_are_stored_with_the_messages(store: Store, generator: Instance) -> None:
    """In one step; of a page that names none, the old ones stay; an empty cursor is a cursor."""
    generator.send_page(generator.page(1, cursor="row 7", tick=1234))
    generator.send_page(generator.page(1))
    assert (term_of(store)["cursor:generator"], term_of(store)["tick:generator"]) == ("row 7", "1234")

    generator.send_page(generator.page(1, cursor=""))

    assert (term_of(store)["cursor:generator"], term_of(store)["tick:generator"]) == ("", "1234")


def test_each_source_has_its_own_cursor(store: Store, generator: Instance) -> None:
    """Sources share the numbers of calls and messages, and nothing else."""
    generator.send_page(generator.page(1, cursor="a", tick=1))
    generator.send_page(replace(generator.page(1, cursor="b", tick=2), source="outbox"))

    stored = term_of(store)
    assert (stored["cursor:generator"], stored["cursor:outbox"]) == ("a", "b")
    assert (stored["tick:generator"], stored["tick:outbox"]) == ("1", "2")


def test_a_page_without_messages_stores_its_cursor_by_the_same_rule(store: Store, generator: Instance) -> None:
    """It uses a call number like any other, and its repeat is applied once."""
    page = generator.page({}, cursor="row 9", tick=77)
    generator.send_page(page)

    stored = term_of(store)
    assert (stored["cursor:generator"], stored["tick:generator"], stored["call"], stored["seq"]) == (
        "row 9",
        "77",
        "1",
        "0",
    )
    assert total(store, "published") == 0
    with nothing_changes(store):
        generator.send_page(page)


def test_publishing_renews_the_term_but_not_the_presence(store: Store, generator: Instance) -> None:
    """An applied publish extends the term; only a beat extends presence. A late holder that nobody challenged goes on."""
    term_ended(store)
    presence = generator.deadline

    now = generator.send_page(generator.page())

    assert term_of(store)["deadline"] == str(now + store.settings.lease_ms)
    assert term_of(store)["renewed"] == str(now)
    assert generator.deadline == presence


def test_publishing_rings_the_bells(store: Store, generator: Instance) -> None:
    """Of each kind in the page, with one token however many pages come."""
    generator.publish({"mail": 3, "order": 1})
    generator.publish({"mail": 3})

    assert [tokens(store, kind) for kind in ("mail", "order", "default")] == [1, 1, 0]


# The repeat.


def test_a_repeated_call_is_applied_once(store: Store, generator: Instance, said: dict[str, list[str]]) -> None:
    """The answer was lost: the same call again is answered OK, and nothing is changed."""
    page = generator.page(3, cursor="row 3", tick=5)
    generator.send_page(page)
    silence(store)

    with nothing_changes(store):
        generator.send_page(page)
        generator.send_page(page)

    assert said["publish"] == ["OK", "OK", "OK"]


# What does not fit.


def test_a_late_copy_of_an_older_call_changes_nothing(store: Store, generator: Instance) -> None:
    """Arriving after newer calls, it is refused."""
    page = generator.publish(2)
    generator.publish(2)

    with refused(store, "publish"):
        generator.send_page(page)


def test_a_call_that_skips_a_number_is_refused(store: Store, generator: Instance) -> None:
    """A call before it is missing: the sender has to be reborn."""
    generator.publish()
    page = generator.page()

    with refused(store, "publish"):
        generator.send_page(replace(page, call=page.call + 1))


@pytest.mark.parametrize("off", [-1, 1])
def test_a_wrong_first_number_is_refused(store: Store, generator: Instance, off: int) -> None:
    """As after a roll-back of Redis: the numbers would come twice, or leave a gap."""
    generator.publish(5)
    page = generator.page(2)

    with refused(store, "publish"):
        generator.send_page(replace(page, first=page.first + off))


@pytest.mark.parametrize("off", [-1, 1])
def test_another_term_is_refused(store: Store, generator: Instance, off: int) -> None:
    """Only the term is over: presence and claims are not."""
    generator.publish()
    page = generator.page()

    with refused(store, "publish", TermOver):
        generator.send_page(replace(page, term=page.term + off))


def test_a_deposed_generator_is_refused(store: Store, generator: Instance, joined: Joins) -> None:
    """Once term t+1 has begun, nothing of term t is accepted: neither a new call nor the repeat of its last."""
    old = generator.publish()
    successor = joined()
    successor.heard_for(store.settings.lease_ms)
    term_ended(store)
    assert successor.beat().role == "elected"

    for page in (generator.page(), old):
        with refused(store, "publish", TermOver):
            generator.send_page(page)
    successor.publish()
    for page in (generator.page(), old):
        with refused(store, "publish", TermOver):
            generator.send_page(page)


def test_a_resigned_generator_is_refused(store: Store, generator: Instance) -> None:
    """The term is vacant: it is nobody's, hence not its own."""
    page = generator.page()
    generator.beat(may_generate=False)

    with refused(store, "publish", TermOver):
        generator.send_page(page)


def test_the_same_term_of_another_instance_is_refused(store: Store, generator: Instance, joined: Joins) -> None:
    """After a failover a term number can come again, an instance id cannot: both are compared."""
    other = joined()
    other.term = generator.term
    other.seq = generator.seq

    with refused(store, "publish", TermOver):
        other.send_page(other.page())


def test_a_generator_without_presence_is_refused(store: Store, generator: Instance, joined: Joins) -> None:
    """Presence comes first, even if the term still bears its name."""
    joined()
    store.link.command("ZREM", store.keys.instances, generator.id)

    with refused(store, "publish"):
        generator.send_page(generator.page())
    store.link.command("ZADD", store.keys.instances, 10**14, generator.id)


@pytest.mark.parametrize("departs", DEPARTURES)
def test_late_copies_of_one_that_is_gone_change_nothing(
    store: Store, generator: Instance, joined: Joins, departs: Departure
) -> None:
    """After leave, reclaim or rebirth neither its last call nor a next one is accepted, also if the term is vacant."""
    old, new = generator.publish(2), generator.page(2)
    departs(generator, joined())

    for page in (old, new):
        with refused(store, "publish"):
            generator.send_page(page)


# Too much.


def test_above_max_pending_nothing_is_accepted(store: Store, generator: Instance, said: dict[str, list[str]]) -> None:
    """FULL leaves everything as it is, the call number unused: the same call is accepted once there is room."""
    generator.store = replace(store, settings=replace(store.settings, max_pending=3))
    generator.publish(2)
    generator.publish(2)
    page = generator.page(2, cursor="row 6")

    with nothing_changes(store), pytest.raises(Full):
        generator.send_page(page)
    generator.next(want=2)
    generator.send_page(page)

    assert said["publish"] == ["OK", "OK", "FULL", "OK"]
    assert numbers(waiting(store, "pending")) == [3, 4, 5, 6]


def test_one_full_kind_stops_the_page(store: Store, generator: Instance) -> None:
    """A page is accepted whole or not at all."""
    generator.store = replace(store, settings=replace(store.settings, max_pending=3))
    generator.publish({"mail": 3})

    with nothing_changes(store), pytest.raises(Full):
        generator.send_page(generator.page({"order": 1, "mail": 1}))


def test_messages_that_wait_again_count_as_pending(store: Store, generator: Instance) -> None:
    """max_pending bounds memory, wherever a message waits."""
    generator.store = replace(store, settings=replace(store.settings, max_pending=3))
    generator.publish(3)
    store.link.command("RENAME", store.keys.pending("default"), f"{store.keys.base}again:default")

    with pytest.raises(Full):
        generator.send_page(generator.page())


def test_a_page_without_messages_is_accepted_when_full(store: Store, generator: Instance) -> None:
    """It needs no room."""
    generator.store = replace(store, settings=replace(store.settings, max_pending=1))
    generator.publish()

    generator.send_page(generator.page({}, cursor="row 1"))

    assert term_of(store)["cursor:generator"] == "row 1"


def test_a_page_is_refused_whole_when_memory_is_full(store: Store, generator: Instance) -> None:
    """Publish may not use memory that is not there: nothing is changed, and the same call is accepted afterwards."""
    generator.publish()
    page: PageCall = generator.page(3, cursor="row 4")

    with full_memory(store), nothing_changes(store), pytest.raises(Unavailable) as refusal:
        generator.send_page(page)
    assert refusal.value.refused
    generator.send_page(page)

    assert numbers(waiting(store, "pending")) == [1, 2, 3, 4]


def test_a_repeat_refused_for_lack_of_memory_is_still_a_repeat(store: Store, generator: Instance) -> None:
    """The refusal says nothing about the copy before it, whose answer was lost: that one was applied, and counts."""
    page = generator.publish(3)

    with full_memory(store), pytest.raises(Unavailable):
        generator.send_page(page)
    with nothing_changes(store):
        generator.send_page(page)
