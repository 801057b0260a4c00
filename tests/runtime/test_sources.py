"""Sources on a real server: cursors, cadences, flavours, and what a refused page leaves behind."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import pairwise
from typing import Any

import pytest

from soloist import App, Message, Msg, Page, Source
from soloist.errors import Unavailable, UsageError
from soloist.events import Events
from soloist.runtime import sender
from soloist.runtime.instance import Instance
from soloist.settings import Settings
from soloist.store.messages import Full, PageCall, publish
from tests.runtime.source_stage import APP, Gate, Stage, count_by_cursor
from tests.waiting import wait_until


def up_to(many: int) -> list[str]:
    return [str(number) for number in range(many)]


# the cursor


def test_the_next_call_gets_the_cursor_of_the_last_page(sources: Stage) -> None:
    app = App(APP)
    count_by_cursor(app)
    sources.start(app)

    found = sources.wait_until_published(20)

    assert found == up_to(len(found))


@pytest.mark.parametrize("how", ["stops", "hands over", "is reborn"])
def test_the_next_generator_goes_on_with_the_cursor(sources: Stage, how: str) -> None:
    """On whichever instance it runs: no number twice, none left out."""
    app = App(APP)
    count_by_cursor(app)
    first = sources.start(app)
    sources.wait_until_published(5)
    second = sources.start(app)
    sources.wait_for_successor()

    if how == "stops":
        sources.stop(first)
    elif how == "hands over":
        assert first._term is not None
        first._step_down(first._term, 60)
    else:
        first.be_reborn(first.incarnation, "beat")
    wait_until(lambda: sources.told(first, "elected")[1:] or sources.told(second, "elected"), what="another term")
    already = len(sources.published())
    found = sources.wait_until_published(already + 10)

    assert found == up_to(len(found))


def test_each_source_has_its_own_cursor_and_its_own_cadence(sources: Stage) -> None:
    """One that comes once an hour beside one that comes every 5 ms, and one without a cursor."""
    app = App(APP)
    count_by_cursor(app)

    @app.source(every=3600)
    def hourly(source: Source[None, str]) -> Page[str]:
        return Page([Msg("hour", source.cursor or "first")], cursor="second")

    @app.source(every=0.02)
    def plain() -> Msg:
        return Msg("plain", "x")

    first = sources.start(app)
    sources.wait_until_published(20)
    sources.wait_until_published(3, "plain")
    sources.stop(first)
    sources.start(app)
    found = sources.wait_until_published(len(sources.published()) + 20)

    assert found == up_to(len(found))
    assert sources.published("hour") == ["first"], "its hour is not over, also for the next generator"
    assert sources.stored("cursor:hourly") == '"second"'
    assert sources.stored("cursor:count") is not None
    assert sources.stored("cursor:plain") is None
    ticks = [int(sources.stored(f"tick:{name}") or 0) for name in ("count", "hourly", "plain")]
    assert ticks[1] < ticks[0]
    assert all(ticks)


def test_a_page_is_published_whole_whatever_its_kinds(sources: Stage) -> None:
    """With its keys, in its order."""
    app, seen = App(APP), list[tuple[str, str, str]]()

    @app.source(every=0.01)
    def once(source: Source[None, bool]) -> Page[bool] | None:
        page = [Msg("a", "1", key="k1"), Msg("b", b"2"), Msg("a", {"n": 3}), "4"]
        return None if source.cursor else Page(page, cursor=True)

    @app.handler("a")
    def handle(message: Message) -> None:
        seen.append((message.id.split("-")[0], message.key, message.body))

    sources.start(app)
    wait_until(lambda: len(seen) == 2, what="those of kind a are handled")

    assert seen[0] == ("1", "k1", "1")
    assert seen[1][0] == "3"
    assert seen[1][2] == '{"n":3}'
    assert (sources.published("b"), sources.published()) == (["2"], ["4"])


def test_a_source_that_stands_where_it_stood_costs_the_server_nothing(
    sources: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`cursor=… if rows else source.cursor`, as fast as it goes: no call without news, and no spinning."""
    calls, asked = Counter[str](), list[float]()

    def counted(link: Any, keys: Any, instance: str, settings: Settings, page: Any) -> int:
        calls[page.source] += 1
        return publish(link, keys, instance, settings, page)

    monkeypatch.setattr(sender, "publish", counted)
    app = App(APP)

    @app.source(every=0)
    def idle(source: Source[None, int]) -> Page[int]:
        asked.append(time.monotonic())
        return Page([], cursor=7, more=len(asked) % 2 == 0)

    sources.start(app)
    wait_until(lambda: len(asked) > 6, what="it is asked again and again")

    assert calls["idle"] == 1
    assert min(later - earlier for earlier, later in pairwise(asked[1:])) >= 0.04
    assert sources.stored("cursor:idle") == "7"


# more and wait


def test_more_means_at_once(sources: Stage) -> None:
    """Its hour does not matter until it says that there is no more."""
    app = App(APP)

    @app.source(every=3600)
    def pages(source: Source[None, int]) -> Page[int]:
        number = source.cursor or 0
        return Page([str(number)], cursor=number + 1, more=number < 9)

    sources.start(app)

    assert sources.wait_until_published(10) == up_to(10)


def test_wait_means_not_before(sources: Stage) -> None:
    """However often it comes else; and what passed meanwhile is not made up for."""
    app, called = App(APP), list[float]()

    @app.source(every=0.05)
    def polite() -> Page[int]:
        called.append(time.monotonic())
        return Page([str(len(called))], wait=0.4 if len(called) == 1 else 0)

    sources.start(app)
    sources.wait_until_published(4)

    assert called[1] - called[0] >= 0.4
    assert sources.published()[:4] == ["1", "2", "3", "4"]


# flavours


def flavoured(app: App, note: Callable[[Any], None]) -> None:
    """A source of each flavour, under its own kind; what follows a yield is noted with the cursor."""

    @app.source(every=0.01)
    def plain(source: Source[str, int], ctx: str) -> Page[int]:
        note(("plain", ctx, source.ctx))
        return Page([Msg("plain", str(source.cursor or 0))], cursor=(source.cursor or 0) + 1)

    @app.source(every=0.01)
    async def task(source: Source[str, int], ctx: str) -> Page[int]:
        await asyncio.sleep(0)
        note(("task", ctx, source.ctx))
        return Page([Msg("task", str(source.cursor or 0))], cursor=(source.cursor or 0) + 1)

    @app.source(every=0.01)
    def steps(source: Source[str, int], ctx: str) -> Iterator[Page[int]]:
        note(("steps", ctx, source.ctx))
        for number in range(source.cursor or 0, 1000):
            yield Page([Msg("steps", str(number))], cursor=number + 1)
            note(("steps accepted", number, source.cursor))

    @app.source(every=0.01)
    async def async_steps(source: Source[str, int], ctx: str) -> AsyncIterator[Page[int]]:
        note(("async_steps", ctx, source.ctx))
        for number in range(source.cursor or 0, 1000):
            yield Page([Msg("async_steps", str(number))], cursor=number + 1)
            await asyncio.sleep(0)
            note(("async_steps accepted", number, source.cursor))


FLAVOURS = ("plain", "task", "steps", "async_steps")


@pytest.mark.parametrize("lifespan", ["sync", "async"])
def test_sources_of_all_flavours_go_on_across_instances_and_are_given_the_ctx(sources: Stage, lifespan: str) -> None:
    """All at once, side by side."""
    noted: list[Any] = []

    @contextmanager
    def deps() -> Iterator[str]:
        noted.append("entered")
        yield "deps"
        noted.append("left")

    @asynccontextmanager
    async def async_deps() -> AsyncIterator[str]:
        with deps() as ctx:
            await asyncio.sleep(0)
            yield ctx

    app = App(APP, lifespan=deps if lifespan == "sync" else async_deps)
    flavoured(app, noted.append)
    first = sources.start(app)
    for kind in FLAVOURS:
        sources.wait_until_published(5, kind)
    sources.stop(first)
    assert noted[0] == "entered"
    assert noted[-1] == "left", "after everything that used it"

    sources.start(app)
    for kind in FLAVOURS:
        found = sources.wait_until_published(len(sources.published(kind)) + 5, kind)
        assert found == up_to(len(found)), kind
        assert (kind, "deps", "deps") in noted
    for kind in ("steps", "async_steps"):
        accepted = [number for name, number, cursor in noted_of(noted, f"{kind} accepted") if cursor == number + 1]
        assert len(accepted) == len(noted_of(noted, f"{kind} accepted")), "each with the cursor of its page"
        assert len(accepted) > 5


def noted_of(noted: list[Any], name: str) -> list[Any]:
    return [each for each in noted.copy() if each[0] == name]


@pytest.mark.parametrize("flavour", ["sync", "async"])
def test_what_follows_a_yield_does_not_run_when_the_page_was_refused(sources: Stage, flavour: str) -> None:
    """It was deposed between its reading and its publishing. Nothing of the page is in Redis; the source is simply
    begun anew, by whoever generates then, with the old cursor.
    """
    app, gate, done = App(APP), Gate(), list[Any]()

    def step(source: Source[None, int]) -> Page[int]:
        done.append(("read from", source.cursor))
        gate.wait()
        return Page([f"by term {source.term}"], cursor=1)

    @contextmanager
    def noting() -> Iterator[None]:
        try:
            yield
            done.append("accepted")
        finally:
            done.append("closed")

    if flavour == "sync":

        @app.source(every=0.01, name="reading")
        def steps(source: Source[None, int]) -> Iterator[Page[int]]:
            while not source.cursor:
                with noting():
                    yield step(source)

    else:

        @app.source(every=0.01, name="reading")
        async def async_steps(source: Source[None, int]) -> AsyncIterator[Page[int]]:
            while not source.cursor:
                with noting():
                    yield await asyncio.to_thread(step, source)

    instance = sources.start(app)
    gate.wait_until_reached()
    before = instance._term
    assert before is not None
    other_leaves = sources.depose()
    gate.open()

    sources.wait_for(instance, "superseded")
    wait_until(lambda: "closed" in done, what="the Python generator is closed")
    assert done == [("read from", None), "closed"]
    assert (sources.published(), sources.stored("cursor:reading")) == ([], None)

    other_leaves()
    sources.wait_until_published(1)
    wait_until(lambda: "accepted" in done, what="the page of the new term is accepted")
    assert done[2:] == [("read from", None), "accepted", "closed"]
    assert sources.published() == [f"by term {before.number + 2}"]
    assert sources.stored("cursor:reading") == "1"


def test_a_plain_source_whose_page_was_refused_is_called_again_with_the_old_cursor(sources: Stage) -> None:
    app, gate, cursors = App(APP), Gate(), list[int | None]()

    @app.source(every=0.01)
    def reading(source: Source[None, int]) -> Page[int] | None:
        if source.cursor == 1:
            return None
        cursors.append(source.cursor)
        gate.wait()
        return Page(["x"], cursor=1)

    instance = sources.start(app)
    gate.wait_until_reached()
    other_leaves = sources.depose()
    gate.open()
    sources.wait_for(instance, "superseded")
    other_leaves()

    assert sources.wait_until_published(1) == ["x"]
    assert cursors == [None, None]


def test_nothing_is_published_by_one_that_was_stopped_meanwhile(sources: Stage) -> None:
    """Its function is waited for a little; what it returns then belongs to no term."""
    app, gate = App(APP), Gate()

    @app.generator(every=0.01)
    def slow() -> str:
        gate.wait()
        return "too late"

    instance = sources.start(app, lease=0.6)
    gate.wait_until_reached()
    sources.stop(instance)
    gate.open()

    wait_until(lambda: not any(thread.is_alive() for thread in instance.generator.threads), what="its thread ends")
    assert sources.published() == []
    assert sources.snapshot().instances == []


# several at once


def test_a_full_kind_does_not_hold_up_the_sources_of_others(sources: Stage) -> None:
    """The one waits until there is room; its call number is free for the next."""
    app, handled = App(APP), list[str]()

    @app.source(every=0.001)
    def stuck() -> Msg:
        return Msg("stuck", "x")

    @app.source(every=0.001)
    def flowing(source: Source[None, int]) -> Page[int]:
        number = source.cursor or 0
        return Page([Msg("flowing", str(number))], cursor=number + 1)

    @app.handler("flowing")
    def handle(message: Message) -> None:
        handled.append(message.body)

    sources.start(app, max_pending=10)
    sources.wait_until_published(10, "stuck")
    already = len(handled)
    wait_until(lambda: len(handled) > already + 100, what="the other kind flows")

    assert handled == up_to(len(handled))
    assert len(sources.published("stuck")) == 10


def test_a_page_whose_answer_was_lost_keeps_its_number_to_itself_although_there_is_no_room(
    sources: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its late copy may still arrive and be applied: another page under the same number would be taken for it."""
    tried: list[PageCall] = []
    answers = iter([Unavailable("the answer was lost"), Full(), Full(), Full()])

    def scripted(link: Any, keys: Any, instance: str, settings: Settings, page: PageCall) -> int:
        tried.append(page)
        answer = next(answers, None) if page.source == "first" else None
        if answer is not None:
            raise answer
        return publish(link, keys, instance, settings, page)

    monkeypatch.setattr(sender, "publish", scripted)
    app = App(APP)
    app.source(every=0.01, name="first")(lambda: "x")
    app.source(every=0.001, name="second")(lambda: "y")
    sources.start(app)
    wait_until(lambda: [page.source for page in tried].count("first") > 5, what="it is published at last")

    begun = next(number for number, page in enumerate(tried) if page.source == "first")
    assert all(page is tried[begun] for page in tried[begun : begun + 5])
    assert tried[begun + 5].call == tried[begun].call + 1


def test_a_source_that_hangs_does_not_hold_up_another(sources: Stage) -> None:
    """Each has a thread of its own."""
    app, gate = App(APP), Gate()

    @app.source(every=0.01)
    def hanging() -> None:
        gate.wait()

    count_by_cursor(app)
    sources.start(app)
    gate.wait_until_reached()

    found = sources.wait_until_published(len(sources.published()) + 20)
    gate.open()
    assert found == up_to(len(found))


# the lifespan


def test_a_lifespan_that_fails_keeps_the_instance_from_joining(sources: Stage) -> None:
    """And leaves nothing behind: no instance, no thread."""

    @asynccontextmanager
    async def fails() -> AsyncIterator[None]:
        raise_it()
        yield

    def raise_it() -> None:
        raise OSError("no database")

    app = App(APP, lifespan=fails)
    count_by_cursor(app)
    before = threading.active_count()
    instance = Instance(app, sources.store.server, sources._namespace, Settings(), Events(lambda _: None))

    with pytest.raises(
        UsageError, match=r"the lifespan fails \(test_sources.py, line \d+\) failed: OSError: no database"
    ):
        instance.start()

    assert sources.store.link.command("EXISTS", sources.store.keys.instances) == 0
    wait_until(lambda: threading.active_count() <= before, what="the thread of its loop has ended")
