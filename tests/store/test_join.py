"""join.lua: an instance or a drainer takes its place in the namespace."""

from dataclasses import replace

import pytest

from soloist.errors import Defect, Forbidden, NamespaceError
from soloist.settings import Settings
from soloist.store.guard import EmptyNamespace
from soloist.store.link import Link
from soloist.store.server import Server
from tests.servers import Store
from tests.store.acting import Instance, Joins
from tests.store.state import check_equation, dump, full_memory, hash_of, logged, nothing_changes


def test_numbers_count_up(store: Store) -> None:
    """Instances are numbered in the order in which they join."""
    first, second, third = (Instance(store).join() for _ in range(3))

    assert [first.number, second.number, third.number] == [1, 2, 3]


def test_a_number_is_never_given_twice(store: Store, joined: Joins) -> None:
    """A number of one that left is not given to another."""
    joined().leave()

    assert Instance(store).join().number == 2


def test_a_reborn_instance_keeps_its_number(store: Store, joined: Joins) -> None:
    """A rebirth names its number: people know it by that. Others count on."""
    joined()
    joined().leave()

    assert Instance(store, number=2).join().number == 2
    assert Instance(store).join().number == 3


def test_a_new_instance_is_present_with_turn_0(store: Store) -> None:
    """Join stores presence for one claim lease, turn 0, the stamp that it answers, and a will that is not yet there."""
    instance = Instance(store, kinds=("mail", "order"))

    answer = instance.join()

    assert instance.deadline == answer.now_ms + store.settings.claim_lease_ms
    assert instance.will_stored == (0, store.settings.heartbeat_ms, 0, store.settings.claim_lease_ms)
    fields = instance.fields
    assert fields["number"] == "1"
    assert (fields["host"], fields["pid"], fields["started"]) == ("host", "17", str(answer.now_ms))
    assert (fields["turn"], fields["stamp"], fields["before"]) == ("0", answer.stamp, "")
    assert fields["beat"] == fields["since"] == str(answer.now_ms)
    assert answer.stamp.startswith(str(answer.now_ms))
    assert len(answer.stamp) == len(str(answer.now_ms)) + 3, "a stamp has all digits of a microsecond"


def test_the_namespace_remembers_app_protocol_and_kinds(store: Store) -> None:
    """The first to join names the namespace; its kinds are known from then on, even if nothing was published yet."""
    Instance(store, kinds=("mail", "order")).join()

    seen = check_equation(store)
    assert seen.meta == {"app": "demo", "protocol": "4", "numbers": "1"}
    assert [kind.name for kind in seen.kinds] == ["mail", "order"]


def test_joining_is_logged(store: Store) -> None:
    """One entry in the common log per transition."""
    instance = Instance(store)
    instance.join()

    assert logged(store, "joined") == [
        {"event": "joined", "number": "1", "instance": instance.id, "host": "host", "pid": "17"}
    ]


def test_a_drainer_has_no_number_and_is_not_among_the_instances(store: Store, joined: Joins) -> None:
    """Drainers are never counted, listed or logged; but judged alike, so they have a presence and a will."""
    joined()
    drainer = Instance(store, drains=True)

    answer = drainer.join()

    assert answer.number == -1
    assert drainer.deadline == answer.now_ms + store.settings.claim_lease_ms
    seen = check_equation(store)
    assert list(seen.found.drainers) == [drainer.id]
    assert drainer.id not in seen.found.instances
    assert seen.meta["numbers"] == "1"
    assert len(logged(store, "joined")) == 1


def test_the_copy_of_a_join_is_refused(store: Store, said: dict[str, list[str]]) -> None:
    """A late copy of a join whose id is present changes nothing."""
    instance = Instance(store)
    instance.join()

    with nothing_changes(store), pytest.raises(Defect, match=instance.id):
        instance.join()

    assert said["join"] == ["OK", "TAKEN"]


def test_an_id_cannot_be_instance_and_drainer(store: Store, joined: Joins, said: dict[str, list[str]]) -> None:
    """An id is taken whatever its owner does."""
    instance = joined()
    copy = Instance(store, drains=True)
    copy.who = replace(instance.who, drains=True)

    with nothing_changes(store), pytest.raises(Defect):
        copy.join()

    assert said["join"] == ["OK", "TAKEN"]


def test_the_copy_of_a_join_that_comes_after_leave_ends_with_its_lease(store: Store, joined: Joins) -> None:
    """A join is never repeated. A late copy of it makes a presence that nobody extends; judges end it, nothing remains."""
    judge, instance = joined(), joined()
    instance.leave()
    before = dump(store.link, store.keys)

    instance.join()
    instance.lease_ended()
    judge.becomes_judge()

    assert judge.reclaim(instance) == 0
    after = dump(store.link, store.keys)
    assert set(after) - set(before) == {"totals"}
    assert after["instances"] == before["instances"]
    assert after["wills"] == before["wills"]


def test_an_instance_of_another_app_is_refused(store: Store, joined: Joins, said: dict[str, list[str]]) -> None:
    """The namespace belongs to the App that made it. The error names it, and nothing is changed."""
    joined()
    stranger = Instance(store)
    stranger.who = replace(stranger.who, app="orders")

    with nothing_changes(store), pytest.raises(NamespaceError, match="belongs to the App 'demo', not to 'orders'"):
        stranger.join()

    assert said["join"][-1] == "APP"


def test_a_drainer_joins_whatever_the_app_is(joined: Joins) -> None:
    """Who only looks or drains names no App."""
    joined()

    assert joined(drains=True).deadline is not None


@pytest.mark.parametrize("drains", [False, True])
def test_another_version_of_the_protocol_is_refused(
    store: Store, joined: Joins, said: dict[str, list[str]], drains: bool
) -> None:
    """Nobody speaks to a namespace of another version: it would not know what it changes."""
    joined()
    store.link.command("HSET", store.keys.meta, "protocol", 99)

    with nothing_changes(store), pytest.raises(NamespaceError, match="speaks version 99 of the protocol"):
        Instance(store, drains=drains).join()

    assert said["join"][-1] == "PROTOCOL"


def test_a_drainer_finds_no_namespace_where_there_is_none(store: Store, said: dict[str, list[str]]) -> None:
    """Who names no App does not make a namespace."""
    with pytest.raises(EmptyNamespace, match=store.keys.namespace):
        Instance(store, drains=True).join()

    assert said["join"] == ["EMPTY"]
    assert dump(store.link, store.keys) == {}


def test_an_instance_joins_when_memory_is_full(store: Store) -> None:
    """Whoever can empty the queues must be let in."""
    instance = Instance(store)

    with full_memory(store):
        instance.join()

    assert hash_of(store, store.keys.instance(instance.id))["turn"] == "0"


def test_a_missing_permission_is_named_before_anything_is_written(store: Store) -> None:
    """A command refused in mid-script would leave what was written before it."""
    user = f"user-{store.keys.namespace}"
    rules = ["on", ">secret", f"~{store.keys.base}*", "+@read", "+@write", "+eval", "+evalsha", "+time", "-xadd"]
    store.link.command("ACL", "SETUSER", user, *rules)
    restricted = Server(store.server.url.replace("redis://", f"redis://{user}:secret@"))
    link = Link(restricted, timeout=5)
    try:
        with nothing_changes(store), pytest.raises(Forbidden, match="XADD"):
            Instance(Store(restricted, link, store.keys, Settings())).join()
    finally:
        link.close()
        store.link.command("ACL", "DELUSER", user)


def test_a_reborn_instance_in_an_emptied_namespace_keeps_its_number_to_itself(store: Store) -> None:
    """After purge or data loss the counter begins anew; it goes on above those who come back."""
    assert Instance(store, number=2).join().number == 2
    assert Instance(store).join().number == 3
