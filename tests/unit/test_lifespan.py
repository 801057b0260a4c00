"""runtime/lifespan.py: entered before an instance joins, left after it has gone."""

import asyncio
import logging
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from typing import Any

import pytest

from soloist.errors import UsageError
from soloist.runtime.lifespan import Lifespan
from soloist.runtime.loop import Loop


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.stop(5)


def refusal_of(function: Callable[..., Any], loop: Loop) -> str:
    lifespan = Lifespan(function, loop)
    with pytest.raises(UsageError) as refused:
        lifespan.enter()
    lifespan.leave(30)
    return str(refused.value)


def test_without_a_lifespan_ctx_is_none(loop: Loop) -> None:
    lifespan = Lifespan(None, loop)

    assert lifespan.enter() is None
    lifespan.leave(30)


def test_what_it_yields_is_ctx_and_what_follows_runs_when_it_is_left(loop: Loop) -> None:
    seen: list[str] = []

    @contextmanager
    def deps() -> Iterator[str]:
        seen.append("entered")
        yield "ctx"
        seen.append("left")

    lifespan = Lifespan(deps, loop)

    assert lifespan.enter() == "ctx"
    assert seen == ["entered"]
    lifespan.leave(30)
    lifespan.leave(30)
    assert seen == ["entered", "left"]


def test_an_async_one_is_entered_and_left_by_one_task(loop: Loop) -> None:
    """Task groups and time limits can bear nothing else; what it began runs meanwhile."""
    seen: list[Any] = []

    async def background() -> None:
        seen.append("background")

    @asynccontextmanager
    async def deps() -> AsyncIterator[str]:
        entered_by = asyncio.current_task()
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            group.create_task(background())
            yield "ctx"
        seen.append(asyncio.current_task() is entered_by)

    lifespan = Lifespan(deps, loop)

    assert lifespan.enter() == "ctx"
    lifespan.leave(30)
    assert seen == ["background", True]


def test_an_async_one_survives_the_end_of_the_calls_beside_it(loop: Loop) -> None:
    """They are cancelled before it is left."""
    seen: list[str] = []

    @asynccontextmanager
    async def deps() -> AsyncIterator[str]:
        yield "ctx"
        await asyncio.sleep(0)
        seen.append("left in order")

    lifespan = Lifespan(deps, loop)
    lifespan.enter()
    loop.cancel(5)
    lifespan.leave(30)

    assert seen == ["left in order"]


def returns_text() -> str:
    return "ctx"


def yields_undecorated() -> Iterator[str]:
    yield "ctx"


async def yields_undecorated_later() -> AsyncIterator[str]:
    yield "ctx"


async def returns_later() -> str:
    return "ctx"


@pytest.mark.parametrize(
    ("function", "answers"),
    [
        (returns_text, "str"),
        (yields_undecorated, "generator"),
        (yields_undecorated_later, "async_generator"),
        (returns_later, "coroutine"),
    ],
)
def test_what_is_no_context_manager_is_refused_with_what_to_write(
    loop: Loop, function: Callable[..., Any], answers: str
) -> None:
    """By function, file and line."""
    line = function.__code__.co_firstlineno

    assert refusal_of(function, loop) == (
        f"the lifespan {function.__name__} (test_lifespan.py, line {line}) answers {answers}, which is no context manager: "
        f"decorate it with contextlib.contextmanager or contextlib.asynccontextmanager, and let it yield once."
    )


def connect() -> None:
    raise OSError("the database is away")


def give_up() -> None:
    sys.exit("no settings")


@contextmanager
def fails() -> Iterator[str]:
    connect()
    yield "ctx"


@asynccontextmanager
async def fails_later() -> AsyncIterator[str]:
    await asyncio.sleep(0)
    connect()
    yield "ctx"


def fails_at_once() -> Any:
    raise OSError("the database is away")


@pytest.mark.parametrize("function", [fails, fails_later, fails_at_once])
def test_one_that_fails_is_told_with_what_it_raised_and_where(loop: Loop, function: Callable[..., Any]) -> None:
    """Nothing was joined yet, so nothing is left behind."""
    says = refusal_of(function, loop)

    pattern = (
        rf"the lifespan {function.__name__} \(test_lifespan.py, line (\d+)\) failed: OSError: the database is away "
    )
    assert re.fullmatch(pattern + r"\(test_lifespan.py, line (\d+)\)\.", says)


@pytest.mark.parametrize("flavour", ["sync", "async"])
def test_one_that_wants_to_end_the_program_has_failed(loop: Loop, flavour: str) -> None:
    @contextmanager
    def leaves() -> Iterator[None]:
        give_up()
        yield

    @asynccontextmanager
    async def leaves_later() -> AsyncIterator[None]:
        give_up()
        yield

    function = leaves if flavour == "sync" else leaves_later

    assert "failed: SystemExit: no settings" in refusal_of(function, loop)


def test_one_that_wants_parameters_has_failed(loop: Loop) -> None:
    """It is given none."""

    @contextmanager
    def needs(app: Any) -> Iterator[None]:
        yield

    assert "failed: TypeError: " in refusal_of(needs, loop)


@pytest.mark.parametrize("flavour", ["sync", "async"])
def test_what_goes_wrong_while_it_is_left_is_told_and_holds_up_nothing(
    loop: Loop, flavour: str, caplog: pytest.LogCaptureFixture
) -> None:
    @contextmanager
    def deps() -> Iterator[None]:
        yield
        raise OSError("cannot be closed")

    @asynccontextmanager
    async def deps_later() -> AsyncIterator[None]:
        yield
        raise OSError("cannot be closed")

    lifespan = Lifespan(deps if flavour == "sync" else deps_later, loop)
    lifespan.enter()
    with caplog.at_level(logging.ERROR, "soloist"):
        lifespan.leave(30)

    assert [record.message for record in caplog.records] == ["lifespan.failed; it was being left"]
    assert "cannot be closed" in caplog.text


def test_anything_that_can_be_entered_will_do(loop: Loop) -> None:
    """Not only what contextlib makes."""
    lifespan = Lifespan(lambda: nullcontext("ctx"), loop)

    assert lifespan.enter() == "ctx"
    lifespan.leave(30)


def test_an_async_one_that_does_not_end_is_told_and_left_behind(loop: Loop, caplog: pytest.LogCaptureFixture) -> None:
    """A stop has an end, whatever the lifespan waits for."""

    @asynccontextmanager
    async def deps() -> AsyncIterator[None]:
        yield
        await asyncio.Event().wait()

    lifespan = Lifespan(deps, loop)
    lifespan.enter()
    with caplog.at_level(logging.ERROR, "soloist"):
        lifespan.leave(0.05)

    (record,) = caplog.records
    assert re.fullmatch(
        r"lifespan.stuck lifespan='.*deps \(test_lifespan.py, line \d+\)'; it was not left within 0.05 s and is cancelled",
        record.message,
    )
