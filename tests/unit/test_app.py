"""app.py: the user's generator and handler under one name."""

import functools
import math
from collections.abc import Callable
from typing import Any

import pytest

from soloist import App, Message
from soloist.errors import UsageError

BAD_NAMES = ["", " ", "two words", "ä", "line\n", "a{b}", "x" * 129, None, 7, b"bytes"]


def produce() -> str:
    return "text"


def handle(message: Message) -> None: ...


@pytest.mark.parametrize("name", ["orders", "shop.orders", "Shop:eu/orders-1_x", "x" * 128])
def test_an_app_has_a_name(name: str) -> None:
    """One that can stand in a key."""
    assert App(name).name == name


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_bad_name_is_refused(name: Any) -> None:
    """With what is allowed, and what was given."""
    with pytest.raises(UsageError, match="the App's name must be 1 to 128 of the characters") as refused:
        App(name)

    assert repr(name) in str(refused.value)


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_kind_with_a_bad_name_is_refused(name: Any) -> None:
    """It stands in keys and between blanks."""
    with pytest.raises(UsageError, match="a kind must be 1 to 128 of the characters"):
        App("orders").handler(name)


def test_decorators_return_the_function_unchanged() -> None:
    """It can still be called, tested and decorated again."""
    app = App("orders")

    assert app.generator(every=0.5)(produce) is produce
    assert app.handler(handle) is handle
    assert app.handler("order.created")(handle) is handle


def test_a_generator_is_a_source_named_generator() -> None:
    """With its distance in seconds; 0 is as fast as it goes."""
    app = App("orders")
    app.generator(every=0)(produce)

    assert [(source.name, source.fit.function, source.every) for source in app.sources] == [("generator", produce, 0)]


def test_a_handler_without_a_kind_handles_the_default_one() -> None:
    """Bare and with a kind, side by side."""
    app = App("orders")
    app.handler(handle)
    app.handler("order.created")(handle)

    assert list(app.handlers) == ["default", "order.created"]


def test_a_second_generator_is_refused_with_the_name_of_the_first() -> None:
    """They would share one cursor and one rhythm."""
    app = App("orders")
    app.generator(every=1)(produce)

    with pytest.raises(UsageError, match="App 'orders' has a generator already: produce"):
        app.generator(every=1)(lambda: None)
    assert len(app.sources) == 1


@pytest.mark.parametrize("declare", [lambda app: app.handler, lambda app: app.handler("default")])
def test_a_kind_has_one_handler(declare: Callable[[App], Callable[[Any], Any]]) -> None:
    """The bare form is the kind "default"."""
    app = App("orders")
    app.handler(handle)

    with pytest.raises(UsageError, match="App 'orders' has a handler for 'default' already: handle"):
        declare(app)(lambda _: None)
    assert app.handlers["default"].fit.function is handle


def test_functions_without_a_name_are_refused_in_words_too() -> None:
    """A partial or an object that can be called has no `__name__`."""
    app = App("orders")
    app.generator(every=1)(functools.partial(produce))
    app.handler("mail")(functools.partial(handle))

    with pytest.raises(UsageError, match="has a generator already"):
        app.generator(every=1)(produce)
    with pytest.raises(UsageError, match="has a handler for 'mail' already"):
        app.handler("mail")(handle)


@pytest.mark.parametrize("every", [-1, -0.001, -math.inf, math.inf, math.nan])
def test_the_distance_of_ticks_is_a_time(every: float) -> None:
    """Not negative, not endless, a number: told when it is declared, not when the thread of the generator ends."""
    with pytest.raises(UsageError, match="every"):
        App("orders").generator(every=every)(produce)


def test_an_app_with_nothing_to_do_is_refused() -> None:
    """One of both is enough."""
    with pytest.raises(UsageError, match="neither a generator nor a handler"):
        App("orders").check()

    only_handles, only_generates = App("orders"), App("orders")
    only_handles.handler(handle)
    only_generates.generator(every=1)(produce)
    only_handles.check()
    only_generates.check()


def test_a_generator_handles_too_unless_told_otherwise() -> None:
    """In an App of one's own; the default application says otherwise."""
    assert App("orders").generator_handles
    assert not App("orders", generator_handles=False).generator_handles


def test_an_app_with_nothing_to_do_is_named_with_its_place() -> None:
    """And what to write instead."""
    with pytest.raises(UsageError, match=r"App 'orders' \(test_app.py, line \d+\) has neither .*@app.handler"):
        App("orders").check()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"lifespan": 7}, r"App 'orders' \(test_app.py, line \d+\): lifespan=7 is not possible; write a function"),
        ({"generator_handles": "no"}, "generator_handles='no' is not possible; write True or False"),
    ],
)
def test_what_an_app_is_made_of_is_checked_at_once(given: dict[str, Any], says: str) -> None:
    """Where it stands, not in the middle of a run."""
    with pytest.raises(UsageError, match=says):
        App("orders", **given)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"concurrency": 0}, r"handle \(test_app.py, line \d+\): concurrency=0 is not possible; write 1 to 10000"),
        ({"concurrency": "many"}, "concurrency='many' is not possible"),
        ({"timeout": -1}, "timeout=-1 is not possible; write some seconds"),
        ({"batch": 0}, "batch=0 is not possible; write 1 to 100000"),
        ({"linger": 1}, "linger=1 is not possible; write it with batch"),
    ],
)
def test_a_handler_that_is_declared_wrongly_is_named_with_its_place(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        App("orders").handler("mail", **given)(handle)


@pytest.mark.parametrize("decorator", ["handler", "source", "around"])
def test_only_functions_are_decorated(decorator: str) -> None:
    app = App("orders")
    decorate = {"handler": app.handler("mail"), "source": app.source(every=1), "around": app.around}[decorator]

    with pytest.raises(UsageError, match=rf"@orders.{decorator}.* is put above a function, not above 7 \(test_app.py"):
        decorate(7)  # type: ignore[type-var]  # that is the point


def test_an_app_can_be_narrowed_to_some_kinds() -> None:
    """`--kinds`: the same App, its sources too, with fewer handlers; the App itself stays as it is."""
    app = App("orders")
    app.generator(every=1)(produce)
    for kind in ("mail", "invoice", "parcel"):
        app.handler(kind)(handle)

    narrowed = app.only(["parcel", "mail"])

    assert list(narrowed.handlers) == ["mail", "parcel"]
    assert (narrowed.name, narrowed.sources) == (app.name, app.sources)
    assert list(app.handlers) == ["mail", "invoice", "parcel"]


def test_a_kind_that_nobody_handles_is_refused_with_those_that_there_are() -> None:
    """A misspelt one would wait for ever."""
    app = App("orders")
    app.handler("invoice")(handle)
    app.handler("mail")(handle)

    with pytest.raises(UsageError, match=r"no handler for the kind 'invoce'. Did you mean invoice\? It has: invoice"):
        app.only(["mail", "invoce"])
    with pytest.raises(UsageError, match=r"no handler for the kind ''\. It has: invoice, mail"):
        app.only([""])


@pytest.mark.parametrize("decorator", ["source", "generator"])
def test_a_source_says_how_often_it_is_called(decorator: str) -> None:
    """Bare, or without `every`: the sentence says what to write, and where."""
    decorate: Any = getattr(App("orders"), decorator)

    with pytest.raises(UsageError, match=rf"write @app.{decorator}\(every=1\) above produce \(test_app.py, line \d+\)"):
        decorate(produce)
    with pytest.raises(UsageError, match=rf"write @app.{decorator}\(every=1\) \(test_app.py, line \d+\)"):
        decorate(5)
    with pytest.raises(UsageError, match=rf"how often: write @app.{decorator}\(every=1\) \(test_app.py"):
        decorate(timeout=3)
