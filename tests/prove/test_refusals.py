"""What cannot be proved is refused with a sentence, and nothing is claimed of it."""

import os
import random
import time
from collections.abc import Callable
from typing import Any

import pytest

from soloist import App, Message, Msg, Page, Source
from soloist.errors import UsageError
from soloist.prove import prove_handler, prove_source
from soloist.prove.pytest import Prove
from soloist.prove.world import apart
from tests.prove.shop import Shop


@pytest.fixture
def app(shop: Shop) -> App:
    made = App("shop")

    @made.handler("pay")
    def pay(message: Message) -> None:
        shop.charge(1)

    @made.handler("batch", batch=2)
    def batch(messages: list[Message]) -> None:
        shop.charge(len(messages))

    @made.handler("exit")
    def leave() -> None:
        os._exit(3)

    @made.handler("random")
    def at_random() -> None:
        shop.charge(random.randrange(10**9))

    @made.source(every=1)
    def outbox(source: Source[None, int]) -> Page[int]:
        return Page([Msg("row", "a")], cursor=(source.cursor or 0) + 1)

    @made.source(every=1)
    def broken() -> None:
        raise OSError("nobody there")

    return made


@pytest.mark.parametrize(
    ("act", "says"),
    [
        (lambda app, _: prove_handler(app, "pya", ""), "has no handler for the kind 'pya'. Did you mean pay?"),
        (lambda app, _: prove_handler(app, "pay"), "the handler pay .* needs a message"),
        (lambda app, _: prove_handler(app, "pay", "a", "b"), "takes one message at a time, and was given 2"),
        (lambda app, _: prove_handler(app, "batch", *"abc"), "takes batches of at most 2 messages, and was given 3"),
        (lambda app, _: prove_handler(app, "batch", *"ab", key="k"), "a key belongs to one message"),
        (lambda app, _: prove_handler(app, "pay", object()), "object can be no body of a message"),
        (lambda app, shop: prove_handler(app, "pay", "", world=shop.world), "a world needs a reset"),
        (
            lambda app, _: prove_handler(app, "exit", ""),
            "not come to its end .*: ended its process with exit code 3",
        ),
        (
            lambda app, shop: prove_handler(app, "pay", "", world=shop.world, reset=lambda: None),
            "two runs without any crash differ: charges 2, want 1. Let the reset set back everything",
        ),
        (
            lambda app, shop: prove_handler(app, "random", "", world=shop.world, reset=shop.reset),
            r"two runs without any crash differ: charges\[0\]\[1\]",
        ),
        (
            lambda app, shop: prove_handler(app, "pay", "", world=lambda: 1 / 0, reset=shop.reset),
            "the world cannot be shown: ZeroDivisionError: division by zero",
        ),
        (
            lambda app, shop: prove_handler(app, "pay", "", world=shop.world, reset=lambda: 1 / 0),
            "the reset of the world failed: ZeroDivisionError: division by zero",
        ),
        (lambda app, _: prove_source(app, "outbux"), "has no source 'outbux'. Did you mean outbox?"),
        (lambda app, _: prove_source(app, "outbox", cursor="x"), 'the cursor "x" does not fit the annotation'),
        (lambda app, _: prove_source(app, "broken"), "not come to its end .*: raised OSError: nobody there"),
    ],
)
def test_what_cannot_be_proved_is_refused(app: App, shop: Shop, act: Callable[[App, Shop], Any], says: str) -> None:
    """In words that say what to do about it."""
    with pytest.raises(UsageError, match=says):
        act(app, shop)


def test_a_handler_that_takes_too_long_without_a_crash_is_told_its_remedy(app: App) -> None:
    """Nothing else can be found out about it."""

    @app.handler("slow", timeout=0.1)
    def slow() -> None:
        time.sleep(60)

    with pytest.raises(
        UsageError, match=r"did not return within 0\.1 s\. Declare it with timeout=… if it needs longer"
    ):
        prove_handler(app, "slow", "")


def test_an_async_world_is_refused(app: App, shop: Shop) -> None:
    """Nobody would await it."""

    async def world() -> int:
        return 1

    with pytest.raises(UsageError, match="it is async, and must be a plain function"):
        prove_handler(app, "pay", "", world=world, reset=shop.reset)


def test_a_world_that_changes_later_is_compared_as_it_was(app: App, shop: Shop) -> None:
    """The same list each time: compared with itself it would always be the same."""
    seen: list[Any] = []

    def world() -> list[Any]:
        seen[:] = shop.charged()
        return seen

    verdict = prove_handler(app, "pay", "", world=world, reset=shop.reset)

    assert {each.differences for each in verdict.findings} == {("the world 2, want 1",)}


def test_a_world_may_be_rows_sets_and_objects(app: App, shop: Shop) -> None:
    """Whatever JSON does not know is taken apart, or told as Python would."""

    def world() -> dict[str, Any]:
        return {"many": {len(shop.charged())}, "rows": (row for row in shop.charged()), "type": complex(1, 2)}

    verdict = prove_handler(app, "pay", "", world=world, reset=shop.reset)

    assert verdict.findings[0].differences == ("many[0] 2, want 1", "rows 2, want 1")


def test_a_function_apart_leaves_nothing_in_this_process() -> None:
    """As the command line calls them; what went wrong there is told in its words."""
    here: list[int] = []

    def remembers() -> list[int]:
        here.append(1)
        return here

    def fails() -> None:
        raise KeyError("orders")

    assert apart(remembers)() == [1]
    assert here == []
    with pytest.raises(Exception, match="KeyError: 'orders'"):
        apart(fails)()
    with pytest.raises(Exception, match="it ended its process with exit code 5"):
        apart(lambda: os._exit(5))()


def test_the_fixture_fails_a_test_with_every_finding(prove: Prove, app: App, shop: Shop) -> None:
    """And says nothing about what is safe."""
    with pytest.raises(AssertionError, match=r"charges 2, want 1\n(.|\n)*not safe to repeat: the handler pay"):
        prove(app, "pay", "", world=shop.world, reset=shop.reset)

    @app.handler("right")
    def right(message: Message) -> None:
        shop.charge(1, key=message.key)

    assert prove(app, "right", "", world=shop.world, reset=shop.reset).is_safe
    assert prove.source(app, "outbox").is_safe
    with pytest.raises(UsageError):
        prove.source(app, "none")
