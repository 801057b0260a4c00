"""An instance in this process, on a real server: what its role follows from."""

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from soloist.app import App
from soloist.demo import build
from soloist.events import Event, Events
from soloist.inspector import Inspector
from soloist.runtime import heartbeat
from soloist.runtime.instance import Instance
from soloist.runtime.part import Part
from soloist.runtime.played_term import PlayedTerm
from soloist.settings import Settings
from soloist.store.presence import Term, Who, beat
from soloist.store.server import Server
from tests.servers import PrivateServer, Store
from tests.store import acting
from tests.waiting import wait_until


class Heard:
    """What an instance told."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def names(self) -> list[str]:
        return [event.event for event in self.events]


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def instance(server: PrivateServer, namespace: str, heard: Heard) -> Iterator[Instance]:
    """One instance, generating every 20 ms."""
    made = Instance(build(0.02), Server(server.url), namespace, Settings(), Events(heard))
    made.start()
    wait_until(lambda: "generated" in heard.names(), what="it generates")
    yield made
    made.stop()
    assert made.failure is None


def term_of(instance: Instance) -> PlayedTerm:
    term = instance._term
    assert term is not None
    return term


def test_a_term_that_is_followed_by_another_is_over(instance: Instance) -> None:
    """Else the generator would go on in a term that nobody renews, and the new one would be played by nobody."""
    old = term_of(instance)
    new = PlayedTerm(
        Term(number=old.number + 2, call=0, seq=old.seq, tag="t", takeover_ms=0), instance.incarnation, 0.0, 2.0
    )

    instance._begin_term(new)

    assert old.is_over


def test_a_term_that_is_lost_is_over_even_if_it_is_not_the_present_one(instance: Instance) -> None:
    """Its generator must not try again and again."""
    stray = PlayedTerm(Term(number=1, call=0, seq=0, tag="t", takeover_ms=0), instance.incarnation, 0.0, 2.0)

    instance.lose_term(stray, "publish")

    assert stray.is_over
    assert not term_of(instance).is_over


def test_a_generator_that_was_asked_to_step_down_resigns_however_late(instance: Instance, heard: Heard) -> None:
    """The server may be away for longer than a lease meanwhile, and come back without the question: a term that is
    renewed and played by nobody would last for ever.
    """
    instance._step_down(term_of(instance), 0.0)
    instance._stands_back_until = 0.0  # that was long ago

    wait_until(lambda: heard.names().count("elected") == 2, what="it has resigned, and is elected anew")
    wait_until(lambda: term_of(instance).seq > 2, what="it publishes again")


def test_an_instance_that_redis_forgot_is_reborn_under_a_new_id_with_its_old_number(
    instance: Instance, heard: Heard
) -> None:
    """Plain SUPERSEDED: leave the old id, join under a new one, go on."""
    old = instance.incarnation

    instance.be_reborn(old, "beat")
    instance.be_reborn(old, "next")

    assert instance.incarnation.id != old.id
    assert instance.incarnation.number == old.number
    assert heard.names().count("superseded") == 1
    assert heard.names().count("joined") == 2
    wait_until(lambda: heard.names().count("elected") == 2, what="it generates again")


def test_an_emptied_namespace_is_filled_again(instance: Instance, store: Store, heard: Heard) -> None:
    """FLUSHALL: everybody is reborn, numbers begin anew under another tag."""
    first_tag = term_of(instance).tag
    store.link.command("DEL", *store.link.command("KEYS", store.keys.base + "*"))  # its own links are its threads'

    wait_until(lambda: heard.names().count("elected") == 2, what="it generates again")

    assert term_of(instance).tag != first_tag
    wait_until(lambda: term_of(instance).seq > 2, what="it publishes again")


def test_who_handles_one_message_after_another_does_not_beat_for_each(
    server: PrivateServer, namespace: str, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its heart hurries when there is something to hold; then it beats as often as whoever is at work."""
    beats: Counter[str] = Counter()

    def counting(link: Any, keys: Any, who: Who, *args: Any, **kwargs: Any) -> Any:
        beats[who.id] += 1
        return beat(link, keys, who, *args, **kwargs)

    monkeypatch.setattr(heartbeat, "beat", counting)
    settings = Settings(batch=1, heartbeat=1.0, lease=20.0, claim_lease=60.0)
    parts = (Part(until=300), Part(may_generate=False))
    generator, handler = (
        Instance(build(0.0), Server(server.url), namespace, settings, Events(heard), part) for part in parts
    )
    generator.start()
    handler.start()
    inspector = Inspector(Server(server.url), namespace)
    wait_until(lambda: inspector.snapshot().completed + inspector.snapshot().failed == 300, what="all are handled")
    often = beats[handler.incarnation.id]
    handler.stop()
    generator.stop()

    assert often < 50


def test_whoever_begins_to_hold_a_message_beats_soon_however_slowly_it_beat_before(
    store: Store, namespace: str, heard: Heard
) -> None:
    """Idle, it beats every third of a lease, here 133 s. From then on the others expect it at every heartbeat."""
    settings = Settings(heartbeat=0.2, lease=400.0, claim_lease=400.0)
    app, begun, may_end = App("demo"), threading.Event(), threading.Event()

    @app.handler
    def handle(_message: object) -> None:
        begun.set()
        may_end.wait(60)

    handler = Instance(app, store.server, namespace, settings, Events(heard), Part(may_generate=False))
    handler.start()
    generator = acting.Instance(store)
    try:
        inspector = Inspector(store.server, namespace)
        slowly_ms = 5 * settings.heartbeat * 1000
        wait_until(lambda: inspector.snapshot().instances[0].heard_ms > slowly_ms, what="it beats slowly")
        before = beaten_at(store, handler)

        generator.join()
        generator.beat()
        generator.publish()

        wait_until(begun.is_set, what="it holds the message")
        wait_until(lambda: beaten_at(store, handler) > before, what="it beats")
    finally:
        may_end.set()
        handler.stop()
    generator.leave()
    assert handler.failure is None


def beaten_at(store: Store, instance: Instance) -> int:
    """When it last beat, by the server's clock in ms."""
    return int(store.link.command("HGET", store.keys.instance(instance.incarnation.id), "beat"))
