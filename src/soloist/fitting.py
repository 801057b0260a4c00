"""A user's function and what it wants to be given: parameters that it does not name are left out."""

import functools
import inspect
import sys
from collections.abc import Callable
from enum import Enum, auto
from pathlib import Path
from types import FrameType
from typing import Any

from soloist.errors import UsageError

CTX = "ctx"


class Flavour(Enum):
    """How a function has to be called."""

    PLAIN = auto()
    ASYNC = auto()
    GENERATOR = auto()
    ASYNC_GENERATOR = auto()


class Fit:
    """A function of `main` and `ctx`, whichever of the two it wants.

    Args:
        function: the user's.
        main: what its first parameter is for; the function may call it otherwise.
        what: what the function is to us, for the sentence that refuses it.
    """

    def __init__(self, function: Callable[..., Any], main: str, what: str) -> None:
        self.function = function
        self.where = place_of(function)
        self.flavour = flavour_of(function)
        self._main = main
        self._what = what
        self._in_order: list[str] = []
        """What is given by place: `main` and `ctx`, whichever come first."""
        self._by_name: dict[str, str] = {}
        """What is given by name: the parameter, and which of the two it is."""
        parameters = _parameters(function)
        is_named = main in parameters
        skipped = False
        for name, parameter in parameters.items():
            wanted = self._wanted(parameter, is_named)
            if wanted is None:
                skipped = skipped or parameter.kind in _BY_PLACE
            elif parameter.kind in _BY_PLACE and not skipped:
                self._in_order.append(wanted)
            elif parameter.kind is parameter.POSITIONAL_ONLY:
                raise UsageError(f"{what} {self.where} cannot be given {name!r}: put it first, or leave out the `/`.")
            else:
                self._by_name[name] = wanted
        if not self._wants(main) and any(each.kind is each.VAR_POSITIONAL for each in parameters.values()):
            self._in_order.append(main)  # it takes whatever comes, as the wrapper of a decorator does

    def _wanted(self, parameter: inspect.Parameter, is_named: bool) -> str | None:
        """Which of the two this parameter is for; None if it is left out."""
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            return None
        if parameter.name in (CTX, self._main):
            return parameter.name
        if parameter.default is not parameter.empty:
            return None
        if not is_named and not self._wants(self._main) and parameter.kind in _BY_PLACE:
            return self._main
        raise UsageError(
            f"{self._what} {self.where} wants the parameter {parameter.name!r}, which nothing gives it: "
            f"it may take {self._main} and {CTX}. Give the others defaults."
        )

    def _wants(self, which: str) -> bool:
        return which in self._in_order or which in self._by_name.values()

    def bind(self, ctx: Any) -> Callable[[Any], Any]:
        """The function of `main` alone."""
        function, main = self.function, self._main
        if self._in_order == [main] and not self._by_name:
            return function
        if self._in_order == [main, CTX] and not self._by_name:
            return lambda value: function(value, ctx)
        in_order = [which == main for which in self._in_order]
        by_name = {name: which == main for name, which in self._by_name.items()}

        def call(value: Any) -> Any:
            return function(
                *[value if is_main else ctx for is_main in in_order],
                **{name: value if is_main else ctx for name, is_main in by_name.items()},
            )

        return call

    def bind_both(self, value: Any, ctx: Any) -> Callable[[], Any]:
        """The function of nothing."""
        if not self._in_order and not self._by_name:
            return self.function
        bound = self.bind(ctx)
        return lambda: bound(value)


_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def place_of(function: Callable[..., Any]) -> str:
    """Its name, file and line, as far as they can be told."""
    plain = inspect.unwrap(_without_partial(function))
    name = getattr(plain, "__name__", None) or type(plain).__name__
    code = getattr(plain, "__code__", None) or getattr(type(plain).__call__, "__code__", None)
    return f"{name} ({Path(code.co_filename).name}, line {code.co_firstlineno})" if code else name


def here() -> str:
    """File and line of the user's code that called us; empty if nobody but ourselves did."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - inspect.stack() reads every file on the way
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in (__package__, "contextlib"):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}, line {frame.f_lineno}" if frame is not None else ""


def flavour_of(function: Callable[..., Any]) -> Flavour:
    """How it has to be called; of an object that can be called, its `__call__` tells."""
    plain = _without_partial(function)
    for each in (plain, getattr(plain, "__call__", None)):  # noqa: B004 - not whether it can be called, but how
        if inspect.iscoroutinefunction(each):
            return Flavour.ASYNC
        if inspect.isasyncgenfunction(each):
            return Flavour.ASYNC_GENERATOR
        if inspect.isgeneratorfunction(each):
            return Flavour.GENERATOR
    return Flavour.PLAIN


def _without_partial(function: Callable[..., Any]) -> Callable[..., Any]:
    return function.func if isinstance(function, functools.partial) else function


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # of some built in ones nothing is known
        return {}
