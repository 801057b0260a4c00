"""app_errors.py: the error records of an App in a program, on a real server."""

import asyncio
from pathlib import Path

import pytest

from soloist import App, Message, Reject
from soloist.errors import UsageError
from soloist.message import ErrorRecord
from soloist.runtime import drainer
from soloist.store import presence
from tests.servers import PrivateServer, Store
from tests.store.acting import Instance, ids
from tests.store.state import check_equation, total
from tests.waiting import wait_until

FAILED = 12


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of ours, no soloist.toml."""
    monkeypatch.delenv("SOLOIST_URL", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def app(server: PrivateServer, namespace: str) -> App:
    return App("demo", url=server.url, namespace=namespace)


@pytest.fixture
def failed(store: Store) -> Store:
    """So many error records of two kinds, by turns, and no instance alive."""
    kinds = ("default", "mail")
    instance = Instance(store, kinds=kinds)
    instance.join()
    instance.beat()
    for kind in kinds * (FAILED // 2):
        instance.publish({kind: 1})
        instance.next(failed=ids(instance.next(want=1, kind=kind)), kind=kind)
    instance.leave(kinds)
    return store


def numbers(records: list[ErrorRecord]) -> list[int]:
    return [int(record.id.partition("-")[0]) for record in records]


ALL = list(range(1, FAILED + 1))


# Looking.


def test_they_are_iterated_over_without_being_removed(app: App, failed: Store) -> None:
    assert numbers(list(app.errors)) == ALL
    assert numbers(list(app.errors.oldest(3))) == [1, 2, 3]
    assert numbers(list(reversed(app.errors))) == ALL[::-1]
    assert numbers(list(app.errors.newest(2))) == [12, 11]
    assert app.errors.count() == FAILED
    first = next(iter(app.errors))
    assert (first.kind, first.details.reason) == ("default", "it is erroneous")
    assert app.errors.get(first.id) == first
    assert app.errors.get("nothing") is None


def test_where_nothing_is_there_is_nothing_to_see(app: App) -> None:
    assert list(app.errors) == []
    assert list(app.errors.drain()) == []
    assert app.errors.count() == 0


def test_a_filter_answers_the_same_kind_of_object(app: App, failed: Store) -> None:
    of_mail = app.errors.filter(kind="mail", reason="ERRONEOUS", since="1h")

    assert numbers(list(of_mail)) == ALL[1::2]
    assert of_mail.count() == FAILED // 2
    assert app.errors.filter(until="1h").count() == 0


def test_another_server_may_be_named(server: PrivateServer, failed: Store) -> None:
    """As with `app.inspect`."""
    errors = App("demo").errors

    with pytest.raises(UsageError, match=r"needs a server .* name it with app.errors.at\(url\)"):
        errors.count()

    there = errors.at(server.url, namespace=failed.keys.namespace)
    assert there.count() == FAILED
    assert there.filter(kind="mail").count() == FAILED // 2


def test_those_of_a_running_instance_are_where_it_is(server: PrivateServer, namespace: str) -> None:
    """Nobody has to say it twice."""
    app = App("demo")

    @app.generator(every=0.02)
    def produce() -> str:
        return "text"

    @app.handler
    def handle(message: Message) -> None:
        raise Reject("no")

    app.start(server.url, namespace=namespace)
    try:
        wait_until(lambda: app.errors.count() > 2, what="messages have failed")
    finally:
        app.stop()

    assert {record.details.reason for record in app.errors} == {"no"}


def test_from_async_code_they_are_asked_in_a_thread(app: App, failed: Store) -> None:
    """As the manual says."""
    assert asyncio.run(asyncio.to_thread(app.errors.count)) == FAILED


# Putting back, deleting.


def test_records_and_ids_are_put_back(app: App, failed: Store) -> None:
    records = list(app.errors)

    assert app.errors.requeue(records[0], records[1].id, "nothing") == 2

    assert numbers(list(app.errors)) == ALL[2:]
    assert check_equation(failed).found.kinds == ["default", "mail"]


def test_a_record_whose_message_has_failed_again_is_not_the_one_that_was_seen(app: App, failed: Store) -> None:
    """It is named with the time of its failure."""
    seen = next(iter(app.errors))
    app.errors.requeue(seen)
    instance = Instance(failed)
    instance.join()
    instance.next(failed=ids(instance.next(want=1)))
    instance.leave()

    assert app.errors.delete(seen) == 0
    assert app.errors.requeue(seen) == 0
    assert app.errors.delete(seen.id) == 1


def test_those_that_a_filter_asks_for_are_put_back_or_deleted(app: App, failed: Store) -> None:
    assert app.errors.filter(kind="mail").requeue() == FAILED // 2
    assert app.errors.filter(kind="mail").delete() == 0
    assert app.errors.filter(kind="default").delete() == FAILED // 2
    assert app.errors.count() == 0
    check_equation(failed)


def test_everything_has_to_be_said(app: App, failed: Store) -> None:
    """A forgotten argument must not remove all."""
    for change in (app.errors.delete, app.errors.requeue, app.errors.filter().delete):
        with pytest.raises(UsageError, match="say which: records, ids, a filter, or everything=True"):
            change()

    assert app.errors.delete(everything=True) == FAILED


def test_what_cannot_be_meant_is_refused(app: App, failed: Store) -> None:
    """In a sentence that says where."""
    errors = app.errors
    with pytest.raises(UsageError, match=r"app.errors.delete\(…\): name records or say which by a filter, not both"):
        errors.filter(kind="mail").delete("1-tag")
    with pytest.raises(UsageError, match="not both"):
        errors.requeue("1-tag", everything=True)
    with pytest.raises(UsageError, match=r"app.errors.requeue\(5\): that is neither a record nor the id"):
        errors.requeue(5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"app.errors.filter\(since=…\): that is no time"):
        errors.filter(since="soon")
    with pytest.raises(UsageError, match="filtered already"):
        errors.filter(kind="mail").filter(reason="x")
    with pytest.raises(UsageError, match=r"app.errors.drain\(\) takes whatever is there"):
        errors.filter(kind="mail").drain()
    with pytest.raises(UsageError, match="-1 is no number of records"):
        list(errors.oldest(-1))
    assert errors.count() == FAILED


# Draining.


def test_what_is_drained_is_removed_when_the_next_one_is_asked_for(app: App, failed: Store) -> None:
    """When its turn in the loop is over, and no sooner."""
    removed: list[int] = []

    records = []
    for record in app.errors.drain():
        removed.append(total(failed, "drained"))
        records.append(record)

    assert numbers(records) == ALL
    assert removed == list(range(FAILED))
    assert total(failed, "drained") == FAILED
    assert check_equation(failed).drainers == []


@pytest.mark.parametrize("how", ["break", "raise"])
def test_who_leaves_the_loop_leaves_what_was_not_dealt_with(app: App, failed: Store, how: str) -> None:
    """The record at hand included."""

    def deal_with(most: int) -> None:
        with app.errors.drain() as records:
            for dealt_with, _ in enumerate(records):
                if dealt_with == most and how == "raise":
                    raise LookupError
                if dealt_with == most:
                    break

    if how == "raise":
        with pytest.raises(LookupError):
            deal_with(3)
    else:
        deal_with(3)

    assert check_equation(failed).drainers == []
    assert numbers(list(app.errors)) == ALL[3:]


def test_no_more_than_were_asked_for_are_taken(app: App, failed: Store) -> None:
    assert numbers(list(app.errors.drain(5))) == ALL[:5]
    assert app.errors.count() == FAILED - 5


def test_two_at_a_time_get_each_record_once(app: App, failed: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one has in hand the other does not see."""
    monkeypatch.setattr(drainer, "BATCH", 4)
    taken: list[ErrorRecord] = []
    with app.errors.drain() as one, app.errors.drain() as other:
        for _ in range(4):
            taken += [next(one), next(other)]
        taken += [*one, *other]

    assert sorted(numbers(taken)) == ALL


def test_who_was_taken_for_dead_goes_on_with_what_is_at_rest(app: App, failed: Store) -> None:
    """What it held is in the error store again: the one at hand comes once more, and nothing is left out."""
    taken: list[ErrorRecord] = []
    for record in app.errors.drain():
        taken.append(record)
        if len(taken) == 3:
            (present,) = check_equation(failed).drainers
            presence.leave(failed.link, failed.keys, present.id, failed.settings, ())

    assert numbers(taken) == [1, 2, 3, *ALL[2:]]
    assert total(failed, "drained") == FAILED
