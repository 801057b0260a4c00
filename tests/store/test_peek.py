"""peek.lua and the error store: error records looked at in pages, by time, kind, reason and type."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from soloist.error_filter import EVERYTHING, ErrorFilter, error_filter
from soloist.error_store import ErrorStore
from soloist.errors import ForeignData
from soloist.store import records
from soloist.store.envelope import pack
from tests.servers import Store
from tests.store.acting import Instance, ids
from tests.store.state import check_equation, nothing_changes, total

Stores = Callable[..., ErrorStore]


@pytest.fixture
def errors(store: Store) -> Iterator[Stores]:
    """Makes error stores that look at those that are asked for."""
    made: list[ErrorStore] = []

    def look(**conditions: Any) -> ErrorStore:
        only: ErrorFilter = error_filter(**conditions) if conditions else EVERYTHING
        made.append(ErrorStore(store.server, store.keys.namespace, only))
        return made[-1]

    yield look
    for each in made:
        each.close()


def put(
    store: Store, *failures: tuple[str, int], kind: str = "default", reason: str = "why", body: bytes = b"x"
) -> None:
    """Records of these ids that failed at these times (server µs), as the scripts write them. The books are set right."""
    details = json.dumps({"reason": reason, "type": "ValueError", "handler": "ann", "attempts": 1}).encode()
    for ident, failed_us in failures:
        stored = b"%d %d %b%b" % (failed_us, len(details), details, pack(ident, kind, 1, body))
        store.link.command("HSET", store.keys.errors, ident, stored)
        store.link.command("ZADD", store.keys.errors_by_time, failed_us, ident)
        for name in ("published", "failed"):
            store.link.command("HINCRBY", store.keys.totals, name, 1)
            store.link.command("HINCRBY", store.keys.totals, f"{name}:{kind}", 1)
    store.link.command("SADD", store.keys.kinds, kind)
    check_equation(store)


def found(of: ErrorStore) -> list[str]:
    return [record.id for record in of.oldest()]


@pytest.mark.parametrize("many", [records.PAGE - 1, records.PAGE, 2 * records.PAGE + 1])
def test_all_are_read_once_in_the_order_of_their_failures(store: Store, errors: Stores, many: int) -> None:
    """However the pages fall."""
    put(store, *((f"{number}-t", 10 * number) for number in range(1, many + 1)))
    expected = [f"{number}-t" for number in range(1, many + 1)]

    assert found(errors()) == expected
    assert [record.id for record in errors().newest()] == expected[::-1]
    assert [record.id for record in errors().newest(3)] == expected[:-4:-1]
    assert errors().count() == many


@pytest.mark.parametrize("newest", [False, True])
def test_many_that_failed_at_the_same_moment_are_read_once(store: Store, newest: bool) -> None:
    """The place in time alone does not say where the page before ended."""
    together = [(f"{number}-t", 7) for number in range(2 * records.PAGE + 5)]
    put(store, ("0-a", 6), *together, ("0-z", 8))

    read = [each.id for page in records.pages(store.link, store.keys, newest=newest) for each in page]

    assert len(read) == len(set(read)) == len(together) + 2
    assert [read[0], read[-1]] == (["0-z", "0-a"] if newest else ["0-a", "0-z"])


def test_a_page_of_large_records_is_small(store: Store) -> None:
    """Memory is needed for about a megabyte, and for one record at least."""
    put(store, *((f"{number}-t", number) for number in range(1, 8)), body=b"x" * 400_000)
    put(store, ("8-t", 8), body=b"x" * 3_000_000)

    pages = list(records.pages(store.link, store.keys))

    assert [len(page) for page in pages] == [2, 2, 2, 1, 1]


def test_where_no_bodies_are_asked_for_none_are_sent(store: Store) -> None:
    """What is counted or put back need not be read."""
    put(store, ("1-t", 1), body=b"x" * 100_000)

    ((record,),) = records.pages(store.link, store.keys, bodies=False)

    assert len(record.envelope) < 1000
    assert record.envelope.startswith(b"1-t default ")


def test_what_fails_while_one_reads_is_not_among_them(store: Store) -> None:
    """So it comes to an end, however fast they fail."""
    put(store, *((f"{number}-t", number) for number in range(records.PAGE + 1)))
    pages = records.pages(store.link, store.keys)
    read = next(pages)

    put(store, ("late-t", 5000))

    assert [each.id for each in [*read, *next(pages)]][-1] == f"{records.PAGE}-t"
    assert list(pages) == []


def test_what_is_removed_while_one_reads_disturbs_nothing(store: Store, errors: Stores) -> None:
    """Places would move; times do not."""
    put(store, *((f"{number}-t", number) for number in range(3 * records.PAGE)))
    read: list[str] = []
    for record in errors().oldest():
        read.append(record.id)
        if len(read) % 100 == 0:
            errors().delete(read[-100:])

    assert len(read) == 3 * records.PAGE
    assert errors().count() == 0


def test_a_time_is_looked_up_by_the_server(store: Store, errors: Stores, said: dict[str, list[str]]) -> None:
    """Both ends are included; what lies elsewhere is not read."""
    put(store, *((f"{second}-t", second * 1_000_000) for second in range(1, 2001)))
    said.clear()

    assert found(errors(since=10, until=12)) == ["10-t", "11-t", "12-t"]
    assert said["peek"] == ["OK", "OK"]
    assert errors(since=10, until=12).count() == 3
    assert said["peek"] == ["OK", "OK"]
    assert errors(until=1999.5).count() == 1999
    assert errors(since="1h").count() == 0


def test_what_is_asked_for_is_found(store: Store, errors: Stores) -> None:
    put(store, ("1-t", 1), kind="mail", reason="Time-out: no answer")
    put(store, ("2-t", 2), kind="mail", reason="refused")
    put(store, ("3-t", 3), kind="order", reason="TIME-OUT")

    assert found(errors(reason="time-out")) == ["1-t", "3-t"]
    assert found(errors(kind="mail", reason="time-out")) == ["1-t"]
    assert errors(kind="mail").count() == 2
    assert errors(type="ValueError").count() == 3
    assert errors(type="Value").count() == 0


def test_only_what_is_asked_for_is_put_back(store: Store, errors: Stores) -> None:
    put(store, *((f"{number}-t", number) for number in range(1, 1201)), kind="mail", reason="time-out")
    put(store, ("9999-t", 9), kind="mail", reason="refused")

    assert errors(reason="time-out").requeue_all() == 1200

    assert found(errors()) == ["9999-t"]
    assert check_equation(store).kinds[0].waiting == 1200


def test_only_what_is_asked_for_is_deleted(store: Store, errors: Stores) -> None:
    put(store, ("1-t", 1), ("2-t", 2), kind="mail")
    put(store, ("3-t", 3), kind="order")

    assert errors(kind="mail").delete_all() == 2

    assert found(errors()) == ["3-t"]
    assert (total(store, "failed"), total(store, "discarded")) == (3, 2)
    check_equation(store)


def test_what_has_failed_again_since_it_was_seen_is_passed_over(
    store: Store, generator: Instance, errors: Stores
) -> None:
    """It is not the failure that was meant."""
    generator.publish(2)
    generator.next(failed=ids(generator.next(want=2)))
    (seen,) = records.pages(store.link, store.keys)
    failures = [(record.id, record.failed_us) for record in seen]
    errors().requeue([failures[0][0]])
    generator.next(failed=ids(generator.next(want=1)))

    with nothing_changes(store):
        assert errors().requeue_failures(failures[:1]) == 0
        assert errors().delete_failures(failures[:1]) == 0

    assert errors().delete_failures(failures) == 1


def test_an_id_without_a_record_is_passed_over(store: Store, errors: Stores) -> None:
    """Somebody else put it there."""
    put(store, ("1-t", 1), ("3-t", 3))
    store.link.command("ZADD", store.keys.errors_by_time, 2, "2-t")

    assert found(errors()) == ["1-t", "3-t"]


def test_what_is_no_record_is_named(store: Store, errors: Stores) -> None:
    store.link.command("HSET", store.keys.errors, "1-x", "theirs")
    store.link.command("ZADD", store.keys.errors_by_time, 5, "1-x")

    for of in (errors(), errors(kind="mail")):
        with pytest.raises(ForeignData, match="1-x"):
            list(of.oldest())
