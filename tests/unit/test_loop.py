"""runtime/loop.py: the event loop of an instance, in a thread of its own."""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import CancelledError

import pytest

from soloist.runtime.loop import Loop
from tests.waiting import wait_until


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.stop(5)


def loop_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "loop"}


def test_there_is_no_loop_until_somebody_needs_it() -> None:
    """A program without async functions has no thread for them."""
    before = loop_threads()
    loop = Loop()

    assert loop_threads() <= before
    loop.stop(1)
    assert loop_threads() <= before


def test_what_is_awaited_there_answers_here(loop: Loop) -> None:
    async def answer() -> str:
        await asyncio.sleep(0)
        return threading.current_thread().name

    assert loop.run(answer) == "loop"
    assert loop.run(answer, timeout=30) == "loop"


def test_what_is_raised_there_is_raised_here(loop: Loop) -> None:
    async def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        loop.run(fail)


def test_what_takes_too_long_is_cancelled_and_has_ended_when_that_is_told(loop: Loop) -> None:
    """Whoever calls it again must not meet it."""
    ended: list[str] = []

    async def hang() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0.01)
            ended.append("cleaned up")

    with pytest.raises(TimeoutError):
        loop.run(hang, timeout=0.01)

    assert ended == ["cleaned up"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_task_that_wants_to_end_the_program_does_not_end_the_loop(loop: Loop) -> None:
    """What asyncio does: it leaves a loop in which one raises SystemExit: everything else async would stand still for ever."""

    async def leave() -> None:
        sys.exit("a source must not")

    async def answer() -> str:
        return "still here"

    with pytest.raises(SystemExit):
        loop.run(leave)

    assert loop.run(answer, timeout=30) == "still here"


def test_who_calls_may_be_cancelled_and_what_the_user_began_goes_on(loop: Loop) -> None:
    """Before the lifespan is left: its own tasks are its own affair."""
    seen: list[str] = []
    begun = threading.Event()

    async def background() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            seen.append("background")

    tasks: list[asyncio.Task[None]] = []

    async def call() -> None:
        tasks.append(asyncio.create_task(background()))
        begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            seen.append("call")

    def calling() -> None:
        with pytest.raises(CancelledError):
            loop.run(call)
        seen.append("told")

    caller = threading.Thread(target=calling)
    caller.start()
    assert begun.wait(30)
    loop.cancel(5)
    caller.join(30)

    assert seen == ["call", "told"]
    loop.stop(5)
    assert seen == ["call", "told", "background"]


def test_stopping_ends_the_thread_and_closes_what_is_open() -> None:
    """Also async generators that nobody has read to their ends."""
    loop, before, closed = Loop(), loop_threads(), list[str]()

    async def steps() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            closed.append("closed")

    running = steps()

    async def step() -> int:
        return await anext(running)

    assert loop.run(step) == 1
    loop.stop(5)

    assert closed == ["closed"]
    wait_until(lambda: loop_threads() <= before, what="its thread has ended")


def test_a_loop_that_was_stopped_stays_so() -> None:
    """A source that hung until then must not begin another."""
    loop = Loop()
    loop.stop(1)

    with pytest.raises(RuntimeError, match="the instance has stopped"):
        loop.run(lambda: asyncio.sleep(0))


def test_code_that_blocks_the_loop_does_not_hold_up_the_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its thread is left to itself."""
    monkeypatch.setattr("soloist.runtime.loop.GRACE", 0.05)
    loop, begun, may_end = Loop(), threading.Event(), threading.Event()

    async def block() -> None:
        begun.set()
        may_end.wait(60)

    loop.running.call_soon_threadsafe(lambda: loop.running.create_task(block()))
    assert begun.wait(30)
    thread = loop._thread
    assert thread is not None
    loop.stop(0.05)

    assert thread.is_alive()
    may_end.set()
    wait_until(lambda: not thread.is_alive(), what="it ends when it can")
