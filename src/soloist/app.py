"""App: the user's sources and handlers under one name."""

import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, TypeAlias, TypeVar, overload

from soloist.declared import DeclaredHandler, DeclaredSource, declare_handler, declare_source, require_function
from soloist.errors import UsageError
from soloist.message import DEFAULT_KIND
from soloist.store.envelope import NAME

GENERATOR = "generator"
"""The source that `@app.generator` is short for."""

SOURCE_TIMEOUT = 30.0
"""Seconds that a call of a source may take unless something else is said: one that hangs must not keep the term."""

Function = TypeVar("Function", bound=Callable[..., Any])
Lifespan: TypeAlias = Callable[..., AbstractContextManager[Any] | AbstractAsyncContextManager[Any]]


class App:
    """Sources and handlers, run by any number of identical instances.

    Args:
        name: what the namespace belongs to, and its default name.
        lifespan: a function that answers a context manager, sync or async. It is entered before an instance joins and
            left after it has gone; what it yields is `ctx` for sources and handlers.
        generator_handles: whether the instance that generates handles messages too.
    """

    def __init__(self, name: str, *, lifespan: Lifespan | None = None, generator_handles: bool = True) -> None:
        self.name = valid_name(name, "the App's name")
        self.lifespan = lifespan
        self.generator_handles = generator_handles
        self.sources: list[DeclaredSource] = []
        self.handlers: dict[str, DeclaredHandler] = {}

    def generator(self, *, every: float, timeout: float | None = SOURCE_TIMEOUT) -> Callable[[Function], Function]:
        """Declare the function that makes a message every so many seconds; None means nothing this time.

        Short for a source that is named "generator".
        """
        return self.source(every=every, timeout=timeout, name=GENERATOR)

    def source(
        self, *, every: float, timeout: float | None = SOURCE_TIMEOUT, name: str | None = None
    ) -> Callable[[Function], Function]:
        """Declare a function that the generator calls for messages.

        It may answer one message (text, bytes, anything that JSON can tell, or a `Msg`), a `Page` of them, or None; or be
        a Python generator that yields these: what follows a `yield` runs only after the page was accepted.

        Args:
            every: seconds between its calls; 0: as fast as it goes.
            timeout: seconds that a call may take. Then the instance leaves the generator's part to another.
            name: under which its cursor is kept; the function's own unless given.
        """

        def declare(function: Function) -> Function:
            require_function(function, f"{self.name}.source(every=…)")
            called = name if name is not None else getattr(function, "__name__", "")
            declared = declare_source(valid_name(called, "a source"), function, every, timeout)
            for other in self.sources:
                if other.name == called:
                    what = "a generator" if called == GENERATOR else f"a source named {called!r}"
                    raise UsageError(
                        f"App {self.name!r} has {what} already: {other.where}; {declared.where} is another."
                    )
            self.sources.append(declared)
            return function

        return declare

    @overload
    def handler(self, function: Function, /) -> Function: ...
    @overload
    def handler(
        self,
        kind: str = DEFAULT_KIND,
        /,
        *,
        concurrency: int | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        backoff: float = 1.0,
        batch: int | None = None,
        linger: float = 0.0,
    ) -> Callable[[Function], Function]: ...
    def handler(
        self,
        of: Any = DEFAULT_KIND,
        /,
        *,
        concurrency: int | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        backoff: float = 1.0,
        batch: int | None = None,
        linger: float = 0.0,
    ) -> Any:
        """Declare the function that handles a kind of message; without a kind, the default one.

        Args:
            concurrency: how many it handles at a time in each instance: async functions as tasks, others in threads.
            timeout: seconds that a message may take. Then an async function is cancelled; one that is not cannot be: its
                message fails, and its instance leaves to be started anew.
            retries: how often a message is tried again, by any instance, after an exception other than `Reject`.
            backoff: seconds before the first of these; then twice as long each time. `raise Retry(after=…)` says otherwise.
            batch: the function is given lists of up to so many messages; each may be rejected by itself (`reject`).
            linger: seconds for which a batch may wait to get full.
        """
        options: dict[str, Any] = {
            "concurrency": concurrency,
            "timeout": timeout,
            "retries": retries,
            "backoff": backoff,
            "batch": batch,
            "linger": linger,
        }

        def declare(kind: str, function: Function) -> Function:
            require_function(function, f"{self.name}.handler({kind!r})")
            return self._handles(declare_handler(kind, function, **options), function)

        if callable(of):
            return declare(DEFAULT_KIND, of)
        kind = valid_name(of, "a kind")
        return lambda function: declare(kind, function)

    def _handles(self, declared: DeclaredHandler, function: Function) -> Function:
        kind = declared.kind
        if kind in self.handlers:
            raise UsageError(
                f"App {self.name!r} has a handler for {kind!r} already: {self.handlers[kind].where}; "
                f"{declared.where} is another."
            )
        self.handlers[kind] = declared
        return function

    def check(self) -> None:
        """Refuse to start without anything to do."""
        if not self.sources and not self.handlers:
            raise UsageError(f"App {self.name!r} has neither a generator nor a handler: decorate a function.")


def valid_name(name: Any, what: str) -> str:
    """A name that can stand in keys and between spaces."""
    if not isinstance(name, str) or not re.fullmatch(NAME, name):
        raise UsageError(f"{what} must be 1 to 128 of the characters A–Z a–z 0–9 _ . : / -, not {name!r}.")
    return name
