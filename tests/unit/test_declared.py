"""declared.py and app.py: what is refused when a source is declared, and in which words."""

import functools
import math
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

import pytest

from soloist import App, Page, Source
from soloist.declared import declare_source
from soloist.errors import UsageError

T = TypeVar("T")


def produce() -> str:
    return "text"


HERE = rf"produce \(test_declared\.py, line {produce.__code__.co_firstlineno}\)"


@dataclass
class Place:
    page: int
    row: int


class Opaque:
    """Something that JSON cannot tell."""


def refusal_of(declare: Callable[[], Any]) -> str:
    with pytest.raises(UsageError) as refused:
        declare()
    return str(refused.value)


# how often


@pytest.mark.parametrize("every", [0, 0.0, 0.001, 1, 86_400, 366 * 86_400])
def test_a_source_comes_as_often_as_it_says(every: float) -> None:
    """0 is as fast as it goes."""
    app = App("orders")
    app.source(every=every)(produce)

    assert app.sources[0].every == every


@pytest.mark.parametrize("every", [-1, 0.0009, 1e-9, math.inf, math.nan, 1e12, True, False, "1", None, timedelta(1)])
def test_a_distance_that_cannot_be_kept_is_refused(every: Any) -> None:
    """Below a millisecond, beyond a century, or no number: told when it is declared."""
    says = refusal_of(lambda: App("orders").source(every=every)(produce))

    assert re.fullmatch(
        rf"{HERE}: every=.* is not possible; write 0 \(as fast as it goes\), or at least 0\.001 .*", says
    )
    assert repr(every) in says


@pytest.mark.parametrize("timeout", [0, -1, math.nan, math.inf, True, "1"])
def test_a_timeout_is_a_time(timeout: Any) -> None:
    says = refusal_of(lambda: App("orders").source(every=1, timeout=timeout)(produce))

    assert re.match(rf"{HERE}: timeout={re.escape(repr(timeout))} is not possible; write None, or some seconds", says)


def test_a_source_has_a_timeout_unless_it_says_otherwise() -> None:
    """One that hangs must not keep the term."""
    app = App("orders")
    app.source(every=1)(produce)
    app.source(every=1, timeout=None, name="patient")(produce)

    assert [source.timeout for source in app.sources] == [30.0, None]


# the decorators


@pytest.mark.parametrize("name", ["source", "generator"])
def test_a_decorator_without_parentheses_is_refused_with_what_to_write(name: str) -> None:
    """Python itself would speak of positional arguments."""
    bare: Any = getattr(App("orders"), name)

    says = refusal_of(lambda: bare(produce))

    assert re.fullmatch(rf"{HERE}: write @app\.{name}\(every=0\.5\) above the function, not @app\.{name} alone\.", says)


@pytest.mark.parametrize("name", ["source", "generator"])
def test_a_decorator_that_does_not_say_how_often_is_refused(name: str) -> None:
    silent: Any = getattr(App("orders"), name)

    assert refusal_of(silent) == f"@app.{name}(…) does not say how often: write @app.{name}(every=0.5), in seconds."


def test_a_name_in_the_place_of_the_distance_is_refused() -> None:
    """It goes by `name`."""
    named: Any = App("orders").source

    assert refusal_of(lambda: named("outbox", every=1)).startswith("'outbox': write @app.source(every=0.5)")


def test_what_is_no_function_is_refused() -> None:
    nothing: Any = "text"

    says = refusal_of(lambda: App("orders").source(every=1)(nothing))

    assert says.startswith("@app.source(every=…) is put above a function, not above 'text' (test_declared.py, line ")


def test_the_decorators_keep_their_names_and_words() -> None:
    """For `help()`, and for whoever reads the signature."""
    assert App.source.__name__ == "source"
    assert "Declare a function that the generator calls" in str(App.source.__doc__)


# names


def test_a_source_is_named_after_its_function_unless_it_has_a_name() -> None:
    app = App("orders")
    app.source(every=1)(produce)
    app.source(every=1, name="second")(produce)

    assert [source.name for source in app.sources] == ["produce", "second"]


def test_a_source_twice_is_refused_with_both_places() -> None:
    """They would share one cursor and one rhythm."""
    app = App("orders")
    app.source(every=1)(produce)

    says = refusal_of(lambda: app.source(every=1)(produce))

    assert re.fullmatch(
        rf"App 'orders' has a source named 'produce' already: {HERE}; {HERE} is another\. Give it another name: name=…",
        says,
    )
    assert len(app.sources) == 1


@pytest.mark.parametrize(("function", "name"), [(lambda: None, "<lambda>"), (functools.partial(produce), "")])
def test_a_function_without_a_name_of_its_own_needs_one(function: Callable[[], Any], name: str) -> None:
    """Its cursor is kept under it."""
    says = refusal_of(lambda: App("orders").source(every=1)(function))

    assert f"a source cannot be named {name!r}; write name=… with 1 to 128 of the characters" in says
    assert "(test_declared.py, line " in says


# parameters


def needs_a_database(source: Any, database: Any) -> None: ...


def test_a_source_that_wants_what_nothing_gives_it_is_refused() -> None:
    says = refusal_of(lambda: App("orders").source(every=1)(needs_a_database))

    assert says.startswith("the source needs_a_database (test_declared.py, line ")
    assert "wants the parameter 'database'" in says
    assert "it may take source and ctx" in says


# the type of the cursor


def of_int(source: Source[None, int]) -> None: ...
def of_place(source: Source[Any, Place]) -> Page[Place] | None: ...
def of_time(later: Source[None, datetime | None], ctx: Any) -> None: ...
def of_object(source: Source[object, object]) -> None: ...
def of_any(source: Source[Any, Any]) -> None: ...
def of_variable(source: Source[None, T]) -> T | None: ...
def of_nothing(source: Any) -> None: ...
def of_unknown(source: "Source[None, NotImported]") -> None: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("function", "cursor_type"),
    [
        (of_int, int),
        (of_place, Place),
        (of_time, datetime | None),
        (of_object, Any),
        (of_any, Any),
        (of_variable, Any),
        (of_nothing, Any),
        (of_unknown, Any),
        (produce, Any),
        (functools.partial(of_int), Any),
    ],
)
def test_the_annotation_says_what_a_cursor_is(function: Callable[..., Any], cursor_type: Any) -> None:
    """So a source gets back what it has stored; without an annotation what JSON makes of it."""
    assert declare_source("name", function, 1, None).cursor_type == cursor_type


def of_opaque(source: Source[None, Opaque]) -> None: ...


def test_a_cursor_that_would_not_come_back_is_refused_when_it_is_declared() -> None:
    """Not at the first page, in the middle of a run."""
    says = refusal_of(lambda: App("orders").source(every=1)(of_opaque))

    assert says.startswith(
        f"of_opaque (test_declared.py, line {of_opaque.__code__.co_firstlineno}): a cursor of the type"
    )
    assert "Opaque cannot be stored; annotate source: Source[…, T]" in says


# handlers that are none


def test_a_handler_that_yields_is_refused() -> None:
    """Its body would never run."""

    def yields(message: Any) -> Iterator[int]:
        yield 1

    async def yields_later(message: Any) -> AsyncIterator[int]:
        yield 1

    for function in (yields, yields_later):
        assert "yields, and would never be run" in refusal_of(lambda: App("orders").handler(function))  # noqa: B023


# the lifespan


@contextmanager
def lifespan() -> Iterator[int]:
    yield 1


@asynccontextmanager
async def async_lifespan() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize("given", [None, lifespan, async_lifespan, nullcontext])
def test_a_lifespan_is_a_function(given: Any) -> None:
    assert App("orders", lifespan=given).lifespan is given


@pytest.mark.parametrize("make", [lifespan, async_lifespan, lambda: "text", nullcontext])
def test_what_a_lifespan_answers_is_not_the_lifespan(make: Callable[[], Any]) -> None:
    """The parentheses are one too many: it could be entered once, and an instance may need it anew."""
    says = refusal_of(lambda: App("orders", lifespan=make()))

    assert says.startswith("App 'orders' (test_declared.py, line ")
    assert ": lifespan=" in says
    assert says.endswith("write the name of the function alone, without ().")
