"""The App of a run of chaos: its own, or the user's with a ledger around its handlers. Runs in every instance."""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from soloist.app import App
from soloist.around import declare_around
from soloist.chaos.ledger import Ledger
from soloist.chaos.task import COMPLETED, PLAIN, Order, given, order_for
from soloist.cli.own_app import own_app
from soloist.demo import ERROR_RATE
from soloist.errors import Reject
from soloist.fitting import Flavour
from soloist.message import Message
from soloist.source import Msg, Page, Source

TICK = 0.02
"""Seconds between pages: a takeover is seen no more than this late."""

task = given()
folder = Path(task.folder)
ledger = Ledger(folder)
orders: list[Order] = []


def obey(_signal: int, _frame: FrameType | None) -> None:
    """Do what the nemesis has written down for this process."""
    order = order_for(folder, os.getpid())
    if order.what == "lock":
        hold_interpreter_lock(order.seconds)
    else:
        orders.append(order)


def hold_interpreter_lock(seconds: float) -> None:
    """For about so long: one call into C, during which no other thread runs."""
    begun = time.perf_counter()
    sum(range(1_000_000))
    took = time.perf_counter() - begun
    sum(range(int(1_000_000 * seconds / took)))


def suffer() -> None:
    """What was ordered for the next message."""
    order = orders.pop()
    if order.what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(order.seconds)


def own() -> App:
    """The App that chaos has: numbered messages, evenly over the time of the plan."""
    app = App("chaos")

    @app.source(every=TICK)
    def numbers(source: Source[None, int]) -> Iterator[Page[int]]:
        done = source.cursor or 0
        last = min(task.due(), done + source.room)
        if last > done:
            bodies = [Msg("default", f"{number} {source.term}") for number in range(done + 1, last + 1)]
            yield Page(bodies, cursor=last, more=True)  # so that what follows runs at once, and not at the next tick
            ledger.accepted(source.term, done + 1, last - done)

    @app.handler
    def handle(message: Message) -> None:
        ledger.begun(message.id)
        if orders:
            suffer()
        if int(message.body.partition(" ")[0]) % PLAIN:
            message.commit.rpush(message.key_for(COMPLETED), message.id)
        if random.random() < ERROR_RATE:
            raise Reject("found erroneous")

    return app


def watched(app: App) -> App:
    """The user's, with a ledger around its handlers."""

    def noted(message: Message | list[Message]) -> None:
        for each in message if isinstance(message, list) else [message]:
            ledger.begun(each.id)
            each.commit.rpush(each.key_for(COMPLETED), each.id)
        if orders:
            suffer()

    def plain(call: Callable[[Any], Any], message: Any) -> Any:
        noted(message)
        return call(message)

    async def in_the_loop(call: Callable[[Any], Any], message: Any) -> Any:
        noted(message)
        return await call(message)

    flavours = {declared.fit.flavour is Flavour.ASYNC for declared in app.handlers.values()}
    app.arounds[:0] = [declare_around(in_the_loop if is_async else plain) for is_async in flavours]
    return app


signal.signal(signal.SIGUSR1, obey)
app = watched(own_app(task.target, {})) if task.target else own()
