"""send.lua: a beat of Celery sends what is due into the broker's queues, whole and once."""

from dataclasses import replace
from typing import Self

import pytest

from soloist.errors import Denied
from soloist.store import agenda, control
from soloist.store.link import Link
from soloist.store.replies import TermOver
from soloist.store.sending import Changed, Post, SendCall, Undeliverable, send
from soloist.store.server import Server
from tests.servers import Store
from tests.store.acting import Instance, Joins
from tests.store.state import check_equation, nothing_changes, refused, term_ended, term_of, total


def queue(store: Store, name: str = "celery") -> str:
    """A list of the broker's: somewhere beside our keys; here it must go away with the test."""
    return f"{store.keys.base}data:{name}"


def call(store: Store, who: Instance, *, number: int | None = None, tick: int = 500, runs: int = 1) -> SendCall:
    """The next send, not yet sent."""
    assert who.term
    version = agenda.read_agenda(store.link, store.keys).version
    number = number if number is not None else int(term_of(store)["call"]) + 1
    return SendCall(who.term.number, number, version, "nightly", tick, runs, Post([(queue(store), "a task")]))


def act(store: Store, who: Instance, sent: SendCall) -> int:
    try:
        return send(store.link, store.keys, who.id, store.settings, sent)
    finally:
        check_equation(store)


def inside(store: Store, name: str = "celery") -> list[bytes]:
    found: list[bytes] = store.link.command("LRANGE", queue(store, name), 0, -1)
    return found


def test_message_and_last_run_are_stored_in_one_step(store: Store, generator: Instance) -> None:
    """The newest is at the head, as Celery's workers want it; the run counts for the instance."""
    act(store, generator, call(store, generator, tick=500, runs=1))
    act(store, generator, replace(call(store, generator, tick=900, runs=2), post=Post([(queue(store), "another")])))

    assert inside(store) == [b"another", b"a task"]
    stored = term_of(store)
    assert (stored["tick:schedule:nightly"], stored["cursor:schedule:nightly"], stored["call"]) == ("900", "2", "2")
    assert generator.fields["generated"] == "2"


def test_the_successor_is_told_what_was_sent(store: Store, generator: Instance, joined: Joins) -> None:
    """With its election: there is nothing to read besides."""
    act(store, generator, call(store, generator, tick=900, runs=7))
    generator.leave()
    successor = joined()

    told = successor.beat().term

    assert told is not None
    assert (told.ticks, told.cursors) == ({"schedule:nightly": 900}, {"schedule:nightly": "7"})


def test_several_queues_and_broadcasts_are_written_together(store: Store, generator: Instance) -> None:
    """As a topic exchange may want it: the same message in several lists, one of them twice; and channels."""
    with Listener(store, "news") as listener:
        post = Post(
            [(queue(store), "one"), (queue(store, "slow"), "two"), (queue(store), "three")], [(listener.name, "four")]
        )

        act(store, generator, replace(call(store, generator), post=post))

        assert (inside(store), inside(store, "slow")) == ([b"three", b"one"], [b"two"])
        assert listener.hears() == b"four"
    assert generator.fields["generated"] == "1"


class Listener:
    """Listens on one channel."""

    def __init__(self, store: Store, name: str) -> None:
        self.name = f"{store.keys.namespace}.{name}"
        self._link = Link(store.server, timeout=5)

    def __enter__(self) -> Self:
        self._link.command("SUBSCRIBE", self.name)
        return self

    def __exit__(self, *_: object) -> None:
        self._link.close()

    def hears(self) -> bytes:
        heard: bytes = self._link.read()[2]
        return heard


def test_without_messages_only_the_last_run_is_stored(store: Store, generator: Instance) -> None:
    """By the same rule; it is no run."""
    act(store, generator, replace(call(store, generator, tick=500, runs=0), post=Post()))

    assert inside(store) == []
    assert (term_of(store)["tick:schedule:nightly"], term_of(store)["call"]) == ("500", "1")
    assert generator.fields["generated"] == "0"


def test_sending_renews_the_term(store: Store, generator: Instance) -> None:
    """An applied send extends the term, as a publish does."""
    term_ended(store)

    now = act(store, generator, call(store, generator))

    assert term_of(store)["deadline"] == str(now + store.settings.lease_ms)


def test_what_was_sent_is_no_message_of_ours(store: Store, generator: Instance) -> None:
    """It is Celery's from then on: the books do not have it."""
    act(store, generator, call(store, generator))

    assert check_equation(store).totals.get("published", 0) == 0


# The repeat.


def test_a_repeated_call_is_applied_once(store: Store, generator: Instance, said: dict[str, list[str]]) -> None:
    """The answer was lost: the same call again is answered OK, and nothing is sent."""
    sent = call(store, generator)
    act(store, generator, sent)

    with nothing_changes(store):
        act(store, generator, sent)
        act(store, generator, sent)

    assert said["send"] == ["OK", "OK", "OK"]
    assert inside(store) == [b"a task"]


def test_a_late_copy_of_an_older_call_is_refused(store: Store, generator: Instance) -> None:
    """Arriving after newer calls, it sends nothing."""
    late = call(store, generator)
    act(store, generator, late)
    act(store, generator, call(store, generator))

    with refused(store, "send"):
        act(store, generator, late)

    assert inside(store) == [b"a task"] * 2


def test_a_call_that_skips_a_number_is_refused(store: Store, generator: Instance) -> None:
    """Something before it is missing."""
    with refused(store, "send"):
        act(store, generator, call(store, generator, number=2))


# Superseded.


def test_who_lost_the_term_sends_nothing(store: Store, generator: Instance, joined: Joins) -> None:
    """Frozen between its clock check and its send: the term is another's. That is counted and logged."""
    late = call(store, generator)
    successor = joined()
    successor.becomes_judge()
    term_ended(store)
    assert successor.beat().role == "elected"

    with refused(store, "send", TermOver):
        act(store, generator, late)

    assert inside(store) == []
    assert total(store, "superseded:send") == 1


def test_the_number_of_a_term_alone_is_no_proof(store: Store, generator: Instance, joined: Joins) -> None:
    """After a failover a number can come again: the instance is compared, too."""
    stranger = joined()
    stranger.term = generator.term

    with refused(store, "send", TermOver):
        act(store, stranger, call(store, stranger))


def test_who_is_not_present_is_to_be_reborn(store: Store, generator: Instance) -> None:
    """Presence gone: not only the term is."""
    late = call(store, generator)
    generator.leave()

    with refused(store, "send"):
        act(store, generator, late)


# The agenda.


@pytest.mark.parametrize("change", ["pause", "remove", "change"])
def test_by_an_agenda_that_has_changed_nothing_is_sent(store: Store, generator: Instance, change: str) -> None:
    """Whoever was told that a schedule is paused or removed sees it sent no more. The call number is not used."""
    agenda.put_schedule(store.link, store.keys, "nightly", b'{"every_ms": 5}')
    late = call(store, generator)
    if change == "pause":
        control.pause(store.link, store.keys, [], ["schedule:nightly"], on=True)
    else:
        agenda.put_schedule(store.link, store.keys, "nightly", b"" if change == "remove" else b'{"every_ms": 6}')

    with nothing_changes(store), pytest.raises(Changed):
        act(store, generator, late)

    act(store, generator, call(store, generator, number=1))
    assert inside(store) == [b"a task"]


def test_a_schedule_that_is_removed_leaves_nothing_of_its_runs(store: Store, generator: Instance) -> None:
    """One that is added under its name later begins anew."""
    agenda.put_schedule(store.link, store.keys, "nightly", b'{"every_ms": 5}')
    act(store, generator, call(store, generator))

    agenda.put_schedule(store.link, store.keys, "nightly", b"")

    assert not [field for field in term_of(store) if "schedule:" in field]


# The broker's queues are not ours.


@pytest.mark.parametrize("place", [0, 1])
def test_a_queue_of_another_type_ends_it_before_anything_is_written(
    store: Store, generator: Instance, place: int
) -> None:
    """Whichever of them it is; the call number is not used."""
    names = [queue(store), queue(store, "slow")]
    store.link.command("SET", names[place], "theirs")
    sent = replace(call(store, generator), post=Post([(name, "a task") for name in names]))

    with nothing_changes(store), pytest.raises(Undeliverable, match=rf"{names[place]}' is no list but a string"):
        act(store, generator, sent)

    store.link.command("DEL", names[place])
    act(store, generator, sent)
    assert (inside(store), inside(store, "slow")) == ([b"a task"], [b"a task"])


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("~* &* -lpush", "may not LPUSH"),
        ("~* resetchannels &soloist:*", "may not PUBLISH"),
        ("~soloist:* &*", "refuses us"),  # the server looks at the keys before the script begins
    ],
)
def test_a_queue_or_channel_that_the_acl_forbids_ends_it_before_anything_is_written(
    store: Store, generator: Instance, rule: str, says: str
) -> None:
    """Lua has no rollback, so the script asks for each."""
    user = store.keys.namespace
    store.link.command("ACL", "SETUSER", user, "on", ">secret", "+@all", *rule.split())
    limited = Link(Server(f"redis://{user}:secret@{store.server!s}"), timeout=5)
    try:
        sent = replace(call(store, generator), post=Post([(f"{user}-celery", "a task")], [(f"{user}-all", "to all")]))
        with nothing_changes(store), pytest.raises((Undeliverable, Denied), match=says):
            send(limited, store.keys, generator.id, store.settings, sent)
    finally:
        limited.close()
        store.link.command("ACL", "DELUSER", user)


def test_presence_is_looked_at_first(store: Store, generator: Instance) -> None:
    """Whoever names the term, as one that was never there does."""
    nobody = Instance(store)
    nobody.term = generator.term

    with refused(store, "send"):
        act(store, nobody, call(store, nobody))
