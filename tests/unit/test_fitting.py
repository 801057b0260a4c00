"""fitting.py: a user's function, what it wants to be given, and where it stands."""

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from soloist.errors import UsageError
from soloist.fitting import Fit, Flavour, flavour_of, place_of


def seen_by(function: Callable[..., Any]) -> Any:
    """What it answers when it is given "M" as the message and "C" as ctx."""
    fit = Fit(function, "message", "the handler")
    once, bound = fit.bind_both("M", "C")(), fit.bind("C")("M")
    assert once == bound
    return bound


def nothing() -> Any:
    return "nothing"


def first(anything: Any) -> Any:
    return anything


def with_default(message: Any = None, limit: int = 3) -> Any:
    return message, limit


def both(message: Any, ctx: Any) -> Any:
    return message, ctx


def other_way_round(ctx: Any, message: Any) -> Any:
    return message, ctx


def other_way_round_and_named_otherwise(ctx: Any, order: Any) -> Any:
    return order, ctx


def by_place_only(ctx: Any, order: Any, /) -> Any:
    return order, ctx


def by_name_only(*, ctx: Any, message: Any) -> Any:
    return message, ctx


def only_ctx(ctx: Any) -> Any:
    return ctx


def behind_a_default(limit: int = 3, message: Any = None, ctx: Any = None) -> Any:
    return limit, message, ctx


def anything(*args: Any, **kwargs: Any) -> Any:
    return args, kwargs


class Callee:
    def __call__(self, message: Any, ctx: Any) -> Any:
        return message, ctx

    def method(self, order: Any) -> Any:
        return order

    async def async_method(self) -> None: ...


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        (nothing, "nothing"),
        (first, "M"),
        (with_default, ("M", 3)),
        (both, ("M", "C")),
        (other_way_round, ("M", "C")),
        (other_way_round_and_named_otherwise, ("M", "C")),
        (by_place_only, ("M", "C")),
        (by_name_only, ("M", "C")),
        (only_ctx, "C"),
        (behind_a_default, (3, "M", "C")),
        (anything, (("M",), {})),
        (Callee(), ("M", "C")),
        (Callee().method, "M"),
        (functools.partial(both, ctx="mine"), ("M", "C")),
        (functools.partial(behind_a_default, 7), (7, "M", "C")),
        (dict, {}),
    ],
)
def test_a_function_is_given_what_it_names_and_nothing_else(function: Callable[..., Any], answer: Any) -> None:
    """In whatever order it names them; the first parameter may be called as one likes."""
    assert seen_by(function) == answer


def test_a_wrapper_with_the_name_of_what_it_wraps_is_given_what_that_one_wants() -> None:
    """As `functools.wraps` makes it."""

    @functools.wraps(both)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return "wrapped", both(*args, **kwargs)

    assert seen_by(wrapper) == ("wrapped", ("M", "C"))


def test_the_commonest_function_is_called_without_a_detour() -> None:
    """It is called for every message."""
    assert Fit(first, "message", "the handler").bind(None) is first
    assert Fit(nothing, "source", "the source").bind_both(None, None) is nothing


def needs_more(message: Any, database: Any) -> None: ...


def needs_a_name(*, order: Any) -> None: ...


def places_after_a_default(limit: int = 3, ctx: Any = None, /) -> None: ...


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (needs_more, "the handler needs_more (test_fitting.py, line %d) wants the parameter 'database', which nothing"),
        (needs_a_name, "the handler needs_a_name (test_fitting.py, line %d) wants the parameter 'order'"),
        (places_after_a_default, "the handler places_after_a_default (test_fitting.py, line %d) cannot be given 'ctx'"),
    ],
)
def test_a_function_that_wants_more_is_refused_when_it_is_declared(function: Callable[..., Any], says: str) -> None:
    """By name, file and line; and with what it may take."""
    with pytest.raises(UsageError) as refused:
        Fit(function, "message", "the handler")

    assert str(refused.value).startswith(says % function.__code__.co_firstlineno)


def test_the_refusal_says_what_may_be_taken_and_what_to_do() -> None:
    with pytest.raises(UsageError, match=r"it may take message and ctx\. Give the others defaults\.$"):
        Fit(needs_more, "message", "the handler")


async def task() -> None: ...


def steps() -> Iterator[int]:
    yield 1


async def async_steps() -> AsyncIterator[int]:
    yield 1


class AsyncCallee:
    async def __call__(self) -> None: ...


@pytest.mark.parametrize(
    ("function", "flavour"),
    [
        (nothing, Flavour.PLAIN),
        (Callee(), Flavour.PLAIN),
        (print, Flavour.PLAIN),
        (task, Flavour.ASYNC),
        (Callee().async_method, Flavour.ASYNC),
        (AsyncCallee(), Flavour.ASYNC),
        (functools.partial(task), Flavour.ASYNC),
        (steps, Flavour.GENERATOR),
        (functools.partial(functools.partial(steps)), Flavour.GENERATOR),
        (async_steps, Flavour.ASYNC_GENERATOR),
    ],
)
def test_how_a_function_has_to_be_called_is_seen_without_calling_it(
    function: Callable[..., Any], flavour: Flavour
) -> None:
    assert flavour_of(function) is flavour


@pytest.mark.parametrize(
    ("function", "place"),
    [
        (nothing, rf"nothing \(test_fitting\.py, line {nothing.__code__.co_firstlineno}\)"),
        (functools.partial(nothing), r"nothing \(test_fitting\.py, line \d+\)"),
        (Callee().method, r"method \(test_fitting\.py, line \d+\)"),
        (Callee(), r"Callee \(test_fitting\.py, line \d+\)"),
        (
            functools.wraps(nothing)(lambda: None),
            rf"nothing \(test_fitting\.py, line {nothing.__code__.co_firstlineno}\)",
        ),
        (lambda: None, r"<lambda> \(test_fitting\.py, line \d+\)"),
        (len, "len"),
    ],
)
def test_a_function_is_named_with_file_and_line(function: Callable[..., Any], place: str) -> None:
    """As far as they can be told; of a wrapped one, those of the user's function."""
    import re

    assert re.fullmatch(place, place_of(function))
