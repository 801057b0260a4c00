"""around.py: what is put around every call of a handler."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from soloist import App, Message
from soloist.errors import Reject, UsageError

MESSAGE: Any = object()
"""Whatever it is, it is handed on."""


def plain(message: Message) -> str:
    return "handled"


async def awaited(message: Message) -> str:
    return "awaited"


def called(app: App, kind: str = "default") -> Callable[[Any], Any]:
    """A handler's call as an instance makes it."""
    declared = app.handlers[kind]
    return app.wrapped(declared, declared.fit.bind(None))


def test_nothing_around_costs_nothing() -> None:
    """The very same function is called."""
    app = App("orders")
    app.handler(plain)
    app.handler("async")(awaited)

    assert called(app) is plain
    assert called(app, "async") is awaited


def test_the_first_is_the_outermost() -> None:
    """They nest in the order of their declaration, and each gets what the one within it returns."""
    app, seen = App("orders"), list[str]()
    app.handler(plain)

    @app.around
    def outer(call: Callable[[Any], str], message: Any) -> str:
        seen.append(f"outer {message is MESSAGE}")
        return f"outer({call(message)})"

    @app.around
    def inner(call: Callable[[Any], str], message: Any) -> str:
        seen.append(f"inner {message is MESSAGE}")
        return f"inner({call(message)})"

    assert called(app)(MESSAGE) == "outer(inner(handled))"
    assert seen == ["outer True", "inner True"]


def test_it_sees_what_a_handler_raises() -> None:
    """And may do something about it, or let it pass."""
    app, seen = App("orders"), list[BaseException]()

    @app.handler
    def rejects(message: Message) -> None:
        raise Reject("no")

    @app.around
    def reported(call: Callable[[Any], Any], message: Any) -> Any:
        try:
            return call(message)
        except Reject as error:
            seen.append(error)
            raise

    with pytest.raises(Reject, match="no"):
        called(app)(MESSAGE)
    assert [str(error) for error in seen] == ["no"]


def test_async_ones_are_put_around_async_handlers_and_plain_ones_around_plain() -> None:
    """A plain one could not await, and what an async one answers could not be had without a loop."""
    app = App("orders")
    app.handler(plain)
    app.handler("async")(awaited)

    @app.around
    def traced(call: Callable[[Any], str], message: Any) -> str:
        return f"traced({call(message)})"

    @app.around
    async def traced_async(call: Callable[[Any], Any], message: Any) -> str:
        return f"traced_async({await call(message)})"

    app.check()
    assert called(app)(MESSAGE) == "traced(handled)"
    assert asyncio.run(called(app, "async")(MESSAGE)) == "traced_async(awaited)"


def test_around_a_handler_of_batches_is_given_the_list() -> None:
    app, seen = App("orders"), list[Any]()
    app.handler("bulk", batch=10)(len)

    @app.around
    def counted(call: Callable[[Any], int], message: Any) -> int:
        seen.append(message)
        return call(message)

    assert called(app, "bulk")([MESSAGE, MESSAGE]) == 2
    assert seen == [[MESSAGE, MESSAGE]]


@pytest.mark.parametrize(
    ("handler", "says"),
    [
        (awaited, r"not fit the async handler awaited \(test_around.py, line \d+\): .*`async def traced_async\("),
        (plain, r"not fit the plain handler plain \(test_around.py, line \d+\): .*`def traced_async_plain\("),
    ],
)
def test_a_handler_that_would_go_without_is_refused(handler: Any, says: str) -> None:
    """At the start, with what to write: a trace with holes in it is found out much later."""
    app = App("orders")
    app.handler(handler)

    def traced(call: Callable[[Any], Any], message: Any) -> Any:
        return call(message)

    async def traced_async(call: Callable[[Any], Any], message: Any) -> Any:
        return await call(message)

    app.around(traced_async if handler is plain else traced)

    with pytest.raises(
        UsageError, match=rf"App 'orders' .* has traced\w* \(test_around.py, line \d+\) around .*{says}"
    ):
        app.check()


def yields(call: Any, message: Any) -> Iterator[None]:
    yield


async def yields_async(call: Any, message: Any) -> AsyncIterator[None]:
    yield


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda _call: None, r"is given two parameters: write `def <lambda>\(call, message\)`"),
        (lambda _call, _message, _more: None, "is given two parameters"),
        (lambda: None, "is given two parameters"),
        (yields, r"the around yields \(test_around.py, line \d+\) yields, and would never be run"),
        (yields_async, "yields, and would never be run"),
    ],
)
def test_what_cannot_be_put_around_anything_is_refused_at_once(function: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        App("orders").around(function)


def test_the_decorator_returns_the_function_unchanged() -> None:
    def traced(call: Any, message: Any) -> Any:
        return call(message)

    assert App("orders").around(traced) is traced
