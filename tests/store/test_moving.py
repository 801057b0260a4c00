"""A namespace that was exported, purged and imported is the same, and goes on as if nothing had happened."""

import re
from collections.abc import Callable
from contextlib import closing
from itertools import chain

import pytest

from soloist.archive.lines import OF_RUNS
from soloist.archive.writing import export, look
from soloist.error_store import record_of
from soloist.errors import NamespaceError
from soloist.store import archive, presence, records
from soloist.store.archive import Changed
from soloist.store.envelope import pack
from soloist.store.guard import EmptyNamespace
from soloist.store.keys import OF_KIND, TYPES, Keys
from soloist.store.link import Link
from soloist.store.server import Server
from soloist.store.snapshot import purge
from soloist.store.submissions import SpecialMessage, SubmitCall, enlist, submit
from tests.lua_source import libraries
from tests.servers import KINDS as KINDS_OF_SERVERS
from tests.servers import Kind, PrivateServer, Store
from tests.store.acting import Instance, ids
from tests.store.moving import (
    BINARY,
    KINDS,
    but_for_the_header,
    exported,
    imported,
    lines_of,
    something_of_everything,
)
from tests.store.state import attempts_of, check_equation, dump, hash_of, nothing_changes, total, waiting

TAKEN_ALONG = [
    *(f"{place}:{kind}" for kind in KINDS for place in ("pending", "again", "suspect", "delayed")),
    *("attempts", "errors:by_time", "kinds", "paused", "runs", "schedules", "totals", "tracked", "unique"),
]


IN_OTHER_WORDS = {"meta", "term", "errors"}
"""Some of them are taken along, some belong to those who were present; errors are written anew, with the same content."""

LEFT = {"instances", "drainers", "wills", "line", "producers", "submitted", "alarm", "log", "history"}
"""Of those who were present, and what was noted on the way."""


def test_of_every_key_it_is_known_whether_it_is_taken_along() -> None:
    """A new one would be left behind without a word."""
    assert {*TYPES} == {key for key in TAKEN_ALONG if key in TYPES} | IN_OTHER_WORDS | LEFT
    assert {key.split(":")[0] for key in TAKEN_ALONG} >= {*OF_KIND} - {"bell"}


def test_what_is_known_of_the_runs_of_a_schedule_is_said_twice_and_the_same() -> None:
    """By the scripts, and by what reads the file: else it would refuse what we have written."""
    listed = libraries()["agenda"].split("local OF_RUNS = {")[1].split("}")[0]

    assert re.findall(r"'(\w+)'", listed) == [*OF_RUNS]


@pytest.fixture
def full(store: Store) -> Store:
    """Something of everything."""
    something_of_everything(store)
    return store


@pytest.fixture
def moved(full: Store) -> Store:
    """The same, after it was exported, purged and imported."""
    text = exported(full.link, full.keys)
    purge(full.link, full.keys)
    imported(full.link, full.keys, text)
    return full


def test_there_is_something_of_everything(full: Store) -> None:
    """Otherwise the tests below would show little."""
    lines = lines_of(exported(full.link, full.keys))

    assert {line["line"] for line in lines} == {"header", "state", "source", "schedule", "message", "error", "end"}
    of_messages = [line for line in lines if line["line"] == "message"]
    assert {line["place"] for line in of_messages} == {"pending", "again", "suspect", "delayed"}
    assert {field for line in of_messages for field in line} >= {
        "due",
        "attempts",
        "waits",
        "key",
        "headers",
        "body_base64",
    }
    assert lines[1]["paused"] == ["kind:mail", "schedule:nightly", "source:outbox"]
    assert {key for key in dump(full.link, full.keys) if key.split(":")[0] in TAKEN_ALONG or key in TAKEN_ALONG} >= {
        *("attempts", "errors:by_time", "paused", "runs", "schedules", "tracked", "unique")
    }


def test_it_is_the_same_byte_for_byte(full: Store) -> None:
    """Every list in its order, every record, every number; and the lines of a second export are those of the first."""
    before, text = dump(full.link, full.keys), exported(full.link, full.keys)
    errors = [record_of(each) for each in chain(*records.pages(full.link, full.keys))]
    purge(full.link, full.keys)

    imported(full.link, full.keys, text)

    after = dump(full.link, full.keys)
    for key in TAKEN_ALONG:
        assert after.get(key) == before.get(key), key
    assert [record_of(each) for each in chain(*records.pages(full.link, full.keys))] == errors
    assert but_for_the_header(exported(full.link, full.keys)) == but_for_the_header(text)
    check_equation(full)


def test_it_can_be_moved_to_another_server(
    servers: Callable[[Kind], PrivateServer], server: PrivateServer, full: Store
) -> None:
    """From Valkey to Redis and back, and it comes out there as it went in here."""
    text = exported(full.link, full.keys)
    (other,) = [kind for kind in KINDS_OF_SERVERS if kind != server.kind]
    with closing(Link(Server(servers(other).url), timeout=5)) as link:
        try:
            imported(link, full.keys, text)

            assert but_for_the_header(exported(link, full.keys)) == but_for_the_header(text)
        finally:
            purge(link, full.keys)


def test_another_namespace_may_be_made_of_it(full: Store) -> None:
    """Under whatever name."""
    text = exported(full.link, full.keys)
    other = Keys(f"{full.keys.namespace}-2")
    try:
        imported(full.link, other, text)

        assert but_for_the_header(exported(full.link, other)) == but_for_the_header(text)
    finally:
        purge(full.link, other)


def test_a_body_that_is_no_text_comes_through(moved: Store) -> None:
    bodies = moved.link.command("LRANGE", moved.keys.pending("mail"), 0, -1)

    assert next(body for body in bodies if body.startswith(b"4-eve ")).endswith(BINARY)


# Afterwards it goes on.


def test_numbers_and_terms_go_on_above_the_highest_that_was_imported(moved: Store) -> None:
    """No gap and no repeat in publication, and the term only grows (G2)."""
    instance = Instance(moved, kinds=KINDS)
    assert instance.join().number == 6
    assert instance.beat().role == "elected"

    assert instance.term is not None
    assert (instance.term.number, instance.term.seq) == (2, 11)
    assert instance.term.cursors == {"generator": '{"row": "ä"}'}
    instance.publish(1)
    assert waiting(moved, "pending")[-1].startswith("12-")


def test_a_unique_key_is_still_taken_and_is_free_when_its_message_is_over(moved: Store) -> None:
    wish = SubmitCall(1, {"mail": [pack("1-bob", "mail", 5, b"x")]}, [SpecialMessage(1, waits="unique one two")])
    enlist(moved.link, moved.keys, "bob", "demo")
    assert submit(moved.link, moved.keys, "bob", 100, wish).others == {1: "1-eve"}
    moved.link.command("DEL", moved.keys.paused)
    handler = Instance(moved, kinds=["mail"])
    handler.join()
    claimed = ids(handler.next(want=100, kind="mail"))
    handler.next(completed=claimed, kind="mail")

    again = SubmitCall(2, wish.envelopes, wish.specials)
    assert submit(moved.link, moved.keys, "bob", 100, again).others == {}
    assert "running nightly" not in hash_of(moved, moved.keys.runs)


def test_attempts_are_not_forgotten(moved: Store) -> None:
    """Who died twice with its handler is a suspect still, and its next death is the last."""
    (suspect,) = waiting(moved, "suspect")
    (again,) = waiting(moved, "again")

    assert attempts_of(moved, suspect)[:2] == (2, 0)  # type: ignore[index]  # it has some
    assert attempts_of(moved, again) == (1, 0, 0, 0)


def test_error_records_are_drained_oldest_first_with_what_they_say(moved: Store) -> None:
    (record,) = chain(*records.pages(moved.link, moved.keys))
    drainer = Instance(moved, drains=True)
    drainer.join()

    assert drainer.drain().records == [record]
    assert drainer.confirm([record.id]) == 1
    drainer.leave()


# What is not exported.


def test_who_is_present_is_in_the_way(store: Store, generator: Instance) -> None:
    """What they hold, and what they do next, would be in no picture."""
    with pytest.raises(NamespaceError, match=r"1 instance .* present.*Stop them first.*soloist clean"):
        exported(store.link, store.keys)


def test_an_empty_namespace_cannot_be_exported(store: Store) -> None:
    with pytest.raises(EmptyNamespace):
        exported(store.link, store.keys)


@pytest.mark.parametrize("what", ["publishes", "drains", "deletes", "joins and leaves"])
def test_what_is_changed_while_it_is_read_is_seen(full: Store, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then there is no last line, and no import takes the file."""
    monkeypatch.setattr(archive, "PAGE", 2)
    written: list[str] = []

    def write() -> None:
        for text in export(full.link, full.keys, look(full.link, full.keys)):
            written.append(text)
            if len(written) == 2:
                _change(full, what)

    with pytest.raises(Changed, match="was changed while it was read"):
        write()

    assert len(written) >= 2
    assert lines_of("".join(written))[-1]["line"] != "end"


def _change(store: Store, what: str) -> None:
    if what == "publishes":
        submit(store.link, store.keys, "eve", 100, SubmitCall(2, {"mail": [pack("9-eve", "mail", 5, b"x")]}))
    elif what == "deletes":
        (record,) = chain(*records.pages(store.link, store.keys))
        records.discard(store.link, store.keys, [(record.id, record.failed_us)])
    elif what == "drains":
        drainer = Instance(store, drains=True)
        drainer.join()
        drainer.drain()
    else:
        passer = Instance(store)
        passer.join()
        passer.leave()


def test_looking_at_it_is_no_change(full: Store) -> None:
    """Nothing is locked, marked or copied."""
    with nothing_changes(full):
        exported(full.link, full.keys)


@pytest.mark.parametrize("many", [archive.PAGE - 1, archive.PAGE, 2 * archive.PAGE + 1])
def test_however_the_pages_fall_all_messages_come_once_in_their_order(store: Store, many: int) -> None:
    instance = Instance(store)
    instance.join()
    instance.beat()
    for _ in range(many // 500):
        instance.publish(500)
    instance.publish(many % 500)
    instance.leave()
    before = waiting(store, "pending")

    text = exported(store.link, store.keys)
    purge(store.link, store.keys)
    imported(store.link, store.keys, text)

    assert len(before) == many
    assert waiting(store, "pending") == before
    assert total(store, "published") == many


def test_a_page_of_large_messages_is_small(store: Store) -> None:
    """Memory is needed for about a megabyte, and for one message at least."""
    instance = Instance(store)
    instance.join()
    instance.beat()
    for size in (*[300_000] * 8, 2_000_000, 5):
        instance.publish(1, size=size)
    instance.leave()

    pages = list(archive.waiting(store.link, store.keys, "default", "pending"))

    assert [len(page) for page in pages] == [3, 3, 2, 1, 1]
    presence.leave(store.link, store.keys, instance.id, store.settings, [])
