"""What stops closes its connections itself: the process may live on, and nobody knows when the garbage collector comes."""

import gc
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from soloist import App, Message
from soloist.errors import UsageError
from soloist.runtime.drainer import Drainer
from soloist.store.guard import EmptyNamespace
from tests.servers import PrivateServer, Store
from tests.waiting import wait_until


class Connections:
    """Those that came to a server after this was made."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._before = self._now()

    @property
    def new(self) -> list[str]:
        """What the server knows of each."""
        self._store.link.command("PING")  # in the round of this answer the server meets what was closed before it
        return [line for ident, line in self._now().items() if ident not in self._before]

    def _now(self) -> dict[str, str]:
        lines = self._store.link.command("CLIENT", "LIST").decode().splitlines()
        return {line.split()[0]: line for line in lines}


@pytest.fixture
def connections(store: Store) -> Iterator[Connections]:
    """Counted without the help of the garbage collector."""
    gc.collect()
    gc.disable()
    yield Connections(store)
    gc.enable()


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of ours, no soloist.toml."""
    monkeypatch.delenv("SOLOIST_URL", raising=False)
    monkeypatch.chdir(tmp_path)


def app_of_all_lanes(server: PrivateServer, namespace: str) -> tuple[App, set[str]]:
    """An App with a source and a handler of every sort; and the kinds that were handled so far."""
    app = App("hosted", url=server.url, namespace=namespace, heartbeat=0.05, lease=1)
    handled: set[str] = set()

    @app.generator(every=0.02)
    def produce() -> str:
        return "text"

    @app.handler
    def plain(message: Message) -> None:
        handled.add(message.kind)
        for kind in ("threads", "tasks", "batch"):
            message.publish(kind, "text")

    @app.handler("threads", concurrency=2)
    def in_threads(message: Message) -> None:
        handled.add(message.kind)

    @app.handler("tasks")
    async def in_tasks(message: Message) -> None:
        handled.add(message.kind)

    @app.handler("batch", batch=2)
    def in_batches(messages: list[Message]) -> None:
        handled.update(message.kind for message in messages)

    return app, handled


def test_no_connection_is_left_when_stop_comes_back(
    connections: Connections, server: PrivateServer, namespace: str
) -> None:
    """Of the generator, of each lane and its bell, of the heart and its will: all are closed by then."""
    app, handled = app_of_all_lanes(server, namespace)
    app.start()
    wait_until(lambda: len(handled) == 4, what="messages of all kinds are handled")
    assert len(connections.new) >= 8

    app.stop()

    assert connections.new == []


def test_no_connection_is_left_of_one_that_had_nothing_to_do(
    connections: Connections, server: PrivateServer, namespace: str
) -> None:
    """All its lanes wait at their bells, each in a call that the server answers only after seconds."""
    app, _ = app_of_all_lanes(server, namespace)
    app.start(role="handler")
    wait_until(lambda: sum("cmd=blpop" in each for each in connections.new) == 4, what="all lanes wait")

    app.stop()

    assert connections.new == []


def test_no_connection_is_left_where_a_handler_hangs(
    connections: Connections, server: PrivateServer, namespace: str
) -> None:
    """Its thread cannot be ended; what it was connected to can."""
    app = App("hosted", url=server.url, namespace=namespace, heartbeat=0.05, lease=1, stop_timeout=0.2)
    gate, begun = threading.Event(), threading.Event()

    @app.generator(every=0.02)
    def produce() -> str:
        return "text"

    @app.handler
    def hang(message: Message) -> None:
        begun.set()
        gate.wait(60)

    try:
        app.start()
        assert begun.wait(30)

        app.stop()

        assert connections.new == []
    finally:
        gate.set()


def test_no_thread_is_left_once_a_handler_that_hung_returns(server: PrivateServer, namespace: str) -> None:
    """Also those that only help it, if the stop has run out of time: the process may live on."""
    before = set(threading.enumerate())
    app = App("hosted", url=server.url, namespace=namespace, heartbeat=0.05, lease=1, stop_timeout=0.2)
    gate, begun = threading.Event(), threading.Event()

    @app.generator(every=0.02)
    def produce() -> str:
        return "text"

    @app.handler
    def hang(message: Message) -> None:
        begun.set()
        gate.wait(60)

    app.start()
    assert begun.wait(30)
    app.stop()
    gate.set()

    wait_until(lambda: not set(threading.enumerate()) - before, what="all threads have ended")


def test_no_connection_is_left_of_one_that_was_refused(
    connections: Connections, server: PrivateServer, namespace: str
) -> None:
    """Another App has the namespace: nothing was started, and nothing stays."""
    first, _ = app_of_all_lanes(server, namespace)
    first.start()
    first.stop()
    other = App("another", url=server.url, namespace=namespace)
    other.handler(print)

    with pytest.raises(UsageError, match="another") as refused:
        other.start()

    assert connections.new == [], "it was left to whoever lets go of what was raised"
    assert refused.traceback


def test_no_connection_is_left_of_a_drainer(
    connections: Connections, server: PrivateServer, store: Store, namespace: str
) -> None:
    """It has a heart and a will, too. Where there is nothing to drain from, it does not even begin."""
    with pytest.raises(EmptyNamespace), Drainer(store.server, namespace, store.settings):
        pass
    assert connections.new == []
    app, _ = app_of_all_lanes(server, namespace)
    app.start()
    app.stop()

    with Drainer(store.server, namespace, store.settings) as drainer:
        assert list(drainer.batches()) == []
        assert connections.new

    assert connections.new == []
