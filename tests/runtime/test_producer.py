"""A producer when something goes wrong around it: nothing is lost, nothing comes twice, and nobody waits for longer than said."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from soloist.errors import NotPublished, Unavailable
from soloist.producer import Producer, Wanted
from soloist.store import submissions
from soloist.store.envelope import id_of
from soloist.store.submissions import SubmitCall, Submitted
from tests.servers import Store
from tests.store.acting import Instance

Submit = Callable[..., Submitted]


@pytest.fixture
def producer(store: Store) -> Iterator[Producer]:
    with closing(Producer(store.server, store.keys.namespace, "demo", 5, 5.0, 1.0)) as made:
        made.publish([Wanted("default", b"warm")])
        yield made


def waiting(store: Store, kind: str = "default") -> list[str]:
    return [id_of(each).decode() for each in store.link.command("LRANGE", store.keys.pending(kind), 0, -1)]


def once(monkeypatch: pytest.MonkeyPatch, instead: Callable[[Submit, tuple[object, ...]], Submitted]) -> None:
    """The next call of the script goes so."""
    real: Submit = submissions.submit

    def call(*args: object) -> Submitted:
        monkeypatch.setattr("soloist.producer.submit", real)
        return instead(real, args)

    monkeypatch.setattr("soloist.producer.submit", call)


class Impatient(BaseException):
    """As Ctrl-C in a REPL."""


def test_a_call_that_was_interrupted_leaves_its_number_to_nobody(
    store: Store, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was applied, and nobody heard of it: the next message is another one, and is published as well."""

    def interrupted(submit: Submit, args: tuple[object, ...]) -> Submitted:
        submit(*args)
        raise Impatient

    once(monkeypatch, interrupted)
    with pytest.raises(Impatient):
        producer.publish([Wanted("default", b"a")])

    ids = producer.publish([Wanted("default", b"b")])

    assert waiting(store)[2:] == ids
    assert len(waiting(store)) == 3


def test_who_was_forgotten_in_the_midst_of_a_call_does_not_know(
    store: Store, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reply was lost, and an hour passed: to send it under another id could double it."""

    def lost(submit: Submit, args: tuple[object, ...]) -> Submitted:
        submit(*args)
        store.link.command("DEL", store.keys.producers, store.keys.submitted)
        raise Unavailable("its reply is lost")

    once(monkeypatch, lost)
    with pytest.raises(NotPublished, match="not known") as refused:
        producer.publish([Wanted("default", b"a")])

    assert refused.value.is_undecided
    assert len(waiting(store)) == 2


def test_a_lost_reply_is_made_up_for(store: Store, producer: Producer, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(submit: Submit, args: tuple[object, ...]) -> Submitted:
        submit(*args)
        raise Unavailable("its reply is lost")

    once(monkeypatch, lost)

    assert producer.publish([Wanted("default", b"a")]) == waiting(store)[1:]


def test_a_kind_that_is_full_holds_up_no_other_and_nobody_waits_for_another(store: Store, producer: Producer) -> None:
    """Each gives up after its own patience; who publishes to another kind does not wait at all."""
    producer.publish([Wanted("default", b"x")] * 4)
    refused: list[NotPublished] = []

    def publish() -> None:
        try:
            producer.publish([Wanted("default", b"y")])
        except NotPublished as error:
            refused.append(error)

    threads = [threading.Thread(target=publish) for _ in range(20)]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    producer.publish([Wanted("other", b"z")])
    assert any(thread.is_alive() for thread in threads), "it did not wait for them"
    for thread in threads:
        thread.join(30)

    assert len(refused) == len(threads)
    assert not any(error.is_undecided for error in refused)
    assert time.monotonic() - begun < 15, "not one after another, which takes 20 s"
    assert (len(waiting(store)), len(waiting(store, "other"))) == (5, 1)


def test_what_was_refused_because_it_was_full_is_published_when_there_is_room(store: Store, producer: Producer) -> None:
    producer.publish([Wanted("default", b"x")] * 4)
    handler = Instance(store)
    handler.join()
    timer = threading.Timer(0.2, lambda: store.link.command("LPOP", store.keys.pending("default")))
    timer.start()

    (ident,) = producer.publish([Wanted("default", b"y")])

    timer.join()
    assert waiting(store)[-1] == ident


def test_an_old_call_cannot_come_again_under_a_number_that_was_free(store: Store, producer: Producer) -> None:
    """What was given up under an id is refused under it ever after, if another call came meanwhile."""
    producer.publish([Wanted("default", b"a")])
    late = SubmitCall(2, {"default": [b"9-late default 1 1 0 0 x"]})

    with pytest.raises(submissions.Gone):
        submissions.submit(store.link, store.keys, "nobody", 5, late)

    assert len(waiting(store)) == 2
