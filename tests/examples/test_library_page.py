"""docs/library.md: every block of Python on it is run on a real server, or is found in the example that it is from.

Excerpts on other pages, too: the examples are run by tests of their own.
"""

import importlib.util
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from soloist import App, Msg, Page, Source
from soloist.error_store import ErrorStore
from soloist.events import Events
from soloist.inspector import Inspector, Snapshot
from soloist.runtime.instance import Instance
from soloist.settings import Settings
from soloist.store.link import Link
from soloist.store.server import Server
from tests.documents import ROOT, Document
from tests.servers import PrivateServer
from tests.waiting import wait_until

pytestmark = pytest.mark.one_server

PAGE = Document("docs/library.md")
BLOCK = re.compile(r"^<!-- (run|excerpt): (\S+) -->\n```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
BLOCKS = BLOCK.findall(PAGE.text)
RUN = {name: block for what, name, block in BLOCKS if what == "run"}
EXCERPTS = [(name, block) for what, name, block in BLOCKS if what == "excerpt"]
ELSEWHERE = [
    (name, block) for what, name, block in BLOCK.findall(Document("docs/operations.md").text) if what == "excerpt"
]


@dataclass(frozen=True)
class Promise:
    """What becomes of a block when it is run.

    Attributes:
        completed: how many messages of each kind complete, at least.
        waiting: kinds without a handler -> how many wait, at least.
        reasons: parts of the reasons of those that fail.
        feed: messages for a block that has no source.
        shows: whatever else is to be seen, in the module or in Redis.
    """

    completed: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)
    reasons: Sequence[str] = ()
    feed: Sequence[Msg] = ()
    shows: "Callable[[ModuleType, Stage], bool]" = lambda _module, _stage: True


PROMISES = {
    "short": Promise({"default": 1}, reasons=["odd orders are not for us"]),
    "sources": Promise(waiting={"number": 2500, "default": 1}),
    "async_sources": Promise(waiting={"price": 1, "change": 50}),
    "handlers": Promise(
        {"report": 1, "thumbnail": 1, "webhook": 1, "row": 2},
        reasons=["there is nothing to report", "this one alone"],
        feed=[
            *(Msg(kind, "x") for kind in ("report", "thumbnail", "webhook", "row", "row")),
            Msg("report", ""),
            Msg("row", "bad"),
        ],
    ),
    "retries": Promise(
        {"call": 1, "later": 1},
        feed=[Msg("call", "x"), Msg("later", "x")],
    ),
    "lifespan": Promise({"default": 2}),
    "around": Promise(
        {"default": 2},
        shows=lambda module, _: len(module.took) >= 2,
    ),
    "payloads": Promise({"order": 1}, reasons=["Expected `int`, got `str` - at `$.number`"]),
    "commit": Promise(
        {"sale": 100},
        shows=lambda _, stage: stage.revenue() == 5050,
    ),
    "settings": Promise({"default": 1}),
    "errors": Promise(
        reasons=["no such address"],
        shows=lambda module, stage: stage.drains(module),
    ),
    "testing": Promise({"letter": 4}, reasons=["not this one"], feed=[*(Msg("letter", letter) for letter in "abcdx")]),
}


class Stage:
    """Runs a block as a module, and its App as an instance in this process."""

    def __init__(self, url: str, namespace: str, folder: Path) -> None:
        self._url = url
        self._server = Server(url)
        self._namespace = namespace
        self._folder = folder
        self._instance: Instance | None = None

    def load(self, name: str) -> ModuleType:
        path = self._folder / f"{name}.py"
        path.write_text(RUN[name])
        spec = importlib.util.spec_from_file_location(f"page_{name}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def start(self, app: App) -> None:
        self._instance = Instance(app, self._server, self._namespace, Settings(), Events(lambda _: None))
        self._instance.start()

    def stop(self) -> None:
        if self._instance is not None:
            self._instance.stop()

    def snapshot(self) -> Snapshot:
        seen = Inspector(self._server, self._namespace).snapshot()
        assert seen.adds_up
        return seen

    def revenue(self) -> int:
        """Under the key that the page names."""
        with closing(Link(self._server, timeout=5)) as link:
            return int(link.command("GET", f"soloist:{{{self._namespace}}}:data:revenue") or 0)

    def drains(self, module: ModuleType) -> bool:
        """With the functions of the page, on this server."""
        errors = module.app.errors.at(self._url, namespace=self._namespace)
        module.look_through(errors)
        module.hand_over(errors)
        return "no such address" in module.tickets[0]

    def reasons(self) -> list[str]:
        return [record.details.reason for record in ErrorStore(self._server, self._namespace).oldest()]


@pytest.fixture
def stage(server: PrivateServer, namespace: str, tmp_path: Path) -> Iterator[Stage]:
    made = Stage(server.url, namespace, tmp_path)
    yield made
    made.stop()


def fed(messages: Sequence[Msg]) -> Callable[[Source[Any, int]], Page[int] | None]:
    """A source that publishes these, once."""

    def feed(source: Source[Any, int]) -> Page[int] | None:
        return Page(messages, cursor=1) if source.cursor is None else None

    return feed


def test_every_block_is_tested() -> None:
    """Each is marked as one to run or as an excerpt; and each of the first sort has a promise."""
    assert len(PAGE.blocks("python")) == len(BLOCKS)
    assert set(RUN) == set(PROMISES)
    assert len(RUN) + len(EXCERPTS) == len(BLOCKS), "a name is used twice"
    assert ELSEWHERE


@pytest.mark.parametrize("name", PROMISES)
def test_a_block_does_what_the_page_says(name: str, stage: Stage) -> None:
    """As it stands there, in a file of its own; its App run until what is promised has happened."""
    promise = PROMISES[name]
    module = stage.load(name)
    app: App = module.app
    if promise.feed:
        app.sources.clear()
        app.source(every=0.05, name="feed")(fed(promise.feed))

    stage.start(app)

    def happened() -> bool:
        seen = stage.snapshot()
        reasons = stage.reasons()
        return (
            all(kind in seen.kinds and seen.kinds[kind].completed >= many for kind, many in promise.completed.items())
            and all(kind in seen.kinds and seen.kinds[kind].pending >= many for kind, many in promise.waiting.items())
            and all(any(part in reason for reason in reasons) for part in promise.reasons)
            and promise.shows(module, stage)
        )

    wait_until(happened, what=f"{promise}")
    unexpected = [reason for reason in stage.reasons() if not any(part in reason for part in promise.reasons)]
    assert unexpected == []


def test_the_tests_on_the_page_are_green(stage: Stage) -> None:
    """They are functions of the block: called, they raise nothing."""
    module = stage.load("testing")
    tests = [value for name, value in vars(module).items() if name.startswith("test_")]

    assert len(tests) == 2
    for test in tests:
        test()


@pytest.mark.parametrize(
    ("path", "block"),
    [*EXCERPTS, *ELSEWHERE],
    ids=[path for path, _ in EXCERPTS] + [f"{path}, operations" for path, _ in ELSEWHERE],
)
def test_an_excerpt_is_still_in_its_file(path: str, block: str) -> None:
    """Word for word: what was changed there must be changed on the page."""
    assert block in (ROOT / path).read_text()
