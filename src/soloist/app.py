"""App: the user's generator and handler under one name."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from soloist.errors import UsageError
from soloist.message import DEFAULT_KIND, Message
from soloist.store.envelope import NAME

GENERATOR = "generator"
"""The source that `@app.generator` is short for."""

Produce = TypeVar("Produce", bound=Callable[[], Any])
Handle = TypeVar("Handle", bound=Callable[[Message], Any])


@dataclass(frozen=True)
class Source:
    """A function that the generator runs: every so many seconds, or (0) as fast as it goes."""

    name: str
    function: Callable[[], Any]
    every: float


class App:
    """A generator and a handler, run by any number of identical instances.

    Args:
        name: what the namespace belongs to, and its default name.
        generator_handles: whether the instance that generates handles messages too.
    """

    def __init__(self, name: str, *, generator_handles: bool = True) -> None:
        self.name = valid_name(name, "the App's name")
        self.generator_handles = generator_handles
        self.sources: list[Source] = []
        self.handlers: dict[str, Callable[[Message], Any]] = {}

    def generator(self, *, every: float) -> Callable[[Produce], Produce]:
        """Declare the function that makes a message every so many seconds; None means nothing this time."""
        if not 0 <= every < math.inf:
            raise UsageError(f"@{self.name}.generator: every={every} must be a number of seconds, 0 or more.")

        def declare(function: Produce) -> Produce:
            if self.sources:
                raise UsageError(f"App {self.name!r} has a generator already: {_called(self.sources[0].function)}.")
            self.sources.append(Source(GENERATOR, function, every))
            return function

        return declare

    @overload
    def handler(self, function: Handle, /) -> Handle: ...
    @overload
    def handler(self, kind: str, /) -> Callable[[Handle], Handle]: ...
    def handler(self, of: Any, /) -> Any:
        """Declare the function that handles a kind of message; without a kind, the default one."""
        if callable(of):
            return self._handles(DEFAULT_KIND, of)
        kind = valid_name(of, "a kind")
        return lambda function: self._handles(kind, function)

    def _handles(self, kind: str, function: Handle) -> Handle:
        if kind in self.handlers:
            raise UsageError(f"App {self.name!r} has a handler for {kind!r} already: {_called(self.handlers[kind])}.")
        self.handlers[kind] = function
        return function

    def check(self) -> None:
        """Refuse to start without anything to do."""
        if not self.sources and not self.handlers:
            raise UsageError(f"App {self.name!r} has neither a generator nor a handler: decorate a function.")


def _called(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", None) or repr(function)


def valid_name(name: Any, what: str) -> str:
    """A name that can stand in keys and between spaces."""
    if not isinstance(name, str) or not re.fullmatch(NAME, name):
        raise UsageError(f"{what} must be 1 to 128 of the characters A–Z a–z 0–9 _ . : / -, not {name!r}.")
    return name
