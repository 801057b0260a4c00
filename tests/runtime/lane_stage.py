"""Apps whose messages are there from the beginning, run in this process, and what became of the messages."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from soloist import App, Message, Msg, Page
from soloist.error_store import ErrorStore
from soloist.events import Events
from soloist.inspector import Inspector, Snapshot
from soloist.runtime.instance import Instance
from soloist.settings import Settings
from soloist.store.server import Server
from tests.waiting import wait_until


class Stage:
    """Starts instances of Apps in this process, and looks at what became of their messages."""

    def __init__(self, url: str, namespace: str) -> None:
        self._url = url
        self._namespace = namespace
        self.instances: list[Instance] = []

    def start(self, app: App, **settings: Any) -> Instance:
        instance = Instance(app, Server(self._url), self._namespace, Settings(**settings), Events(lambda _: None))
        instance.start()
        self.instances.append(instance)
        return instance

    def snapshot(self) -> Snapshot:
        seen = Inspector(Server(self._url), self._namespace).snapshot()
        assert seen.adds_up
        return seen

    def wait_until_done(self, messages: int) -> Snapshot:
        def is_done() -> bool:
            seen = self.snapshot()
            return seen.completed + seen.failed == messages and seen.claimed == 0

        wait_until(is_done, what=f"{messages} messages are handled")
        return self.snapshot()

    def errors(self) -> list[tuple[str, str]]:
        """Body and reason of each error record."""
        records = ErrorStore(Server(self._url), self._namespace).oldest()
        return [(record.data.decode(), record.details.reason) for record in records]


def app_with(*messages: Msg) -> App:
    """An App whose source publishes these, once."""
    app = App("lanes")

    @app.source(every=0.01)
    def once(source: Any) -> Page[int] | None:
        return None if source.cursor else Page(messages, cursor=1)

    return app


def numbered(kind: str, many: int) -> list[Msg]:
    return [Msg(kind, str(number)) for number in range(many)]


class Gate:
    """Handlers wait here until the test lets them go; it knows how many do."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self.waiting = 0

    def wait(self) -> None:
        self.waiting += 1
        self._open.wait(30)

    async def await_it(self) -> None:
        self.waiting += 1
        await asyncio.to_thread(self._open.wait, 30)

    def open(self) -> None:
        self._open.set()


FLAVOURS = ["inline", "async", "threads", "batch"]


def handles(app: App, flavour: str, judge: Callable[[Message], None], **options: Any) -> None:
    """Declare a handler of this flavour that does the same."""
    if flavour == "async":

        async def task(message: Message) -> None:
            judge(message)

        app.handler("job", concurrency=4, **options)(task)
    elif flavour == "batch":

        def one_by_one(messages: list[Message]) -> None:
            for message in messages:
                judge(message)

        app.handler("job", batch=1, **options)(one_by_one)
    else:
        app.handler("job", concurrency=1 if flavour == "inline" else 4, **options)(judge)
