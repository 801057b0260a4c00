"""Handlers that cannot be ended, and threads that end by themselves: the instance leaves, and says why."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from soloist import Message
from soloist.errors import Defect
from soloist.runtime import lane
from soloist.runtime.desk import Desk
from tests.runtime.lane_stage import FLAVOURS, Gate, Stage, app_with, handles, numbered
from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def _little_time_to_clear_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "CANCELLING", 0.1)


class Hanging:
    """Ways not to come back, until the test ends."""

    def __init__(self) -> None:
        self.is_over = threading.Event()

    async def swallows(self) -> None:
        """Its cancellation, and goes on."""
        while not self.is_over.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    async def blocks(self) -> None:
        """The event loop."""
        self.is_over.wait(60)


@pytest.mark.parametrize("how", ["swallows", "blocks"])
@pytest.mark.parametrize("flavour", ["tasks", "batch"])
def test_an_async_handler_that_cannot_be_cancelled_is_given_up_like_a_plain_one(
    stage: Stage, flavour: str, how: str
) -> None:
    """Its message failed, and its instance leaves to be started anew; what it held beside that is handled elsewhere."""
    app, hanging = app_with(*numbered("job", 5)), Hanging()
    hang: Callable[[], Awaitable[None]] = getattr(hanging, how)

    async def job(message: Message) -> None:
        if message.body == "1":
            await hang()

    async def jobs(messages: list[Message]) -> None:
        for message in messages:
            await job(message)

    if flavour == "batch":
        app.handler("job", batch=1, timeout=0.2)(jobs)
    else:
        app.handler("job", concurrency=3, timeout=0.2)(job)

    first = stage.start(app, stop_timeout=1)
    assert first.wait(30), "it wants to stop"
    first.stop()
    hanging.is_over.set()  # whatever it does now is nobody's business any more
    stage.start(app)

    assert stage.wait_until_done(5).completed == 4
    assert stage.errors() == [("1", "the handler did not return within 0.2 s")]
    assert "(test_stuck.py, line" in str(first.stuck)


def test_those_that_wait_for_a_blocked_event_loop_are_not_to_blame(stage: Stage) -> None:
    """They took as long, but could not go on: they are given back, and handled elsewhere."""
    app, hanging, begun = app_with(*numbered("job", 5)), Hanging(), list[str]()

    @app.handler("job", concurrency=5, timeout=0.2)
    async def job(message: Message) -> None:
        begun.append(message.body)
        await asyncio.sleep(0.01)
        if message.body == "1":
            await hanging.blocks()
        await asyncio.sleep(0.01)

    first = stage.start(app, stop_timeout=1)
    assert first.wait(30), "it wants to stop"
    first.stop()
    hanging.is_over.set()
    stage.start(app)

    assert stage.wait_until_done(5).completed == 4
    assert [body for body, _ in stage.errors()] == ["1"]
    assert len(begun) > 5, "some were begun twice"


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_lane_that_ends_though_nobody_stopped_it_ends_the_instance_with_a_sentence(
    stage: Stage, flavour: str
) -> None:
    """Else it would be there, and handle nothing, and nobody would know why."""
    app = app_with()
    handles(app, flavour, lambda _: None)
    instance = stage.start(app)
    (only,) = instance.handler.lanes

    only.quiet()

    assert instance.wait(30), "it wants to stop"
    assert isinstance(instance.failure, Defect)
    assert str(instance.failure) in {
        "the thread 'handler job' has ended, though nobody stopped it",
        "the thread 'bell job' has ended, though nobody stopped it",
    }


def test_a_token_that_comes_when_it_is_not_wanted_rings_for_others(stage: Stage) -> None:
    """A crew's porter may have taken it just before."""
    app, handled = app_with(*numbered("job", 1)), list[str]()
    app.handler("job", concurrency=2)(lambda message: handled.append(message.body))
    instance = stage.start(app)
    stage.wait_until_done(1)  # it was elected, and plays both parts: nothing tells it to handle again after this
    (only,) = instance.handler.lanes
    calls, turn = list[Any](), only._claims.turn

    def noting(desk: Desk, wants: Mapping[str, int], **how: Any) -> None:
        calls.append((wants, how))
        turn(desk, wants, **how)

    only._claims.turn = noting  # type: ignore[method-assign]
    instance.handler.play(False)
    wait_until(lambda: any("back" in how for _, how in calls), what="it rests, and claims no more")

    only._rung()  # type: ignore[attr-defined]

    wait_until(lambda: ({"job": 0}, {"even_if_empty": True}) in calls, what="a call that rings where there is work")


@pytest.mark.parametrize("told", ["to play no more", "to be quiet"])
def test_a_batch_that_lingers_is_given_back_at_once_when_its_lane_is_not_wanted(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    """It waits at the bell for more, which may take long; and others could handle what it has."""
    monkeypatch.setattr(lane, "BLOCK", 3600.0)
    app, gate = app_with(*numbered("row", 1)), Gate()

    @app.handler("row", batch=10, linger=3600)
    def rows(messages: list[Message]) -> None:
        gate.wait()

    instance = stage.start(app)
    (only,) = instance.handler.lanes
    wait_until(lambda: only.at_the_bell and stage.snapshot().claimed, what="it has one, and waits for more")

    if told == "to be quiet":
        assert instance.handler.stop(10), "in time"
    else:
        instance.handler.play(False)

    wait_until(lambda: stage.snapshot().pending == 1, what="it is given back")
    assert gate.waiting == 0
