"""Sources and handlers as they were declared: a function of the user's, and how it wants to be treated."""

import functools
import inspect
import math
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

from soloist.errors import UsageError
from soloist.fitting import Fit, Flavour, here, place_of
from soloist.source import Source

P = ParamSpec("P")
R = TypeVar("R")

SHORTEST = 0.001
"""Seconds: no source comes more often, but for those that go as fast as they can."""


@dataclass(frozen=True)
class DeclaredSource:
    """A function that the generator runs.

    Attributes:
        every: seconds between its calls; 0: as fast as it goes.
        timeout: seconds that a call may take; None: as long as it likes.
        cursor_type: what the cursor is to be, as far as the annotation of the function says so.
    """

    name: str
    fit: Fit
    every: float
    timeout: float | None
    cursor_type: Any = field(default=Any)

    @property
    def where(self) -> str:
        return self.fit.where


@dataclass(frozen=True)
class DeclaredHandler:
    """A function that handles the messages of a kind.

    Attributes:
        concurrency: how many at a time, in each instance; None: as the setting says.
        timeout: seconds that a message may take; None: as the setting says.
        batch: how many the function is given at once; 0: one, and not in a list.
        linger: seconds for which a batch may wait to get full.
    """

    kind: str
    fit: Fit
    concurrency: int | None = None
    timeout: float | None = None
    batch: int = 0
    linger: float = 0.0

    @property
    def where(self) -> str:
        return self.fit.where


def declare_source(name: str, function: Callable[..., Any], every: Any, timeout: Any) -> DeclaredSource:
    """Check what can be checked before it runs."""
    fit = Fit(function, "source", "the source")
    _require(fit.where, "every", every, every == 0 or _is_within(every, SHORTEST), "0, or at least 0.001 seconds")
    _require(fit.where, "timeout", timeout, timeout is None or _is_within(timeout, SHORTEST), "None, or some seconds")
    return DeclaredSource(name, fit, every, timeout, _cursor_type(function))


def declare_handler(
    kind: str, function: Callable[..., Any], concurrency: Any, timeout: Any, batch: Any, linger: Any
) -> DeclaredHandler:
    """Check what can be checked before it runs."""
    fit = Fit(function, "message" if batch is None else "messages", "the handler")
    where = fit.where
    if fit.flavour in (Flavour.GENERATOR, Flavour.ASYNC_GENERATOR):
        raise UsageError(f"the handler {where} yields, and would never be run: a handler returns.")
    _require(where, "concurrency", concurrency, concurrency is None or _is_whole(concurrency, 1, 10_000), "1 to 10000")
    _require(where, "timeout", timeout, timeout is None or _is_within(timeout, SHORTEST), "some seconds")
    _require(where, "batch", batch, batch is None or _is_whole(batch, 1, 100_000), "1 to 100000")
    _require(where, "linger", linger, linger == 0 or (batch is not None and _is_within(linger, 0)), "it with batch=…")
    if batch is not None and concurrency not in (None, 1):
        raise UsageError(f"{where}: a handler of batches gets one batch at a time; leave concurrency out.")
    return DeclaredHandler(kind, fit, concurrency, timeout, batch or 0, linger)


def with_parentheses(decorator: Callable[P, R]) -> Callable[P, R]:
    """A decorator that is never put bare above a function: Python's own words about that would help nobody."""

    @functools.wraps(decorator)
    def checked(*args: P.args, **named: P.kwargs) -> R:
        name = decorator.__name__
        if len(args) > 1:
            what = f" above {place_of(args[1])}" if callable(args[1]) else f" ({here()})"
            raise UsageError(f"@app.{name} takes nothing but what is named: write @app.{name}(every=1){what}.")
        if "every" not in named:
            raise UsageError(f"@app.{name} wants to know how often: write @app.{name}(every=1) ({here()}).")
        return decorator(*args, **named)

    return checked


def require_function(given: Any, decorator: str, where: str = "") -> None:
    """What is decorated must be something that can be called."""
    if not callable(given):
        place = f" ({where})" if where else ""
        raise UsageError(f"@{decorator} is put above a function, not above {given!r}{place}.")


def _is_within(value: Any, least: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value < math.inf


def _is_whole(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _require(where: str, name: str, value: Any, is_fine: bool, allowed: str) -> None:
    if not is_fine:
        raise UsageError(f"{where}: {name}={value!r} is not possible; write {allowed}.")


def _cursor_type(function: Callable[..., Any]) -> Any:
    """The second of `Source[Ctx, Cursor]`, if the function says so."""
    try:
        hints = typing.get_type_hints(inspect.unwrap(function))
    except Exception:  # noqa: BLE001 - annotations may be anything, also names that exist only for the type checker
        return Any
    for name, hint in hints.items():
        if name != "return" and typing.get_origin(hint) is Source:
            cursor = typing.get_args(hint)[1]
            return Any if isinstance(cursor, typing.TypeVar) else cursor
    return Any
