"""Sources that go wrong, on a real server: they raise, hang, or answer what cannot be published."""

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from soloist import App, Msg, Page, Source
from soloist.runtime import generator as generator_module
from soloist.runtime import instance as instance_module
from soloist.runtime.instance import Instance
from soloist.store.control import handover
from tests.runtime.source_stage import APP, Gate, Stage, app_of, start_beside, well
from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked often whether somebody else may try."""
    monkeypatch.setattr(instance_module, "ASK_AGAIN", 0.05)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was answered each time that an instance wanted to leave the part to another."""
    answers: list[str] = []

    def noted(*args: Any) -> Any:
        answer = handover(*args)
        answers.append(answer.outcome)
        return answer

    monkeypatch.setattr(instance_module, "handover", noted)
    return answers


def assert_only_the_part_is_lost(sources: Stage, instance: Instance) -> None:
    """Never the error store, never the instance."""
    seen = sources.snapshot()
    assert (seen.errors, seen.failed) == (0, 0)
    assert instance.failure is None
    assert instance.incarnation.id in [each.id for each in seen.instances]
    assert len(sources.told(instance, "joined")) == 1


# it raises


def test_a_source_that_raises_is_logged_shown_and_called_again(
    sources: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """Once in the log, however often it fails; until it is well again."""
    calls: list[bool] = []
    is_broken = threading.Event()
    is_broken.set()

    def count() -> str:
        calls.append(True)
        if is_broken.is_set():
            raise ValueError("the table is locked")
        return "x"

    with caplog.at_level(logging.ERROR, "soloist"):
        instance = sources.start(app_of(count))
        wait_until(lambda: len(calls) > 5, what="it is called again and again")
        wait_until(lambda: troubles(sources), what="status shows it")

    assert troubles(sources)["count"].error == "ValueError: the table is locked"
    [logged] = [record for record in caplog.records if record.message.startswith("source.failed")]
    assert "source=count error='ValueError: the table is locked'" in logged.message
    assert "in count" in caplog.text, "with its traceback"
    assert sources.published() == []
    is_broken.clear()
    sources.wait_until_published(2)
    wait_until(lambda: not troubles(sources), what="status shows that it is well")
    assert_only_the_part_is_lost(sources, instance)
    assert len(sources.told(instance, "elected")) == 1


def troubles(sources: Stage) -> dict[str, Any]:
    return {name: each for instance in sources.snapshot().instances for name, each in instance.sources.items()}


@pytest.mark.parametrize("flavour", ["plain", "async", "steps"])
@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt(), StopIteration("over"), GeneratorExit()])
def test_whatever_a_source_raises_the_instance_lives(sources: Stage, flavour: str, raised: BaseException) -> None:
    """Also what would end a program, or an iterator; and the event loop goes on."""
    raises = iter([raised] * 3)

    def maybe() -> str:
        error = next(raises, None)
        if error is not None:
            raise error
        return "x"

    async def maybe_later() -> str:
        return maybe()

    def steps() -> Iterator[str]:
        while True:
            yield maybe()

    function = {"plain": maybe, "async": maybe_later, "steps": steps}[flavour]
    instance = sources.start(app_of(function))

    sources.wait_until_published(2)
    assert_only_the_part_is_lost(sources, instance)


def test_one_that_fails_for_long_leaves_the_part_to_another_visibly(
    sources: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Event, log, common log; the other publishes; it is a handler now, and stays back for a while."""
    monkeypatch.setattr(generator_module, "FAILING", 0.2)

    def count() -> None:
        raise ValueError("my disk is broken")

    with caplog.at_level(logging.ERROR, "soloist"):
        first, second = start_beside(sources, app_of(count))
        sources.wait_for(second, "elected")

    assert "generator.unfit reason='source count has failed for" in caplog.text
    [unfit] = sources.told(first, "unfit")
    assert unfit["term"] == 1
    assert "ValueError: my disk is broken" in unfit["reason"]
    found = sources.wait_until_published(5)
    assert found[0] == "0"
    assert first.played == 0
    assert not first.may_generate
    assert first._stands_back_until - time.monotonic() > 10, "far longer than after a handover"
    assert_only_the_part_is_lost(sources, first)
    events = [entry.event for entry in sources.inspector.log()]
    assert [each for each in events if each in ("elected", "asked", "resigned")] == [
        "elected",
        "asked",
        "resigned",
        "elected",
    ]


def test_with_nobody_else_in_line_it_keeps_the_part(
    sources: Stage, monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    """Nobody could do it better; it goes on when it can, in the same term."""
    monkeypatch.setattr(generator_module, "FAILING", 0.05)
    is_broken = threading.Event()
    is_broken.set()

    def count() -> str:
        if is_broken.is_set():
            raise ValueError("no")
        return "x"

    instance = sources.start(app_of(count))
    wait_until(lambda: asked.count("NOBODY") > 2, what="it has asked for somebody else")
    is_broken.clear()
    sources.wait_until_published(3)

    assert len(sources.told(instance, "elected")) == 1
    assert not sources.told(instance, "unfit")


def test_somebody_who_comes_later_is_asked_as_well(sources: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generator_module, "FAILING", 0.05)
    calls: list[bool] = []

    def count() -> None:
        calls.append(True)
        raise ValueError("no")

    first = sources.start(app_of(count))
    wait_until(lambda: len(calls) > 10, what="it fails")
    second = sources.start(well())

    sources.wait_for(second, "elected")
    assert sources.told(first, "unfit")


def test_trouble_of_an_older_term_proves_nothing_in_a_new_one(
    sources: Stage, monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    """Else it would be unfit at once, before its source has answered."""
    monkeypatch.setattr(generator_module, "FAILING", 0.2)
    is_broken, gate = threading.Event(), Gate()
    is_broken.set()

    def count() -> str:
        if is_broken.is_set():
            raise ValueError("no")
        gate.wait()
        return "x"

    first, second = start_beside(sources, app_of(count))
    sources.wait_for(second, "elected")
    is_broken.clear()
    sources.stop(second)
    sources.wait_for(first, "elected", times=2)
    gate.wait_until_reached()
    third = sources.start(well())
    sources.wait_for_successor()
    wait_for_beats(first, 5)
    gate.open()

    assert len(sources.told(first, "unfit")) == 1
    assert not sources.told(third, "elected")
    assert asked.count("OK") == 1


def test_who_stood_back_generates_when_nobody_else_is_left(sources: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cool-down is a courtesy to others."""
    monkeypatch.setattr(generator_module, "FAILING", 0.1)
    is_broken = threading.Event()
    is_broken.set()

    def count() -> str:
        if is_broken.is_set():
            raise ValueError("no")
        return "x"

    first, second = start_beside(sources, app_of(count))
    sources.wait_for(second, "elected")
    is_broken.clear()
    sources.stop(second)

    sources.wait_for(first, "elected", times=2)


# it takes too long


def test_one_that_hangs_in_recv_does_not_hold_the_term(sources: Stage) -> None:
    """Its thread cannot be ended, so the part goes to another; until it returns, this instance does not generate, and
    its function is not called beside itself. What it returns then is not published.
    """
    ours, theirs = socket.socketpair()
    calls: list[int] = []

    def count(source: Source[None, int]) -> Page[int]:
        calls.append(source.term)
        if len(calls) == 1:
            ours.recv(1)  # nobody sends
        return Page([f"from term {source.term}"], cursor=1000)

    with ours, theirs:
        first, second = start_beside(sources, app_of(count, timeout=0.2))
        sources.wait_for(second, "elected")
        [unfit] = sources.told(first, "unfit")
        assert unfit["reason"].startswith("source count has not returned for ")
        sources.wait_until_published(3)

        sources.stop(second)
        wait_until(lambda: sources.snapshot().instances[0].lease_ms, what="it is there alone, and its heart beats")
        beats = wait_for_beats(first, 5)
        assert beats
        assert (calls, sources.snapshot().term, first.may_generate) == ([1], None, False)

        theirs.send(b"x")
        sources.wait_for(first, "elected", times=2)
        wait_until(lambda: "from term 3" in sources.published(), what="it publishes again")
    assert "from term 1" not in sources.published()
    assert calls[:2] == [1, 3]
    assert_only_the_part_is_lost(sources, first)


def wait_for_beats(instance: Instance, many: int) -> bool:
    """Until it has beaten so many times more."""
    seen: list[float] = []

    def beaten() -> bool:
        heard_at = instance.heart._heard_at
        if not seen or heard_at != seen[-1]:
            seen.append(heard_at)
        return len(seen) > many

    return wait_until(beaten, what=f"{many} beats")


def test_a_hanging_source_is_given_up_by_a_term_that_was_lost_otherwise_too(sources: Stage) -> None:
    """Deposed while it hangs, the instance is not elected before its function has returned."""
    app, gate, calls = App(APP), Gate(), list[int]()

    @app.source(every=0.01, timeout=None)
    def count(source: Source[None, int]) -> str:
        calls.append(source.term)
        if len(calls) == 1:
            gate.wait()
        return "x"

    instance = sources.start(app)
    gate.wait_until_reached()
    other_leaves = sources.depose()
    sources.wait_for(instance, "superseded")
    other_leaves()
    wait_for_beats(instance, 5)
    assert len(sources.told(instance, "elected")) == 1
    assert calls == [1]

    gate.open()
    sources.wait_for(instance, "elected", times=2)
    sources.wait_until_published(1)
    assert calls[1] == 3


def test_an_async_source_that_takes_too_long_is_cancelled_and_the_part_left_to_another(sources: Stage) -> None:
    cancelled: list[bool] = []

    async def count() -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    first, second = start_beside(sources, app_of(count, timeout=0.1))
    sources.wait_for(second, "elected")

    assert sources.told(first, "unfit")[0]["reason"] in (
        "source count took longer than 0.1 s",
        *[f"source count has not returned for {ms} ms" for ms in range(100, 2000)],
    )
    assert cancelled
    sources.wait_until_published(3)
    assert_only_the_part_is_lost(sources, first)


@pytest.mark.parametrize("flavour", ["plain", "async"])
def test_a_timeout_of_the_sources_own_is_an_exception_like_any_other(
    sources: Stage, flavour: str, asked: list[str]
) -> None:
    """A peer that is slow today is no reason to leave the part at once: it has 30 s, as with every exception."""
    calls: list[bool] = []

    def count() -> None:
        calls.append(True)
        raise TimeoutError("the peer did not answer")

    async def count_later() -> None:
        count()

    first, second = start_beside(sources, app_of(count if flavour == "plain" else count_later))
    sources.wait_for_successor()
    already = len(calls)
    wait_until(lambda: len(calls) > already + 20, what="it fails again and again")
    wait_for_beats(first, 3)

    assert asked == []
    assert not sources.told(second, "elected")


def test_a_stop_does_not_wait_for_a_source_that_hangs(sources: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """An async one is cancelled before the lifespan is left."""
    begun, order = threading.Event(), list[str]()

    async def count(ctx: str) -> None:
        begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            order.append("cancelled")

    class Deps:
        def __enter__(self) -> str:
            return "deps"

        def __exit__(self, *_: object) -> None:
            order.append("left")

    app = app_of(count)
    app.lifespan = Deps
    instance = sources.start(app, lease=0.8)
    assert begun.wait(30)

    with caplog.at_level(logging.ERROR, "soloist"):
        sources.stop(instance)

    assert order == ["cancelled", "left"]
    wait_until(lambda: not any(thread.is_alive() for thread in instance.generator.threads), what="its thread ends")
    assert not caplog.records, "that is no failure of the source"


# it answers what cannot be published


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (object(), "object can be no body"),
        (Page("text"), "the messages of a Page must be a list, not str"),
        (Page(["a"], cursor=object()), "cannot be stored"),
        (Page(["a"], cursor="seven"), "does not fit the annotation of the function"),
        (Page(["a"] * 100_001), "is too large"),
    ],
)
def test_what_cannot_be_published_is_told_with_function_file_and_line_and_nothing_is(
    sources: Stage, answer: Any, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither its messages nor its cursor; the instance lives, and the source is called again."""
    calls: list[bool] = []

    def count(source: Source[None, int]) -> Any:
        calls.append(True)
        assert source.cursor is None
        return answer

    with caplog.at_level(logging.ERROR, "soloist"):
        instance = sources.start(app_of(count))
        wait_until(lambda: len(calls) > 2, what="it is called again")

    assert f"the source count (test_source_trouble.py, line {count.__code__.co_firstlineno}): " in caplog.text
    assert says in caplog.text
    assert "Traceback" not in caplog.text, "where our code found it helps nobody"
    assert (sources.published(), sources.stored("cursor:count")) == ([], None)
    assert_only_the_part_is_lost(sources, instance)


def test_a_page_of_very_many_messages_is_published(sources: Stage) -> None:
    """As many as may be in one."""
    app = App(APP)

    @app.source(every=3600)
    def count() -> Page[None]:
        return Page(["x"] * 100_000)

    sources.start(app)
    wait_until(lambda: sources.snapshot().published == 100_000, what="all are published")


def test_a_page_of_very_many_kinds_is_published(sources: Stage) -> None:
    """Each brings keys along: that is where a script has its limits."""
    app = App(APP)

    @app.source(every=3600)
    def count() -> Page[None]:
        return Page([Msg(f"kind{number}", "x") for number in range(1000)])

    instance = sources.start(app)
    wait_until(lambda: sources.snapshot().published == 1000, what="all are published")
    assert instance.failure is None
