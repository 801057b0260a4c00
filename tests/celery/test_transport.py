"""What is caught is what Celery would have written: the same keys, the same messages, in all ways that a task can take."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from celery import Celery
from kombu.common import Broadcast
from kombu.entity import Exchange, Queue

from soloist.celery.transport import Outbox, catching
from soloist.store.keys import Keys
from soloist.store.sending import Post
from tests.servers import PrivateServer, Store

VOLATILE = ("delivery_tag",)


@pytest.fixture
def celery_app(store: Store, server: PrivateServer) -> Iterator[Celery]:
    """An app whose keys on the broker begin with the name of the test's namespace."""
    app = Celery("transport", broker=server.url, set_as_current=False)
    news = Exchange("news", type="topic")
    app.conf.broker_transport_options = {"global_keyprefix": f"{store.keys.base}data:"}
    app.conf.task_queues = [
        Queue("celery"),
        Queue("routed", Exchange("routes", type="direct"), routing_key="there"),
        Queue("sport", news, routing_key="news.sport.#"),
        Queue("all", news, routing_key="news.#"),
        Queue("fading", expires=60.0),
        Broadcast("everyone"),
    ]
    yield app
    app.close()


@contextmanager
def catching_what(app: Celery) -> Iterator[tuple[Any, Outbox]]:
    """A producer as the scheduler has it, and its outbox."""
    outbox = Outbox()
    connection = app.connection_for_write()
    types = {queue.exchange.name: queue.exchange.type for queue in app.amqp.queues.values()}
    connection.transport_cls = catching(outbox, types)
    with connection:
        yield app.amqp.Producer(connection, auto_declare=False), outbox


def caught(app: Celery, **options: Any) -> Post:
    """What becomes of a task that the scheduler sends."""
    with catching_what(app) as (producer, outbox):
        app.send_task("note", ["x"], task_id="an-id", producer=producer, **options)
        return outbox.take()[0]


def send(app: Celery, **options: Any) -> None:
    """What Celery does over a connection on which all is declared, as a worker's is."""
    with app.connection_for_write() as connection:
        for queue in app.amqp.queues.values():
            (queue.exchange if queue.exchange.type == "fanout" else queue)(connection.default_channel).declare()
        producer = app.amqp.Producer(connection, auto_declare=False)
        app.send_task("note", ["x"], task_id="an-id", producer=producer, **options)


def lists(store: Store) -> dict[str, list[dict[str, Any]]]:
    """What stands in the broker's queues."""
    keys = [
        key for key in store.link.command("KEYS", f"{Keys(store.keys.namespace).base}data:*") if b"_kombu" not in key
    ]
    return {key.decode(): list(map(steady, store.link.command("LRANGE", key, 0, -1))) for key in keys}


def steady(message: bytes | str) -> dict[str, Any]:
    """A message without what is another each time."""
    found: dict[str, Any] = json.loads(message)
    for name in VOLATILE:
        del found["properties"][name]
    return found


WAYS: dict[str, tuple[dict[str, Any], int]] = {
    "the default queue": ({}, 1),
    "another queue": ({"queue": "routed"}, 1),
    "a queue that nobody declared": ({"queue": "new"}, 1),
    "a priority": ({"priority": 6}, 1),
    "a priority between two steps": ({"priority": 5}, 1),
    "a direct exchange": ({"exchange": "routes", "routing_key": "there"}, 1),
    "a topic that one queue wants": ({"exchange": "news", "routing_key": "news.weather"}, 1),
    "a topic that two queues want": ({"exchange": "news", "routing_key": "news.sport.chess", "priority": 9}, 2),
    "a topic that nobody wants": ({"exchange": "news", "routing_key": "gossip"}, 0),
    "a queue that expires": ({"queue": "fading"}, 1),
    "compressed": ({"compression": "zlib"}, 1),
}
"""Options of a task, and into how many queues it goes."""


@pytest.mark.parametrize("way", WAYS)
def test_what_is_caught_is_what_celery_would_have_written(celery_app: Celery, store: Store, way: str) -> None:
    """Queue by queue; nothing is written before the script does it."""
    options, many = WAYS[way]
    send(celery_app)  # the bindings are there
    store.link.command("DEL", f"{store.keys.base}data:celery")

    post = caught(celery_app, **options)

    assert lists(store) == {}
    send(celery_app, **options)
    assert {key: [steady(message)] for key, message in post.pushes} == lists(store)
    assert (len(post.pushes), post.broadcasts) == (many, ())


def test_a_broadcast_is_caught_with_its_channel(celery_app: Celery, store: Store) -> None:
    """It goes to whoever listens, and into no list."""
    post = caught(celery_app, queue="everyone")
    ((channel, message),) = post.broadcasts
    assert post.pushes == ()

    store.link.command("SUBSCRIBE", channel)
    send(celery_app, queue="everyone")

    assert steady(store.link.read()[2]) == steady(message)


def test_a_queue_that_expires_does_so_afterwards(celery_app: Celery, store: Store) -> None:
    """Its key may not be there before; so it is said once the message was sent, and to be late costs nothing."""
    with catching_what(celery_app) as (producer, outbox):
        celery_app.send_task("note", producer=producer, queue="fading")
        post, settle = outbox.take()
        ((key, message),) = post.pushes
        store.link.command("LPUSH", key, message)
        assert store.link.command("PTTL", key) == -1

        settle()

        assert 0 < store.link.command("PTTL", key) <= 60_000


def test_other_connections_are_left_alone(celery_app: Celery, store: Store) -> None:
    """Only the scheduler's own is caught: what else a process sends goes its way."""
    caught(celery_app)

    celery_app.send_task("note")

    assert [len(messages) for messages in lists(store).values()] == [1]


def test_a_publication_that_fails_leaves_nothing_in_the_outbox(celery_app: Celery) -> None:
    """Celery tries it again, and the message would be there twice."""
    with catching_what(celery_app) as (producer, outbox):
        channel = producer.channel
        message = channel.prepare_message("x")
        message["headers"] = object()  # no JSON

        with pytest.raises(Exception, match="JSON serializable"):
            channel.basic_publish(message, exchange="", routing_key="celery")

    assert outbox.take()[0] == Post()
