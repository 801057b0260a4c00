"""docs/schedules.md and docs/migrating.md: every block of Python that is marked so is run on a real server."""

import asyncio
import re
from collections.abc import Callable
from contextlib import closing
from types import ModuleType
from typing import Any

import pytest

from soloist.inspector import Inspector, Snapshot
from soloist.store.server import Server
from tests.documents import Document
from tests.servers import Store
from tests.waiting import wait_until

pytestmark = pytest.mark.one_server

MARKED = re.compile(r"^<!-- run: (\S+) -->\n```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
BLOCKS = {
    name: block
    for page in ("schedules", "migrating")
    for name, block in MARKED.findall(Document(f"docs/{page}.md").text)
}
GUESTS = 2500


def jobs(page: Any, seen: Callable[[], Snapshot]) -> None:
    """The job that comes often has run; the other one is there."""
    wait_until(lambda: seen().kinds["schedule:often"].completed >= 2, what="its ticks are run")
    assert {each.name: each.when for each in page.app.schedules} == {"nightly": "0 3 * * *", "often": "every 0.2 s"}


def at_run_time(page: Any, seen: Callable[[], Snapshot]) -> None:
    page.reschedule()
    wait_until(lambda: seen().kinds["mail"].completed == 1, what="the run that was asked for")
    (digest,) = page.app.schedules
    assert (digest.origin, digest.paused, digest.last_result) == ("data", False, "completed")


def publishing(page: Any, seen: Callable[[], Snapshot]) -> None:
    page.order()
    asyncio.run(page.order_async())
    wait_until(lambda: seen().kinds["welcome"].completed == GUESTS + 4, what="all are handled")


def runs_of(page: Any, seen: Callable[[], Snapshot], *names: str) -> None:
    """Each can be run, and is run."""
    wait_until(
        lambda: {each.name for each in page.app.schedules} == set(names), what="the generator has put them there"
    )
    for name in names:
        page.app.schedules.run(name)
    wait_until(lambda: all(seen().kinds[f"schedule:{name}"].completed for name in names), what="all have run")


def from_celery(page: Any, seen: Callable[[], Snapshot]) -> None:
    runs_of(page, seen, "nightly", "poll")
    page.app.publish("report", {"full": False})
    wait_until(lambda: seen().kinds["report"].completed == 1, what="what was a task")


def from_rq(page: Any, seen: Callable[[], Snapshot]) -> None:
    runs_of(page, seen, "nightly", "every_half_minute")
    page.soon()
    wait_until(lambda: seen().kinds["poll"].completed == 1, what="what was enqueue_in")


def from_apscheduler(page: Any, seen: Callable[[], Snapshot]) -> None:
    runs_of(page, seen, "nightly", "poll")


SHOWS = {each.__name__: each for each in (jobs, at_run_time, publishing, from_celery, from_rq, from_apscheduler)}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_does_what_the_page_says(store: Store, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    page = ModuleType(name)
    exec(BLOCKS[name], vars(page))  # noqa: S102 - that is what this is about
    where = {"url": store.server.url, "namespace": store.keys.namespace}
    for setting, value in where.items():
        monkeypatch.setenv(f"SOLOIST_{setting.upper()}", value)

    page.app.start()
    try:
        with closing(Inspector(Server(store.server.url), store.keys.namespace)) as inspector:
            SHOWS[name](page, inspector.snapshot)
    finally:
        page.app.stop()


def test_every_block_is_run() -> None:
    assert set(BLOCKS) == set(SHOWS)
