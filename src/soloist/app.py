"""App: the user's sources and handlers under one name."""

import copy
import difflib
import functools
import re
from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, ParamSpec, Self, TypeAlias, TypeVar, Unpack, overload

from soloist.around import DeclaredAround, declare_around, require_flavours, wrap
from soloist.declared import (
    DeclaredHandler,
    DeclaredSource,
    declare_handler,
    declare_source,
    require_function,
)
from soloist.errors import UsageError
from soloist.fitting import here, place_of
from soloist.message import DEFAULT_KIND
from soloist.publishing import Publishes
from soloist.running import Runs
from soloist.schedule_book import Schedules
from soloist.schedules.schedule import KIND, Missed, Overlap, Schedule
from soloist.settings import Given, from_code
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


class App(Runs, Publishes):
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
        given: Any = lifespan  # by whoever does not check types
        managers = (AbstractContextManager, AbstractAsyncContextManager)
        if given is not None and (not callable(given) or isinstance(given, managers)):
            raise UsageError(
                f"{self.where}: lifespan={lifespan!r} is not a function that answers a context manager; "
                f"write the name of the function alone, without ()."
            )
        if not isinstance(generator_handles, bool):
            raise UsageError(
                f"{self.where}: generator_handles={generator_handles!r} is not possible; write True or False."
            )
        self.lifespan = lifespan
        self.generator_handles = generator_handles
        self.settings = from_code({"url": url, "namespace": namespace, **settings}, self.where)
        self.sources: list[DeclaredSource] = []
        self.jobs: dict[str, Schedule] = {}
        """What the code schedules; `app.schedules` is all that there is."""
        self.handlers: dict[str, DeclaredHandler] = {}
        self.arounds: list[DeclaredAround] = []

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
            require_function(function, "app.source(every=…)", here())
            called = name if name is not None else getattr(function, "__name__", "")
            if not is_valid_name(called):
                raise UsageError(
                    f"{place_of(function)}: a source cannot be named {called!r}; write name=… with 1 to 128 of the "
                    f"characters A–Z a–z 0–9 _ . : / -"
                )
            if called.startswith(KIND):
                raise UsageError(
                    f"{place_of(function)}: names that begin {KIND!r} are those of schedules; write name=…."
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
            require_function(function, f"app.handler({kind!r})", here())
            return self._handles(declare_handler(kind, function, **options), function)

        if callable(of):
            return declare(DEFAULT_KIND, of)
        kind = valid_name(of, "a kind", here())
        return lambda function: declare(kind, function)

    def schedule(
        self,
        cron: str | None = None,
        /,
        *,
        every: float | None = None,
        tz: str = "UTC",
        jitter: float = 0.0,
        missed: Missed = "once",
        overlap: Overlap = "allow",
        timeout: float | None = None,
        retries: int | None = None,
        backoff: float = 1.0,
        name: str | None = None,
    ) -> Callable[[Function], Function]:
        """Declare a job and when it is to be run: the generator publishes a message for each tick, a handler runs it.

        `message.scheduled_for` says which tick it is of, and `message.key` is the same for the same tick.

        Args:
            cron: "minute hour day month weekday", or six fields with seconds first. Either this or `every`.
            every: seconds between two ticks.
            tz: the time zone in which the expression is read, "Europe/Berlin".
            jitter: seconds by which a tick is later at most: the same tick always by the same time.
            missed: what becomes of ticks that nobody could publish in time: "skip", "once" (the latest) or "all".
            overlap: while a run is not over, the next tick is published all the same ("allow"), passed over ("skip"), or
                waits ("queue").
            timeout: seconds that a run may take, retries, backoff: as for `handler`.
            name: under which its ticks are kept; the function's own unless given.
        """
        from soloist.schedules.making import make_schedule

        def declare(function: Function) -> Function:
            require_function(function, "app.schedule(…)", here())
            called = name if name is not None else getattr(function, "__name__", "")
            kind, where = f"{KIND}{called}", place_of(function)
            made = make_schedule(
                where,
                name=called,
                kind=kind,
                cron=cron,
                every=every,
                tz=tz,
                jitter=jitter,
                missed=missed,
                overlap=overlap,
                origin="code",
            )
            declared = declare_handler(kind, function, timeout=timeout, retries=retries, backoff=backoff)
            self._handles(declared, function)
            self.jobs[called] = made
            return function

        if callable(cron):
            raise UsageError(
                f'{place_of(cron)}: write @app.schedule("0 3 * * *") or @app.schedule(every=60) above the function, '
                f"not @app.schedule alone."
            )
        return declare

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
        require_function(function, "app.around", here())
        self.arounds.append(declare_around(function))
        return function

    def wrapped(self, declared: DeclaredHandler, call: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """A handler's call with everything around it; the very same one if there is nothing."""
        return wrap(self.arounds, declared, call)

    @property
    def schedules(self) -> Schedules:
        """All schedules of the namespace: look at them, add, change, pause and remove them, run one now."""
        return Schedules(self.goal, self.name)

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
                f"@app.generator(every=…), @app.source(every=…), @app.schedule(…) or @app.handler."
            )
        require_flavours(self.where, self.arounds, self.handlers.values())


def valid_name(name: Any, what: str, where: str = "") -> str:
    """A name that can stand in keys and between spaces.

    Args:
        what: it is, and where: it stands, for the sentence that refuses it.
    """
    if not is_valid_name(name):
        place = f" ({where})" if where else ""
        raise UsageError(f"{what} must be 1 to 128 of the characters A–Z a–z 0–9 _ . : / -, not {name!r}{place}.")
    assert isinstance(name, str)
    return name


def is_valid_name(name: Any) -> bool:
    return isinstance(name, str) and re.fullmatch(NAME, name) is not None
