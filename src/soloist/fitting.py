"""A user's function and what it wants to be given: parameters that it does not name are left out."""

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
        self._by_name = self._wants_ctx = False
        self._wants_main = False
        parameters = _parameters(function)
        for name, parameter in parameters.items():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            if name == CTX:
                self._wants_ctx = True
            elif name == main or (not self._wants_main and main not in parameters and _takes_first(parameter)):
                self._wants_main = True
                self._by_name = parameter.kind is parameter.KEYWORD_ONLY or self._wants_ctx
            elif parameter.default is parameter.empty:
                raise UsageError(
                    f"{what} {self.where} wants the parameter {name!r}, which nothing gives it: "
                    f"it may take {main} and {CTX}. Give the others defaults."
                )
        self.main = main

    def bind(self, ctx: Any) -> Callable[[Any], Any]:
        """The function of `main` alone."""
        function, main = self.function, self.main
        if not self._wants_main:
            return (lambda _: function(ctx=ctx)) if self._wants_ctx else (lambda _: function())
        if self._by_name:
            extra = {CTX: ctx} if self._wants_ctx else {}
            return lambda value: function(**{main: value}, **extra)
        return (lambda value: function(value, ctx=ctx)) if self._wants_ctx else function

    def bind_both(self, value: Any, ctx: Any) -> Callable[[], Any]:
        """The function of nothing."""
        if not self._wants_main and not self._wants_ctx:
            return self.function
        bound = self.bind(ctx)
        return lambda: bound(value)


def place_of(function: Callable[..., Any]) -> str:
    """Its name, file and line, as far as they can be told."""
    plain = inspect.unwrap(getattr(function, "func", function))
    name = getattr(plain, "__name__", None) or repr(function)
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
    plain = getattr(function, "func", function)
    for each in (plain, getattr(plain, "__call__", None)):  # noqa: B004 - not whether it can be called, but how
        if inspect.iscoroutinefunction(each):
            return Flavour.ASYNC
        if inspect.isasyncgenfunction(each):
            return Flavour.ASYNC_GENERATOR
        if inspect.isgeneratorfunction(each):
            return Flavour.GENERATOR
    return Flavour.PLAIN


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # of some built in ones nothing is known
        return {}


def _takes_first(parameter: inspect.Parameter) -> bool:
    return parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD) and (
        parameter.default is parameter.empty
    )
