"""Who handles many messages of a kind at a time: threads for plain functions, tasks of the event loop for async ones."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, Protocol

from soloist.message import Message
from soloist.runtime.loop import Loop

Handle = Callable[[Message], Any]
Ended = Callable[[Message, BaseException | None], None]
"""What is to be called when a message is handled, with what was raised."""


class Crew(Protocol):
    """Handles messages, each by itself."""

    def begin(self, messages: Sequence[Message]) -> None:
        """Handle these, beside those that are being handled."""

    def dismiss(self) -> None:
        """There will be no more."""

    def at_the_wheel(self) -> Message | None:
        """The one that runs now while all others of the crew have to wait, if it is so."""

    @property
    def threads(self) -> list[threading.Thread]: ...


class Threads:
    """As many threads as messages at a time, begun when they are needed."""

    def __init__(self, call: Handle, ended: Ended, most: int, name: str) -> None:
        self._call = call
        self._ended = ended
        self._most = most
        self._name = name
        self._waiting: SimpleQueue[Message | None] = SimpleQueue()
        self._idle = 0
        self._lock = threading.Lock()
        self.threads: list[threading.Thread] = []

    def begin(self, messages: Sequence[Message]) -> None:
        with self._lock:
            missing = min(len(messages) - self._idle, self._most - len(self.threads))
            self._idle -= len(messages)
            for _ in range(missing):
                thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self.threads.append(thread)
                self._idle += 1
                thread.start()
        for message in messages:
            self._waiting.put(message)

    def dismiss(self) -> None:
        for _ in self.threads:
            self._waiting.put(None)

    def at_the_wheel(self) -> Message | None:
        return None

    def _work(self) -> None:
        while (message := self._waiting.get()) is not None:
            raised: BaseException | None = None
            try:
                self._call(message)
            except BaseException as error:  # noqa: BLE001 - whatever the user's code raises, the message failed
                raised = error
            with self._lock:
                self._idle += 1
            self._ended(message, raised)


class Tasks:
    """Tasks of the event loop.

    Args:
        timeout: seconds that a message may take; then its task is cancelled.
    """

    def __init__(self, call: Handle, ended: Ended, loop: Loop, timeout: float | None) -> None:
        self._call = call
        self._ended = ended
        self._loop = loop.running
        self._timeout = timeout
        self._running: dict[asyncio.Task[BaseException | None], Message] = {}
        self.threads: list[threading.Thread] = []

    def begin(self, messages: Sequence[Message]) -> None:
        self._loop.call_soon_threadsafe(self._begin, messages)

    def dismiss(self) -> None:
        pass

    def at_the_wheel(self) -> Message | None:
        task = asyncio.current_task(self._loop)
        return None if task is None else self._running.get(task)

    def _begin(self, messages: Sequence[Message]) -> None:
        for message in messages:
            task = self._loop.create_task(self._work(message))
            self._running[task] = message  # else nobody but the loop would know of it, and weakly
            task.add_done_callback(self._is_done)

    async def _work(self, message: Message) -> BaseException | None:
        try:
            if self._timeout is None:
                await self._call(message)
            else:
                async with asyncio.timeout(self._timeout):
                    await self._call(message)
        except BaseException as error:  # noqa: BLE001 - whatever the user's code raises, the message failed
            return error
        return None

    def _is_done(self, task: "asyncio.Task[BaseException | None]") -> None:
        """Also one that was cancelled before its first step: nothing of `_work` has run then."""
        raised = asyncio.CancelledError("it was cancelled before it began") if task.cancelled() else task.result()
        self._ended(self._running.pop(task), raised)
