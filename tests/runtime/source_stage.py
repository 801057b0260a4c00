"""Instances of Apps with sources, in this process on a real server: what they published, and who deposes them."""

import threading
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from soloist import App, Page, Source
from soloist.events import Event, Events
from soloist.inspector import Inspector, Snapshot
from soloist.runtime.instance import Instance
from soloist.runtime.part import Part
from soloist.settings import Settings
from soloist.store.envelope import unpack
from soloist.store.presence import Who, join, leave
from tests.servers import Store
from tests.waiting import wait_until

APP = "demo"
"""What all Apps here are called: the namespace belongs to one."""


class Heard:
    """What one instance told."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def told(self, name: str) -> list[dict[str, Any]]:
        return [event.fields for event in self.events.copy() if event.event == name]


class Stage:
    """Starts instances. Nobody handles, unless the App says so: what was published waits in its order."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._namespace = store.keys.base.split("{")[1].split("}")[0]
        self.inspector = Inspector(store.server, self._namespace)
        self.instances: list[Instance] = []
        self.heard: dict[Instance, Heard] = {}

    def start(self, app: App, part: Part | None = None, **settings: Any) -> Instance:
        heard = Heard()
        instance = Instance(app, self.store.server, self._namespace, Settings(**settings), Events(heard), part)
        instance.start()
        self.instances.append(instance)
        self.heard[instance] = heard
        return instance

    def stop(self, instance: Instance) -> None:
        self.instances.remove(instance)
        instance.stop()
        assert instance.failure is None, instance.failure

    def end(self) -> None:
        for instance in self.instances.copy():
            self.stop(instance)

    def told(self, instance: Instance, name: str) -> list[dict[str, Any]]:
        return self.heard[instance].told(name)

    def wait_for(self, instance: Instance, name: str, times: int = 1) -> dict[str, Any]:
        what = f"{times} x {name}, told by #{instance.incarnation.number}"
        return wait_until(lambda: self.told(instance, name)[times - 1 : times], what=what)[0]

    def snapshot(self) -> Snapshot:
        seen = self.inspector.snapshot()
        assert seen.adds_up
        return seen

    def published(self, kind: str = "default") -> list[str]:
        """The bodies of what waits, in order."""
        envelopes = self.store.link.command("LRANGE", self.store.keys.pending(kind), 0, -1)
        return [unpack(envelope).body.decode() for envelope in envelopes]

    def wait_until_published(self, many: int, kind: str = "default") -> list[str]:
        wait_until(lambda: len(self.published(kind)) >= many, what=f"{many} of {kind} are published")
        return self.published(kind)

    def wait_for_successor(self) -> None:
        wait_until(lambda: self.snapshot().line, what="somebody is in line")

    def stored(self, field: str) -> str | None:
        """What the term's hash says: cursor:NAME, tick:NAME."""
        found: bytes | None = self.store.link.command("HGET", self.store.keys.term, field)
        return None if found is None else found.decode()

    def depose(self) -> Callable[[], None]:
        """Give the term to somebody else, as a takeover would, who does nothing with it; answers how that one leaves."""
        link, keys, settings = self.store.link, self.store.keys, self.store.settings
        other = Who(f"other{uuid4().hex[:8]}", 0, APP, "host", 1)
        join(link, keys, other, settings)
        term = int(self.stored("term") or 0)
        link.command("HSET", keys.term, "term", term + 1, "instance", other.id, "call", 0)
        return lambda: void(leave(link, keys, other.id, settings, ()))


def void(_: object) -> None: ...


class Gate:
    """Sources wait here until the test lets them go; it knows how many do."""

    def __init__(self, within: float = 60) -> None:
        self._open = threading.Event()
        self._within = within
        self.waiting = 0

    def wait(self) -> None:
        self.waiting += 1
        self._open.wait(self._within)

    def open(self) -> None:
        self._open.set()

    def wait_until_reached(self, times: int = 1) -> None:
        wait_until(lambda: self.waiting >= times, what="the source is called")


def count_by_cursor(app: App, **options: Any) -> None:
    """Give it a source named "count" that publishes 0, 1, 2, … and knows of them by its cursor alone."""

    @app.source(**{"every": 0.005, **options})
    def count(source: Source[Any, int]) -> Page[int]:
        number = source.cursor or 0
        return Page([str(number)], cursor=number + 1)


def app_of(function: Callable[..., Any], **options: Any) -> App:
    app = App(APP)
    app.source(**{"every": 0.01, "name": "count", **options})(function)
    return app


def well() -> App:
    app = App(APP)
    count_by_cursor(app)
    return app


def start_beside(sources: Stage, trouble: App) -> tuple[Instance, Instance]:
    """One in trouble that generates, and one that is well and in line."""
    first = sources.start(trouble)
    sources.wait_for(first, "elected")
    second = sources.start(well())
    return first, second
