"""The App of all histories: a source with a cursor, one with a rhythm, a schedule, and handlers that write down what they
complete.
"""

from collections.abc import Sequence
from typing import Protocol

from soloist import App, Message, Msg, Page, Reject, Retry, Source
from tests.simulation.plan import Plan
from tests.simulation.verdict import behaviour, value_of

RHYTHM = 0.3
JOBS = 0.7
"""Seconds between the ticks of the schedule, each of which is made up for."""

SLOW, VERY_SLOW = 0.02, 0.6
AFTER = 0.2
"""Seconds after which what is retried comes again."""


class World(Protocol):
    """What the user's code of a history sees of the world outside."""

    plan: Plan

    @property
    def is_ending(self) -> bool:
        """Whether the source with the rhythm has no more to say."""

    def sleep(self, seconds: float) -> None: ...
    def die(self) -> None: ...
    def began(self, message: Message) -> None: ...
    def new_tick(self) -> str: ...


def make(world: World) -> App:
    """The App of a history."""
    plan = world.plan
    app = App("simulated", stop_timeout=5)

    @app.source(every=plan.every)
    def pages(source: Source[None, int]) -> Page[int] | None:
        first = source.cursor or 0
        last = min(first + plan.page, plan.messages)
        if first == last:
            return None
        return Page([f"page {number}" for number in range(first, last)], cursor=last)

    @app.source(every=RHYTHM)
    def ticks() -> Msg | None:
        return None if world.is_ending else Msg("ticks", world.new_tick())

    def handle(message: Message) -> None:
        world.began(message)
        _behave(world, message)

    def handle_batch(messages: Sequence[Message]) -> None:
        for message in messages:
            try:
                handle(message)
            except Reject as rejected:
                message.reject(str(rejected))

    if plan.lane == "batch":
        app.handler("default", batch=4, linger=0.05)(handle_batch)
    else:
        app.handler("default", retries=1, backoff=AFTER, concurrency=3 if plan.lane == "pool" else 1)(handle)
    app.handler("ticks", retries=1, backoff=AFTER)(handle)
    app.handler("more")(handle)
    app.schedule(every=JOBS, missed="all", name="jobs")(handle)
    return app


def _behave(world: World, message: Message) -> None:
    does = behaviour(world.plan, message.body)
    if does in ("slow", "very slow"):
        world.sleep(SLOW if does == "slow" else VERY_SLOW)
    if does == "poison":
        world.die()
    if does == "rejects":
        raise Reject("as planned")
    if does == "raises":
        raise ValueError("as planned")
    if does == "retries" and message.attempt == 1:
        raise Retry(after=AFTER)
    _complete(message, hands_on=does == "hands on")


def _complete(message: Message, *, hands_on: bool) -> None:
    message.commit.incrby(message.key_for("sum"), value_of(message.body))
    message.commit.rpush(message.key_for("done"), message.id)
    if hands_on:
        message.publish("more", f"more of {message.id}")
