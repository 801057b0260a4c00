"""Where a system of a test is: its server, its namespace, its settings; and that nothing of it stays there."""

from contextlib import closing
from typing import Any
from uuid import uuid4

from soloist.app import App
from soloist.fitting import here
from soloist.settings import from_code
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server
from soloist.store.snapshot import namespaces, purge
from soloist.target import Purpose, Said, Target, meet, resolve
from soloist.testing import server, sweeper

STOP_TIMEOUT = 2.0
"""Seconds for a message in hand at the end of a test, unless the test says otherwise: a handler that still waits for something
is one that the test has forgotten."""

LONGEST_NAME = 64
TIMEOUT = 10.0

OF_THIS_PROCESS = f"test-{uuid4().hex[:12]}-"
"""What its namespaces begin with: no two workers of pytest-xdist meet."""


def new_base() -> str:
    """What the namespaces of one test begin with."""
    return f"{OF_THIS_PROCESS}{uuid4().hex[:8]}"


def place(app: App, base: str, url: str | None, settings: dict[str, Any]) -> Target:
    """A namespace of its own for each App, as in production; and the App's own settings, but for what a test says."""
    where = f"testing.run(…) at {here()}"
    namespace = f"{base}/{app.name[:LONGEST_NAME]}"
    found = server.url_of(url)
    if not server.is_private(found):
        sweeper.watch_over(found, OF_THIS_PROCESS)
    said = Said(
        {
            "stop_timeout": STOP_TIMEOUT,
            **from_code({**settings, "url": found, "namespace": namespace}, where),
        },
        embedded=False,
        config=None,
        spelling=lambda name: f"{where}: {name}",
        remedy="",
    )
    return meet(resolve(said, app, needs_connection=True), Purpose.CHANGE)


def remove(url: str, base: str) -> None:
    """Every namespace that begins so, with what was written along with messages."""
    with closing(Link(Server(url, where="url"), TIMEOUT)) as link:
        for name in namespaces(link):
            if name.startswith(base):
                purge(link, Keys(name), data=True)
