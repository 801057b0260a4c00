"""The user's lifespan: entered before an instance joins, left after it has gone."""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
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
        self._entered: AbstractContextManager[Any] | AbstractAsyncContextManager[Any] | None = None

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
        except Exception as error:
            raise UsageError(f"{where} failed: {told(error)}.") from error
        if not isinstance(manager, AbstractContextManager | AbstractAsyncContextManager):
            raise UsageError(
                f"{where} answers {type(manager).__name__}, which is no context manager: decorate it with "
                f"contextlib.contextmanager or contextlib.asynccontextmanager."
            )
        try:
            if isinstance(manager, AbstractContextManager):
                ctx = manager.__enter__()
            else:
                ctx = self._loop.run(manager.__aenter__)
        except Exception as error:
            raise UsageError(f"{where} failed: {told(error)}.") from error
        self._entered = manager
        return ctx

    def leave(self) -> None:
        """Whatever it raises is told, and holds up nothing."""
        manager, self._entered = self._entered, None
        try:
            if isinstance(manager, AbstractContextManager):
                manager.__exit__(None, None, None)
            elif manager is not None:
                self._loop.run(lambda: manager.__aexit__(None, None, None))
        except Exception:
            log.exception("lifespan.failed; it was being left")
