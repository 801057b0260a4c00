"""prove_handler of async functions: they run in the event loop, and may be killed while they wait."""

import asyncio
import linecache
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from soloist import App, Message
from soloist.prove import prove_handler
from soloist.prove.crash_points import When
from tests.prove.shop import Shop

LATER = 0.3
"""Seconds after which something happens that nobody waits for: long after a process that is to be killed at once."""


def test_the_double_in_an_async_handler_is_found(shop: Shop) -> None:
    """Also while it waits for the answer to what it did."""
    app = App("shop")

    @app.handler
    async def pay() -> None:
        shop.charge(1)
        await asyncio.sleep(0.001)

    verdict = prove_handler(app, "default", "", world=shop.world, reset=shop.reset)

    found = [each for each in verdict.findings if each.point.place.when is When.WAITS]
    assert [each.differences for each in found] == [("charges 2, want 1",)]
    assert (
        linecache.getline(found[0].point.place.file, found[0].point.place.line).strip() == "await asyncio.sleep(0.001)"
    )
    assert verdict.findings[-1].point.place.when is When.AFTER


def test_functions_that_wait_for_each_other_wait_at_one_crash_point(shop: Shop) -> None:
    """Not one for each of them: nothing happens in between."""
    app = App("shop")

    async def inner() -> None:
        await asyncio.sleep(0)

    async def middle() -> None:
        await inner()

    @app.handler
    async def outer() -> None:
        shop.charge(1)
        await middle()

    verdict = prove_handler(app, "default", "", world=shop.world, reset=shop.reset)

    assert [each.point.place.when for each in verdict.findings].count(When.WAITS) == 1


def test_nothing_is_found_in_a_right_async_handler(shop: Shop) -> None:
    """With an async lifespan, which every attempt has for itself."""

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[asyncio.Semaphore]:
        yield asyncio.Semaphore(1)

    app = App("shop", lifespan=lifespan)

    @app.handler
    async def pay(message: Message, ctx: asyncio.Semaphore) -> None:
        async with ctx:
            await asyncio.to_thread(shop.charge, 1, message.key)

    verdict = prove_handler(app, "default", "", world=shop.world, reset=shop.reset)

    assert verdict.is_safe
    assert verdict.tried > 10
    assert [cents for _, cents in shop.charged()] == [1]


def test_a_task_that_nobody_waits_for_is_found(shop: Shop) -> None:
    """It is done after the completion, or never."""
    app = App("shop")
    begun = set()

    async def pay_later() -> None:
        await asyncio.sleep(LATER)
        shop.charge(1)

    @app.handler
    async def pay() -> None:
        begun.add(asyncio.create_task(pay_later()))

    findings = prove_handler(app, "default", "", world=shop.world, reset=shop.reset).findings

    assert [each.point.place.when for each in findings] == [When.END]
    assert findings[0].differences == ("charges 0, want 1",)


def test_a_handler_that_is_cancelled_at_its_timeout_has_that_fate(shop: Shop) -> None:
    """As in an instance."""
    app = App("shop")

    @app.handler(timeout=0.05)
    async def hang() -> None:
        await asyncio.sleep(3600)

    verdict = prove_handler(app, "default", "", world=shop.world, reset=shop.reset)

    assert verdict.is_safe
    assert verdict.fate.startswith("failed: TimeoutError")
