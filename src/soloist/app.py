"""App: the user's sources and handlers under one name."""

import copy
import difflib
import re
from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Self, TypeAlias, TypeVar, Unpack, overload

from soloist.around import DeclaredAround, declare_around, require_flavours, wrap
from soloist.declared import (
    DeclaredHandler,
    DeclaredSource,
    declare_handler,
    declare_source,
    require_function,
    with_parentheses,
)
from soloist.errors import UsageError
from soloist.fitting import here
from soloist.message import DEFAULT_KIND
from soloist.running import Runs
from soloist.settings import Given, from_code
from soloist.store.envelope import NAME

GENERATOR = "generator"
"""The source that `@app.generator` is short for."""

SOURCE_TIMEOUT = 30.0
"""Seconds that a call of a source may take unless something else is said: one that hangs must not keep the term."""

Function = TypeVar("Function", bound=Callable[..., Any])
Lifespan: TypeAlias = Callable[..., AbstractContextManager[Any] | AbstractAsyncContextManager[Any]]


class App(Runs):
    """Sources and handlers, run by any number of identical instances: `soloist run module:app`, or see running.py.

    Args:
        name: what the namespace belongs to, and its default name.
        lifespan: a function that answers a context manager, sync or async. It is entered before an instance joins and
            left after it has gone; what it yields is `ctx` for sources and handlers.
        generator_handles: whether the instance that generates handles messages too.
        url: the server, unless file, environment or flags name another.
        namespace: likewise; else it is the name.
        settings: likewise; they are those of docs/operations.md.
    """

    def __init__(
        self,
        name: str,
        *,
        lifespan: Lifespan | None = None,
        generator_handles: bool = True,
        url: str | None = None,
        namespace: str | None = None,
        **settings: Unpack[Given],
    ) -> None:
        super().__init__()
        self.name = valid_name(name, "the App's name", here())
        self.where = f"App {name!r}" + (f" ({here()})" if here() else "")
        if lifespan is not None and not callable(lifespan):
            raise UsageError(
                f"{self.where}: lifespan={lifespan!r} is not possible; write a function that answers a context manager."
            )
        if not isinstance(generator_handles, bool):
            raise UsageError(
                f"{self.where}: generator_handles={generator_handles!r} is not possible; write True or False."
            )
        self.lifespan = lifespan
        self.generator_handles = generator_handles
        self.settings = from_code({"url": url, "namespace": namespace, **settings}, self.where)
        self.sources: list[DeclaredSource] = []
        self.handlers: dict[str, DeclaredHandler] = {}
        self.arounds: list[DeclaredAround] = []

    @with_parentheses
    def generator(self, *, every: float, timeout: float | None = SOURCE_TIMEOUT) -> Callable[[Function], Function]:
        """Declare the function that makes a message every so many seconds; None means nothing this time.

        Short for a source that is named "generator".
        """
        return self.source(every=every, timeout=timeout, name=GENERATOR)

    @with_parentheses
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
            require_function(function, f"{self.name}.source(every=…)", here())
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
        batch: int | None = None,
        linger: float = 0.0,
    ) -> Any:
        """Declare the function that handles a kind of message; without a kind, the default one.

        Args:
            concurrency: how many it handles at a time in each instance: async functions as tasks, others in threads.
            timeout: seconds that a message may take.
            batch: the function is given lists of up to so many messages; each may be rejected by itself (`reject`).
            linger: seconds for which a batch may wait to get full.
        """

        def declare(kind: str, function: Function) -> Function:
            require_function(function, f"{self.name}.handler({kind!r})", here())
            return self._handles(declare_handler(kind, function, concurrency, timeout, batch, linger), function)

        if callable(of):
            return declare(DEFAULT_KIND, of)
        kind = valid_name(of, "a kind", here())
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

    def around(self, function: Function) -> Function:
        """Declare a function that is put around every call of a handler: `def traced(call, message)`.

        It goes on with `call(message)`, and gets what that returns or raises. A plain one is put around plain handlers, an
        async one around async handlers; of several the first is the outermost. Around a handler of batches, `message` is
        the list.
        """
        require_function(function, f"{self.name}.around", here())
        self.arounds.append(declare_around(function))
        return function

    def wrapped(self, declared: DeclaredHandler, call: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """A handler's call with everything around it; the very same one if there is nothing."""
        return wrap(self.arounds, declared, call)

    def only(self, kinds: Collection[str]) -> Self:
        """The same App, but with the handlers of these kinds alone."""
        for kind in kinds:
            if kind not in self.handlers:
                meant = "".join(
                    f"Did you mean {each}? " for each in difflib.get_close_matches(kind, self.handlers, n=1)
                )
                known = ", ".join(self.handlers) or "none"
                raise UsageError(f"{self.where} has no handler for the kind {kind!r}. {meant}It has: {known}.")
        narrowed = copy.copy(self)
        narrowed.handlers = {kind: declared for kind, declared in self.handlers.items() if kind in kinds}
        return narrowed

    def check(self) -> None:
        """Refuse to start without anything to do, or with something that could not be done."""
        if not self.sources and not self.handlers:
            raise UsageError(
                f"{self.where} has neither a generator nor a handler: decorate a function with "
                f"@app.generator(every=…), @app.source(every=…) or @app.handler."
            )
        require_flavours(self.where, self.arounds, self.handlers.values())


def valid_name(name: Any, what: str, where: str = "") -> str:
    """A name that can stand in keys and between spaces.

    Args:
        what: it is, and where: it stands, for the sentence that refuses it.
    """
    if not isinstance(name, str) or not re.fullmatch(NAME, name):
        place = f" ({where})" if where else ""
        raise UsageError(f"{what} must be 1 to 128 of the characters A–Z a–z 0–9 _ . : / -, not {name!r}{place}.")
    return name
