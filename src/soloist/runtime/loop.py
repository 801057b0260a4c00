"""The event loop of an instance: one thread, in which everything async of the user's runs."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

GRACE = 1.0
"""Seconds for which the loop is waited for beyond what its tasks are given."""

log = logging.getLogger("soloist")


class Loop:
    """Begins with the first that needs it; a program without async functions has none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._calls: set[asyncio.Task[Any]] = set()

    @property
    def running(self) -> asyncio.AbstractEventLoop:
        """The loop itself, for those who have many small things for it.

        Raises:
            RuntimeError: it was stopped.
        """
        with self._lock:
            if self._stopped:
                raise RuntimeError("the instance has stopped, and its event loop with it")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run, args=(self._loop,), name="loop", daemon=True)
                self._thread.start()
            return self._loop

    @property
    def has_begun(self) -> bool:
        """Whether anybody has needed it yet."""
        return self._loop is not None

    def run(self, call: Callable[[], Awaitable[Any]], timeout: float | None = None) -> Any:
        """Have something awaited there and wait for what it answers.

        Raises:
            TimeoutError: it took longer; it was cancelled.
        """
        loop = self.running
        running = asyncio.run_coroutine_threadsafe(self._within(timeout, call), loop)
        try:
            return running.result()
        except BaseException:
            running.cancel()
            raise

    async def _within(self, seconds: float | None, call: Callable[[], Awaitable[Any]]) -> Any:
        task = asyncio.current_task()
        assert task is not None
        self._calls.add(task)
        try:
            async with asyncio.timeout(seconds):
                return await call()
        finally:
            self._calls.discard(task)

    def cancel(self, within: float) -> None:
        """Cancel what was begun with `run` and still runs, and wait for it; what the user began goes on."""
        self._cancel(within, everything=False)

    def stop(self, within: float) -> None:
        """Cancel what still runs there, and end it."""
        self._cancel(within, everything=True)
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
            self._stopped = True
        if loop is None or thread is None:
            return
        loop.call_soon_threadsafe(loop.stop)
        thread.join(GRACE)

    def _cancel(self, within: float, *, everything: bool) -> None:
        with self._lock:
            loop = self._loop
        if loop is None:
            return

        async def cancel() -> None:
            tasks = asyncio.all_tasks() if everything else self._calls.copy()
            others = tasks - {asyncio.current_task()}
            for task in others:
                task.cancel()
            if others:
                await asyncio.wait(others, timeout=within)
            if everything:
                async with asyncio.timeout(within):
                    await loop.shutdown_asyncgens()

        cancelling: Future[None] = asyncio.run_coroutine_threadsafe(cancel(), loop)
        with suppress(TimeoutError):  # something there blocks the loop, or does not let itself be cancelled
            cancelling.result(2 * within + GRACE)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Until it is stopped: asyncio leaves a loop in which a task raises SystemExit, and all others would stand still."""
    while True:
        try:
            loop.run_forever()
        except BaseException:  # the user's; whoever waits for the task is told too
            log.exception("loop.left; it goes on")
        else:
            break
    for task in (left := asyncio.all_tasks(loop)):
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left))
    loop.close()
