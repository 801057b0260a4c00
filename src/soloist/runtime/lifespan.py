"""The user's lifespan: entered before an instance joins, left after it has gone."""

import asyncio
import inspect
import logging
import traceback
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import Any

from soloist.errors import UsageError
from soloist.fitting import place_of
from soloist.runtime.loop import Loop
from soloist.runtime.telling import told

log = logging.getLogger("soloist")


class Lifespan:
    """One life of what the user's function answers."""

    def __init__(self, function: Callable[..., Any] | None, loop: Loop) -> None:
        self._function = function
        self._loop = loop
        self._entered: AbstractContextManager[Any] | _Life | None = None

    def enter(self) -> Any:
        """What it yields: the ctx.

        Raises:
            UsageError: it is no context manager, or fails.
        """
        if self._function is None:
            return None
        where = f"the lifespan {place_of(self._function)}"
        try:
            manager = self._function()
            if isinstance(manager, AbstractContextManager):
                ctx, self._entered = manager.__enter__(), manager
                return ctx
            if isinstance(manager, AbstractAsyncContextManager):
                life = _Life(manager, self._loop)
                ctx, self._entered = life.enter(), life
                return ctx
        except (Exception, SystemExit) as error:
            raise UsageError(f"{where} failed: {told(error)}{_whence(error)}.") from error
        if inspect.iscoroutine(manager):
            manager.close()  # else Python complains that nobody awaited it
        raise UsageError(
            f"{where} answers {type(manager).__name__}, which is no context manager: decorate it with "
            f"contextlib.contextmanager or contextlib.asynccontextmanager, and let it yield once."
        )

    def leave(self, within: float) -> None:
        """Whatever it raises is told, and holds up nothing.

        Args:
            within: seconds that an async one may take; then it is cancelled. A plain one cannot be.
        """
        entered, self._entered = self._entered, None
        try:
            if isinstance(entered, _Life):
                if not entered.leave(within) and self._function is not None:
                    where = place_of(self._function)
                    log.error("lifespan.stuck lifespan=%r; it was not left within %g s and is cancelled", where, within)
            elif entered is not None:
                entered.__exit__(None, None, None)
        except (Exception, SystemExit):
            log.exception("lifespan.failed; it was being left")


class _Life:
    """An async one. It is entered and left by one task: task groups and time limits in it can bear nothing else."""

    def __init__(self, manager: AbstractAsyncContextManager[Any], loop: Loop) -> None:
        self._manager = manager
        self._loop = loop.running
        self._over = asyncio.Event()
        self._ctx: Future[Any] = Future()
        self._living: Future[None] | None = None

    def enter(self) -> Any:
        self._living = asyncio.run_coroutine_threadsafe(self._live(), self._loop)
        wait((self._ctx, self._living), return_when=FIRST_COMPLETED)
        if not self._ctx.done():
            self._living.result()
        return self._ctx.result()

    async def _live(self) -> None:
        async with self._manager as ctx:
            self._ctx.set_result(ctx)
            await self._over.wait()

    def leave(self, within: float) -> bool:
        """True if that was done in time."""
        self._loop.call_soon_threadsafe(self._over.set)
        if self._living is None:
            return True
        wait((self._living,), within)
        if not self._living.done():
            return not self._living.cancel()
        self._living.result()
        return True


def _whence(error: BaseException) -> str:
    """Where in the user's code it was raised."""
    here = str(Path(__file__).parent)
    frames = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith(here)]
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
