"""What is put around every call of a handler (`@app.around`): tracing, error reporting, a transaction of one's own."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from soloist.declared import DeclaredHandler
from soloist.errors import UsageError
from soloist.fitting import Flavour, flavour_of, place_of

Call = Callable[[Any], Any]


@dataclass(frozen=True)
class DeclaredAround:
    """A function of `call` and `message`.

    Attributes:
        is_async: it is put around async handlers, and only around these.
    """

    function: Callable[[Call, Any], Any]
    where: str
    is_async: bool


def declare_around(function: Callable[..., Any]) -> DeclaredAround:
    """Check what can be checked before it runs."""
    where, flavour = place_of(function), flavour_of(function)
    if flavour in (Flavour.GENERATOR, Flavour.ASYNC_GENERATOR):
        raise UsageError(
            f"the around {where} yields, and would never be run: it goes on with `return call(message)`, "
            f"or with `return await call(message)` if it is async."
        )
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        raise UsageError(
            f"the around {where} is given two parameters: write `def {_name(function)}(call, message)`."
        ) from None
    except ValueError:
        pass  # of some built in ones nothing is known
    return DeclaredAround(function, where, flavour is Flavour.ASYNC)


def require_flavours(app: str, arounds: Sequence[DeclaredAround], handlers: Iterable[DeclaredHandler]) -> None:
    """Refuse a handler that would be called with nothing around it although the App has something to put there."""
    if not arounds:
        return
    for declared in handlers:
        if not _around(arounds, declared):
            what, form = ("async", "async def") if _is_async(declared) else ("plain", "def")
            go_on = "await call(message)" if _is_async(declared) else "call(message)"
            raise UsageError(
                f"{app} has {arounds[0].where} around its handlers, but that does not fit the {what} handler "
                f"{declared.where}: add one with @app.around and "
                f"`{form} {_name(arounds[0].function)}_{what}(call, message): return {go_on}`."
            )


def wrap(arounds: Sequence[DeclaredAround], declared: DeclaredHandler, call: Call) -> Call:
    """The call with everything around it; the very same one if there is nothing, so that it costs nothing."""
    for around in reversed(_around(arounds, declared)):
        call = partial(around.function, call)
    return call


def _around(arounds: Sequence[DeclaredAround], declared: DeclaredHandler) -> list[DeclaredAround]:
    return [around for around in arounds if around.is_async is _is_async(declared)]


def _is_async(declared: DeclaredHandler) -> bool:
    return declared.fit.flavour is Flavour.ASYNC


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", "around")
