"""enlist.lua and submit.lua: messages of processes that are no instances."""

import random
from collections import Counter

import pytest

from soloist.errors import NamespaceError
from soloist.store.envelope import id_of, pack
from soloist.store.guard import EmptyNamespace
from soloist.store.messages import Full
from soloist.store.submissions import Gone, SpecialMessage, SubmitCall, Submitted, enlist, submit
from tests.servers import Store
from tests.store.acting import Instance, ids
from tests.store.state import check_equation, hash_of, nothing_changes, now_ms

HOUR = 3_600_000


class Producer:
    """It remembers the number of its next call, as the library does."""

    def __init__(self, store: Store, name: str = "eve", app: str = "demo") -> None:
        self.store, self.name, self.call, self.number = store, name, 0, 0
        enlist(store.link, store.keys, name, app)

    def wish(self, *bodies: str, kind: str = "default", specials: tuple[SpecialMessage, ...] = ()) -> SubmitCall:
        self.call += 1
        envelopes = []
        for body in bodies:
            self.number += 1
            envelopes.append(pack(f"{self.number}-{self.name}", kind, 1, body.encode()))
        return SubmitCall(self.call, {kind: envelopes}, specials)

    def send(self, wish: SubmitCall, most: int = 1000) -> Submitted:
        answer = submit(self.store.link, self.store.keys, self.name, most, wish)
        check_equation(self.store)
        return answer


@pytest.fixture
def producer(store: Store) -> Producer:
    return Producer(store)


def pending(store: Store, kind: str = "default") -> list[bytes]:
    return [id_of(each) for each in store.link.command("LRANGE", store.keys.pending(kind), 0, -1)]


def unique(place: int, key: str) -> SpecialMessage:
    return SpecialMessage(place, waits=f"unique {key}")


# Who may.


def test_the_first_producer_founds_the_namespace(store: Store, producer: Producer) -> None:
    """A web process may be there before the first instance is."""
    assert hash_of(store, store.keys.meta) == {"app": "demo", "protocol": "4"}
    assert Instance(store).join().number == 1


def test_one_that_names_no_app_founds_nothing(store: Store) -> None:
    with nothing_changes(store), pytest.raises(EmptyNamespace):
        enlist(store.link, store.keys, "eve", "")


def test_a_producer_of_another_app_is_refused(store: Store, producer: Producer) -> None:
    with nothing_changes(store), pytest.raises(NamespaceError, match="belongs to the App 'demo'"):
        enlist(store.link, store.keys, "bob", "shop")


def test_a_producer_of_another_version_is_refused(store: Store, producer: Producer) -> None:
    store.link.command("HSET", store.keys.meta, "protocol", 99)
    with nothing_changes(store), pytest.raises(NamespaceError, match="version 99"):
        enlist(store.link, store.keys, "bob", "demo")


def test_who_did_not_enlist_publishes_nothing(store: Store, producer: Producer) -> None:
    wish = producer.wish("a")
    with nothing_changes(store), pytest.raises(Gone):
        submit(store.link, store.keys, "nobody", 10, wish)


def test_those_not_heard_for_an_hour_are_forgotten(store: Store, producer: Producer) -> None:
    """Then a late copy of a call of theirs does nothing."""
    wish = producer.wish("a")
    store.link.command("ZADD", store.keys.producers, now_ms(store) - HOUR - 1000, "eve")

    Producer(store, "bob")

    assert list(hash_of(store, store.keys.submitted)) == ["bob"]
    with nothing_changes(store), pytest.raises(Gone):
        producer.send(wish)


# Once.


def test_what_is_submitted_is_handled(store: Store, producer: Producer) -> None:
    producer.send(producer.wish("a", "b"))
    handler = Instance(store)
    handler.join()

    mine = ids(handler.next(2))

    assert mine == [b"1-eve", b"2-eve"]
    handler.next(completed=mine)
    assert hash_of(store, store.keys.totals)["completed"] == "2"


def test_a_repeated_call_is_answered_the_same_and_changes_nothing(store: Store, producer: Producer) -> None:
    producer.send(producer.wish("a", specials=(unique(1, "k"),)))
    wish = producer.wish("b", "c", specials=(unique(1, "k"), unique(2, "l")))
    first = producer.send(wish)

    with nothing_changes(store):
        again = producer.send(wish)

    assert first.others == again.others == {1: "1-eve"}
    assert pending(store) == [b"1-eve", b"3-eve"]


def test_a_late_copy_of_an_older_call_changes_nothing(store: Store, producer: Producer) -> None:
    old = producer.wish("a")
    producer.send(old)
    producer.send(producer.wish("b"))

    with nothing_changes(store), pytest.raises(Gone):
        producer.send(old)


def test_a_call_that_comes_before_its_predecessor_changes_nothing(store: Store, producer: Producer) -> None:
    producer.wish("a")
    with nothing_changes(store), pytest.raises(Gone):
        producer.send(producer.wish("b"))


def test_random_copies_publish_each_message_once(store: Store, producer: Producer) -> None:
    """Whatever is lost, repeated or late; with the same answer each time that a call is known."""
    chance, sent, wishes = random.Random(7), Counter[bytes](), list[SubmitCall]()
    for number in range(200):
        wish = producer.wish(*"ab"[: chance.randint(1, 2)], specials=(unique(1, f"k{number}"),))
        wishes.append(wish)
        answers = [producer.send(wish) for _ in range(chance.randint(1, 3))]
        assert all(answer.others == {} for answer in answers)
        for late in chance.sample(wishes, min(3, len(wishes))):
            if late is not wish:
                with pytest.raises(Gone):
                    producer.send(late)
        sent.update(id_of(each) for each in wish.envelopes["default"])

    assert Counter(pending(store)) == sent
    assert set(sent.values()) == {1}


def test_too_many_are_refused_whole_and_the_number_is_free(store: Store, producer: Producer) -> None:
    producer.send(producer.wish("a", "b"))
    wish = producer.wish("c")

    with nothing_changes(store), pytest.raises(Full):
        producer.send(wish, most=2)

    producer.send(wish, most=3)
    assert len(pending(store)) == 3


def test_more_than_a_call_can_unpack_are_published_in_order(store: Store, producer: Producer) -> None:
    producer.send(producer.wish(*map(str, range(20_000))))
    assert pending(store) == [b"%d-eve" % number for number in range(1, 20_001)]


# One of a key.


def test_of_a_key_at_most_one_is_there(store: Store, producer: Producer) -> None:
    producer.send(producer.wish("a", specials=(unique(1, "k"),)))

    refused = producer.send(producer.wish("b", "c", specials=(unique(1, "k"), unique(2, "k"))))

    assert refused.others == {1: "1-eve", 2: "1-eve"}
    assert pending(store) == [b"1-eve"]


def test_the_key_is_free_again_when_the_message_is_over(store: Store, producer: Producer) -> None:
    handler = Instance(store)
    handler.join()
    producer.send(producer.wish("a", specials=(unique(1, "k"),)))
    mine = ids(handler.next(1))
    assert producer.send(producer.wish("b", specials=(unique(1, "k"),))).others == {1: "1-eve"}

    handler.next(completed=mine)

    assert producer.send(producer.wish("c", specials=(unique(1, "k"),))).others == {}


def test_keys_of_two_kinds_are_two(store: Store, producer: Producer) -> None:
    producer.send(producer.wish("a", specials=(unique(1, "k"),)))
    assert producer.send(producer.wish("b", kind="mail", specials=(unique(1, "k"),))).others == {}


# Later.


@pytest.mark.parametrize("how", ["delay", "at"])
def test_what_is_delayed_waits_and_is_pending(store: Store, producer: Producer, how: str) -> None:
    due = now_ms(store) + 60_000
    special = SpecialMessage(1, delay_ms=60_000) if how == "delay" else SpecialMessage(1, at_ms=due)

    producer.send(producer.wish("a", specials=(special,)))

    _, found = store.link.command("ZRANGE", f"{store.keys.base}delayed:default", 0, -1, "WITHSCORES")
    assert 0 <= float(found) - due < 5000
    assert pending(store) == []
    assert check_equation(store).kinds[0].waiting == 1


def test_what_is_due_in_the_past_is_due(store: Store, producer: Producer) -> None:
    producer.send(producer.wish("a", specials=(SpecialMessage(1, at_ms=5),)))
    assert pending(store) == [b"1-eve"]


@pytest.mark.parametrize(("delay_ms", "tokens"), [(500, 1), (5000, 0)])
def test_what_is_due_before_long_sounds_the_alarm(store: Store, producer: Producer, delay_ms: int, tokens: int) -> None:
    """The generator's next beat may come too late for it."""
    producer.send(producer.wish("a", specials=(SpecialMessage(1, delay_ms=delay_ms),)))
    assert store.link.command("LLEN", store.keys.alarm) == tokens


def test_a_run_of_a_schedule_is_tracked(store: Store, producer: Producer) -> None:
    producer.send(producer.wish("a", specials=(SpecialMessage(1, waits="run nightly"),)))
    assert hash_of(store, store.keys.runs) == {"running nightly": "1"}
