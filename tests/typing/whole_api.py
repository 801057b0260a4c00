"""An App as a user writes it, with everything that is public: `mypy --strict` must have nothing to say.

Not run: what it does is shown elsewhere. Where a line is wrong on purpose, the type checker must say so: an ignore that
is not needed is an error as well.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import assert_type

from soloist import App, Commit, Message, Msg, NotPublished, Page, Reject, Retry, SoloistError, Source, __version__


@dataclass
class Deps:
    """What a lifespan yields."""

    rows: list[str]


@dataclass
class Order:
    """What a message is about."""

    id: int
    total: float


@contextmanager
def lifespan() -> Iterator[Deps]:
    yield Deps(["a", "b"])


@asynccontextmanager
async def async_lifespan() -> AsyncIterator[Deps]:
    yield Deps(["a", "b"])


short = App("short")
app = App("orders", lifespan=lifespan, generator_handles=False)
other = App("other", lifespan=async_lifespan)
assert_type(app.name, str)
assert_type(__version__, str)


# the short form


@short.generator(every=0.5)
def produce() -> str:
    return "text"


@short.handler
def handle(message: Message) -> None:
    if message.attempt > 3:
        raise Reject("why")


# decorators return the function unchanged
assert_type(produce(), str)


# sources of all flavours


@app.source(every=0.2, timeout=10)
def outbox(source: Source[Deps, int]) -> Page[int]:
    assert_type(source.cursor, int | None)
    assert_type(source.ctx, Deps)
    assert_type(source.room, int)
    assert_type(source.term, int)
    first = source.cursor or 0
    rows = source.ctx.rows[first : first + source.room]
    return Page(
        [Msg("order.created", row, key=row) for row in rows],
        cursor=first + len(rows),
        more=len(rows) == source.room,
        wait=30 if not rows else 0,
    )


@app.source(every=1, timeout=None, name="api.orders")
async def poll(source: Source[Deps, datetime], ctx: Deps) -> Page[datetime] | None:
    return Page(["plain", b"bytes", {"json": True}]) if ctx.rows else None


@app.source(every=0)
def steps(source: Source[Deps, str]) -> Iterator[Page[str]]:
    for row in source.ctx.rows:
        yield Page([row], cursor=row)


@app.source(every=60)
async def async_steps(source: Source[None, int]) -> AsyncIterator[Msg | str | None]:
    yield Msg("mail", {"to": "ann"}, key="welcome:ann")
    yield "of the default kind"
    yield None


# handlers of all forms


@app.handler("order.created", concurrency=8, timeout=30)
async def created(message: Message, ctx: Deps) -> None:
    assert_type(message.id, str)
    assert_type(message.key, str)
    assert_type(message.kind, str)
    assert_type(message.body, str)
    assert_type(message.data, bytes)
    assert_type(message.attempt, int)
    assert_type(message.published_at, float)
    order: Order = message.json(Order)
    ctx.rows.append(str(order.total))


@app.handler("row", batch=1000, linger=0.2)
def rows(messages: list[Message], ctx: Deps) -> None:
    for message in messages:
        if not message.body:
            message.reject("empty")


@app.handler("mail", timeout=5)
def mail() -> None: ...


@app.handler("payment", retries=5, backoff=2)
def payment(message: Message) -> None:
    assert_type(message.commit, Commit)
    message.commit.hincrby(message.key_for("sums"), "paid", 1)
    message.commit.incrby(message.key_for("payments"))
    message.publish("mail", {"to": "ann"}, key="receipt:1", delay=60)
    if message.attempt < 2:
        raise Retry("the bank is closed", after=3600)


@app.around
def traced(call: Callable[[Message], object], message: Message) -> object:
    return call(message)


@app.around
async def traced_too(call: Callable[[Message], Awaitable[object]], message: Message) -> object:
    return await call(message)


@app.handler()
def default(message: Message) -> None: ...


# a test of one's own calls them as they are
page = outbox(Source(ctx=Deps(["a"]), cursor=0, room=10))
assert_type(page, Page[int])
assert_type(page.cursor, int | None)


def fails() -> None:
    try:
        app.check()
    except SoloistError as error:
        assert_type(error.exit_code, int)
    try:
        assert_type(app.publish("mail", "x"), str)
    except NotPublished as error:
        assert_type(error.published, list[str])
        assert_type(error.is_undecided, bool)


def in_a_program_of_ones_own() -> int:
    other = App("other", url="redis://127.0.0.1", lease=1.0, batch=16, retries=3)
    other.start(namespace="other")
    other.stop()
    payment(Message.fake("payment", {"id": 1}))
    return assert_type(other.run(), int)


def what_failed() -> None:
    for record in app.errors.filter(kind="mail", reason="timeout", since="15m", until=datetime.now().astimezone()):
        assert_type(record.details.reason, str)
        assert_type(app.errors.requeue(record, record.id), int)
    with app.errors.drain(5) as records:
        assert_type([record.data for record in records], list[bytes])
    assert_type(app.errors.at("redis://127.0.0.1", namespace="other").count(), int)


# what is wrong, and is seen before it runs


def wrong() -> None:
    app.source(outbox)  # type: ignore[arg-type, call-arg]
    app.generator(every="often")  # type: ignore[arg-type]
    app.source()  # type: ignore[call-arg]
    app.handler("kind", concurrency="many")  # type: ignore[call-overload]
    App("orders", lifespan="lifespan")  # type: ignore[arg-type]
    App("orders", leese=1)  # type: ignore[call-arg]
    App("orders").run(lease="long")  # type: ignore[arg-type]
    Retry(after="soon")  # type: ignore[arg-type]
    Message.fake().commit.incrby("key", "one")  # type: ignore[arg-type]
    Msg(7, "body")  # type: ignore[arg-type]
    Page([], cursor=1, more="yes")  # type: ignore[arg-type]
    Source(room="much")  # type: ignore[arg-type]
    app.errors.filter(since=[])  # type: ignore[arg-type]
    app.errors.delete(7)  # type: ignore[arg-type]
