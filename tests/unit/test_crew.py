"""runtime/crew.py: many messages at a time, each of which ends."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from soloist import Message
from soloist.runtime.crew import Tasks
from soloist.runtime.loop import Loop
from tests.waiting import wait_until


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.stop(5)


def test_a_task_that_is_cancelled_before_its_first_step_ends_too(loop: Loop) -> None:
    """Nothing of it has run; its message would be in hand for ever."""
    ended, began, message = list[tuple[Message, BaseException | None]](), list[Message](), Message.fake("x")

    async def handle(message: Message) -> None:
        began.append(message)

    def end(message: Message, raised: BaseException | None) -> None:
        ended.append((message, raised))

    tasks = Tasks(handle, end, loop, None)

    async def begin_and_cancel() -> None:
        others = asyncio.all_tasks()
        tasks._begin([message])
        for task in asyncio.all_tasks() - others:
            task.cancel()

    loop.run(begin_and_cancel)

    wait_until(lambda: ended, what="it has ended")
    assert began == []
    assert [(of, type(raised)) for of, raised in ended] == [(message, asyncio.CancelledError)]


def test_who_blocks_the_event_loop_is_known(loop: Loop) -> None:
    """All others have to wait for it."""
    message, go_on, blocks = Message.fake("x"), threading.Event(), threading.Event()

    async def handle(_: Message) -> None:
        blocks.set()
        go_on.wait(30)

    tasks = Tasks(handle, lambda *_: None, loop, None)
    before = tasks.at_the_wheel()
    tasks.begin([message])
    assert blocks.wait(30)

    assert (before, tasks.at_the_wheel()) == (None, message)
    go_on.set()
