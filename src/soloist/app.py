"""App: the user's sources and handlers under one name."""

import functools
import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, ParamSpec, TypeAlias, TypeVar, overload

from soloist.declared import DeclaredHandler, DeclaredSource, declare_handler, declare_source, require_function
from soloist.errors import UsageError
from soloist.fitting import place_of
from soloist.message import DEFAULT_KIND
from soloist.store.envelope import NAME

GENERATOR = "generator"
"""The source that `@app.generator` is short for."""

SOURCE_TIMEOUT = 30.0
"""Seconds that a call of a source may take unless something else is said: one that hangs must not keep the term."""

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = TypeVar("Decorator")
Parameters = ParamSpec("Parameters")
Lifespan: TypeAlias = Callable[..., AbstractContextManager[Any] | AbstractAsyncContextManager[Any]]


def _in_parentheses(decorator: Callable[Parameters, Decorator]) -> Callable[Parameters, Decorator]:
    """Of a decorator that needs to be told something: without it, say what to write.

    Python would say that a positional argument was given, in words about a method that the user has not called.
    """

    @functools.wraps(decorator)
    def checked(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Decorator:
        name = decorator.__name__
        if len(args) > 1:
            given = place_of(args[1]) if callable(args[1]) else repr(args[1])
            raise UsageError(f"{given}: write @app.{name}(every=0.5) above the function, not @app.{name} alone.")
        if "every" not in kwargs:
            raise UsageError(f"@app.{name}(…) does not say how often: write @app.{name}(every=0.5), in seconds.")
        return decorator(*args, **kwargs)

    return checked


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
        given: Any = lifespan  # by whoever does not check types
        managers = (AbstractContextManager, AbstractAsyncContextManager)
        if given is not None and (not callable(given) or isinstance(given, managers)):
            raise UsageError(
                f"App {self.name!r}: lifespan={lifespan!r} is not a function that answers a context manager; "
                f"write the name of the function alone, without ()."
            )
        self.lifespan = lifespan
        self.generator_handles = generator_handles
        self.sources: list[DeclaredSource] = []
        self.handlers: dict[str, DeclaredHandler] = {}

    @_in_parentheses
    def generator(self, *, every: float, timeout: float | None = SOURCE_TIMEOUT) -> Callable[[Function], Function]:
        """Declare the function that makes a message every so many seconds; None means nothing this time.

        Short for a source that is named "generator".
        """
        return self.source(every=every, timeout=timeout, name=GENERATOR)

    @_in_parentheses
    def source(
        self, *, every: float, timeout: float | None = SOURCE_TIMEOUT, name: str | None = None
    ) -> Callable[[Function], Function]:
        """Declare a function that the generator calls for messages.

        It may answer one message (text, bytes, anything that JSON can tell, or a `Msg`), a `Page` of them, or None; or be
        a Python generator that yields these, one step each time that it is due: what follows a `yield` runs only after
        the page was accepted, and may not run at all, if the part goes to another instance first. When it has ended, it
        is begun anew.

        Args:
            every: seconds between its calls; 0: as fast as it goes.
            timeout: seconds that a call may take. Then the instance leaves the generator's part to another.
            name: under which its cursor is kept; the function's own unless given.
        """

        def declare(function: Function) -> Function:
            require_function(function, "app.source(every=…)")
            called = name if name is not None else getattr(function, "__name__", "")
            if not is_valid_name(called):
                raise UsageError(
                    f"{place_of(function)}: a source cannot be named {called!r}; write name=… with 1 to 128 of the "
                    f"characters A–Z a–z 0–9 _ . : / -"
                )
            declared = declare_source(called, function, every, timeout)
            for other in self.sources:
                if other.name == called:
                    what = "a generator" if called == GENERATOR else f"a source named {called!r}"
                    raise UsageError(
                        f"App {self.name!r} has {what} already: {other.where}; {declared.where} is another. "
                        f"Give it another name: name=…"
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
            require_function(function, f"app.handler({kind!r})")
            return self._handles(declare_handler(kind, function, concurrency, timeout, batch, linger), function)

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
    if not is_valid_name(name):
        raise UsageError(f"{what} must be 1 to 128 of the characters A–Z a–z 0–9 _ . : / -, not {name!r}.")
    assert isinstance(name, str)
    return name


def is_valid_name(name: Any) -> bool:
    return isinstance(name, str) and re.fullmatch(NAME, name) is not None
