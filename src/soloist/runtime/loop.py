"""The event loop of an instance: one thread, in which everything async of the user's runs."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any


class Loop:
    """Begins with the first that needs it; a program without async functions has none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> asyncio.AbstractEventLoop:
        """The loop itself, for those who have many small things for it."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="loop", daemon=True)
                self._thread.start()
            return self._loop

    def run(self, call: Callable[[], Awaitable[Any]], timeout: float | None = None) -> Any:
        """Have something awaited there and wait for what it answers.

        Raises:
            TimeoutError: it took longer; it was cancelled.
        """
        running = asyncio.run_coroutine_threadsafe(_within(timeout, call), self.running)
        return _result(running)

    def stop(self, within: float) -> None:
        """Cancel what still runs there, and end it."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(_cancel_all(within), loop)
        thread.join(within + 1)
        if not thread.is_alive():
            loop.close()


async def _within(seconds: float | None, call: Callable[[], Awaitable[Any]]) -> Any:
    async with asyncio.timeout(seconds):
        return await call()


def _result(running: "Future[Any]") -> Any:
    try:
        return running.result()
    except BaseException:
        running.cancel()
        raise


async def _cancel_all(within: float) -> None:
    loop = asyncio.get_running_loop()
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=within)
    await loop.shutdown_asyncgens()
    loop.stop()
