"""Handlers of all kinds in one instance, on a real server: side by side, in order or not, one by one or in batches."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import msgspec
import pytest

from soloist import App, Message, Msg, Page, Reject, Retry
from soloist.error_store import ErrorStore
from soloist.events import Events
from soloist.inspector import Inspector, Snapshot
from soloist.runtime.instance import Instance
from soloist.settings import Settings
from soloist.store.server import Server
from tests.servers import PrivateServer
from tests.waiting import wait_until


class Stage:
    """Starts instances of Apps in this process, and looks at what became of their messages."""

    def __init__(self, url: str, namespace: str) -> None:
        self._url = url
        self._namespace = namespace
        self.instances: list[Instance] = []

    def start(self, app: App, **settings: Any) -> Instance:
        instance = Instance(app, Server(self._url), self._namespace, Settings(**settings), Events(lambda _: None))
        instance.start()
        self.instances.append(instance)
        return instance

    def snapshot(self) -> Snapshot:
        seen = Inspector(Server(self._url), self._namespace).snapshot()
        assert seen.adds_up
        return seen

    def wait_until_done(self, messages: int) -> Snapshot:
        def is_done() -> bool:
            seen = self.snapshot()
            return seen.completed + seen.failed == messages and seen.claimed == 0

        wait_until(is_done, what=f"{messages} messages are handled")
        return self.snapshot()

    def errors(self) -> list[tuple[str, str]]:
        """Body and reason of each error record."""
        records = ErrorStore(Server(self._url), self._namespace).oldest()
        return [(record.data.decode(), record.details.reason) for record in records]


@pytest.fixture
def stage(server: PrivateServer, namespace: str) -> Iterator[Stage]:
    made = Stage(server.url, namespace)
    yield made
    for instance in made.instances:
        instance.stop()


def app_with(*messages: Msg) -> App:
    """An App whose source publishes these, once."""
    app = App("lanes")

    @app.source(every=0.01)
    def once(source: Any) -> Page[int] | None:
        return None if source.cursor else Page(messages, cursor=1)

    return app


def numbered(kind: str, many: int) -> list[Msg]:
    return [Msg(kind, str(number)) for number in range(many)]


class Gate:
    """Handlers wait here until the test lets them go; it knows how many do."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self.waiting = 0

    def wait(self) -> None:
        self.waiting += 1
        self._open.wait(30)

    async def await_it(self) -> None:
        self.waiting += 1
        await asyncio.to_thread(self._open.wait, 30)

    def open(self) -> None:
        self._open.set()


def test_a_slow_kind_does_not_hold_up_another(stage: Stage) -> None:
    """Each kind has a lane of its own."""
    app, gate, quick = app_with(*numbered("slow", 3), *numbered("quick", 50)), Gate(), list[str]()
    app.handler("slow")(lambda _: gate.wait())
    app.handler("quick")(lambda message: quick.append(message.body))
    stage.start(app)

    wait_until(lambda: len(quick) == 50 and gate.waiting, what="all quick ones are handled, a slow one is in hand")

    assert quick == [str(number) for number in range(50)]
    gate.open()
    assert stage.wait_until_done(53).completed == 53


@pytest.mark.parametrize("flavour", ["async", "threads"])
def test_as_many_are_handled_at_a_time_as_concurrency_says(stage: Stage, flavour: str) -> None:
    """Async functions as tasks, others in threads; the rest waits in Redis, where others may take it."""
    app, gate = app_with(*numbered("job", 12)), Gate()
    if flavour == "async":

        @app.handler("job", concurrency=5)
        async def job(message: Message) -> None:
            await gate.await_it()
    else:

        @app.handler("job", concurrency=5)
        def job_in_a_thread(message: Message) -> None:
            gate.wait()

    stage.start(app)

    wait_until(lambda: gate.waiting == 5, what="five are in hand")
    wait_until(lambda: stage.snapshot().claimed == 5, what="no more than those are held")
    assert stage.snapshot().pending == 7
    gate.open()
    assert stage.wait_until_done(12).completed == 12


@pytest.mark.parametrize("flavour", ["async", "threads"])
def test_what_is_done_is_recorded_although_one_before_it_takes_long(stage: Stage, flavour: str) -> None:
    """They are completed in whatever order they are done."""
    app, gate = app_with(*numbered("job", 30)), Gate()

    if flavour == "async":

        @app.handler("job", concurrency=3)
        async def job(message: Message) -> None:
            if message.body == "0":
                await gate.await_it()
    else:

        @app.handler("job", concurrency=3)
        def job_in_a_thread(message: Message) -> None:
            if message.body == "0":
                gate.wait()

    stage.start(app)

    wait_until(lambda: stage.snapshot().completed == 29, what="all others are completed")
    assert stage.snapshot().claimed == 1
    gate.open()
    stage.wait_until_done(30)


@pytest.mark.parametrize("flavour", ["inline", "async", "threads"])
def test_what_a_handler_raises_fails_its_message_alone(stage: Stage, flavour: str) -> None:
    """However it is called; with the reason."""
    app = app_with(*numbered("job", 10))

    def judge(message: Message) -> None:
        if message.body == "3":
            raise Reject("three is bad")
        if message.body == "7":
            raise RuntimeError("seven broke it")

    if flavour == "async":

        @app.handler("job", concurrency=4)
        async def job(message: Message) -> None:
            judge(message)
    else:
        app.handler("job", concurrency=1 if flavour == "inline" else 4)(judge)

    stage.start(app)

    stage.wait_until_done(10)
    assert sorted(stage.errors()) == [("3", "three is bad"), ("7", "seven broke it")]


def test_an_async_handler_that_takes_too_long_is_cancelled(stage: Stage) -> None:
    """Its message failed; the instance goes on."""
    app, cancelled = app_with(*numbered("job", 3)), list[str]()

    @app.handler("job", concurrency=3, timeout=0.05)
    async def job(message: Message) -> None:
        if message.body == "1":
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                cancelled.append(message.body)
                raise

    instance = stage.start(app)

    assert stage.wait_until_done(3).completed == 2
    assert cancelled == ["1"]
    assert [body for body, _ in stage.errors()] == ["1"]
    assert instance.stuck is None


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_sync_handler_that_does_not_return_fails_its_message_and_its_instance_leaves(
    stage: Stage, concurrency: int
) -> None:
    """A thread cannot be ended; so the instance is, and what it held beside that is handled elsewhere."""
    app, gate = app_with(*numbered("job", 5)), Gate()

    @app.handler("job", concurrency=concurrency, timeout=0.2)
    def job(message: Message) -> None:
        if message.body == "1":
            gate.wait()

    first = stage.start(app)
    wait_until(lambda: first.stuck is not None, what="it is found")
    assert first.wait(30), "it wants to stop"
    first.stop()
    gate.open()  # whatever it does now is nobody's business any more
    stage.start(app)

    assert stage.wait_until_done(5).completed == 4
    assert stage.errors() == [("1", "the handler did not return within 0.2 s")]
    assert "job (test_lanes.py, line" in str(first.stuck)


def test_a_batch_is_handed_over_whole(stage: Stage) -> None:
    """Up to as many as it says."""
    app, batches = app_with(*numbered("row", 25)), list[list[str]]()

    @app.handler("row", batch=10, linger=0.05)
    def rows(messages: list[Message]) -> None:
        batches.append([message.body for message in messages])

    stage.start(app)

    stage.wait_until_done(25)
    assert [body for batch in batches for body in batch] == [str(number) for number in range(25)]
    assert [len(batch) for batch in batches] == [10, 10, 5]


def test_a_batch_waits_for_more_as_long_as_it_lingers(stage: Stage) -> None:
    """What comes within that time comes along."""
    app, batches = App("lanes"), list[int]()

    @app.source(every=0.02)
    def ticking(source: Any) -> Page[int] | None:
        number = (source.cursor or 0) + 1
        return Page([Msg("row", str(number))], cursor=number) if number <= 6 else None

    @app.handler("row", batch=6, linger=3600)
    def rows(messages: list[Message]) -> None:
        batches.append(len(messages))

    stage.start(app)

    stage.wait_until_done(6)
    assert batches == [6]


def test_one_of_a_batch_may_be_rejected_alone(stage: Stage) -> None:
    """The others are completed."""
    app = app_with(*numbered("row", 5))

    @app.handler("row", batch=5, linger=0.05)
    async def rows(messages: list[Message]) -> None:
        messages[2].reject("no such column")

    stage.start(app)

    assert stage.wait_until_done(5).completed == 4
    assert stage.errors() == [("2", "no such column")]


def test_a_batch_that_raises_fails_whole(stage: Stage) -> None:
    """But for those that were rejected singly: they keep their reason."""
    app = app_with(*numbered("row", 3))

    @app.handler("row", batch=3, linger=0.05)
    def rows(messages: list[Message]) -> None:
        messages[0].reject("for itself")
        raise RuntimeError("the database is away")

    stage.start(app)

    assert stage.wait_until_done(3).failed == 3
    assert sorted(stage.errors()) == [
        ("0", "for itself"),
        ("1", "the database is away"),
        ("2", "the database is away"),
    ]


@pytest.mark.parametrize("flavour", ["async", "threads"])
def test_who_stops_finishes_what_is_in_hand_and_gives_back_the_rest(stage: Stage, flavour: str) -> None:
    """Nothing is handled twice for it."""
    app, gate, begun = app_with(*numbered("job", 20)), Gate(), list[str]()

    async def job(message: Message) -> None:
        begun.append(message.body)
        await gate.await_it()

    def job_in_a_thread(message: Message) -> None:
        begun.append(message.body)
        gate.wait()

    function: Callable[[Message], Any] = job if flavour == "async" else job_in_a_thread
    app.handler("job", concurrency=4)(function)
    instance = stage.start(app)
    wait_until(lambda: len(begun) == 4, what="four are in hand")

    stopping = threading.Thread(target=instance.stop)
    stopping.start()
    wait_until(lambda: not instance.handler.lanes[0].is_wanted, what="it is to take no more")
    gate.open()
    stopping.join(30)

    seen = stage.snapshot()
    assert (seen.completed, seen.claimed, seen.pending) == (4, 0, 16)
    assert sorted(begun, key=int) == ["0", "1", "2", "3"]
    stage.instances.clear()


def test_handlers_are_given_the_context_and_leave_out_what_they_do_not_want(stage: Stage) -> None:
    """Sync and async, one by one and in batches."""
    app, seen = app_with(Msg("a", "x"), Msg("b", "y"), Msg("c", "z"), Msg("d", "")), list[Any]()
    app.lifespan = lambda: nullcontext("deps")

    @app.handler("a")
    def plain(message: Message, ctx: Any) -> None:
        seen.append(("a", message.body, ctx))

    @app.handler("b")
    async def task(ctx: Any, message: Message) -> None:
        seen.append(("b", message.body, ctx))

    @app.handler("c", batch=2)
    def many(messages: list[Message], *, ctx: Any) -> None:
        seen.append(("c", len(messages), ctx))

    @app.handler("d")
    def nothing() -> None:
        seen.append(("d",))

    stage.start(app)

    stage.wait_until_done(4)
    assert sorted(seen) == [("a", "x", "deps"), ("b", "y", "deps"), ("c", 1, "deps"), ("d",)]


FLAVOURS = ["inline", "async", "threads", "batch"]


def handles(app: App, flavour: str, judge: Callable[[Message], None], **options: Any) -> None:
    """Declare a handler of this flavour that does the same."""
    if flavour == "async":

        async def task(message: Message) -> None:
            judge(message)

        app.handler("job", concurrency=4, **options)(task)
    elif flavour == "batch":

        def one_by_one(messages: list[Message]) -> None:
            for message in messages:
                judge(message)

        app.handler("job", batch=1, **options)(one_by_one)
    else:
        app.handler("job", concurrency=1 if flavour == "inline" else 4, **options)(judge)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_message_is_tried_again_as_often_as_its_handler_says(stage: Stage, flavour: str) -> None:
    """Three attempts, one completion; and what never works fails with the number of its attempts."""
    app, attempts = app_with(Msg("job", "heals"), Msg("job", "never")), list[tuple[str, int]]()

    def judge(message: Message) -> None:
        attempts.append((message.body, message.attempt))
        if message.body == "never" or message.attempt < 3:
            raise RuntimeError("not yet")

    handles(app, flavour, judge, retries=2, backoff=0.01)
    stage.start(app)

    seen = stage.wait_until_done(2)
    assert (seen.completed, seen.failed) == (1, 1)
    assert sorted(attempts) == [(body, attempt) for body in ("heals", "never") for attempt in (1, 2, 3)]
    assert stage.errors() == [("never", "not yet")]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_handler_may_say_when_to_try_again(stage: Stage, flavour: str) -> None:
    """Not before, by the server's clock; a message that is rejected is not tried again."""
    app, at = app_with(Msg("job", "later"), Msg("job", "bad")), dict[tuple[str, int], float]()

    def judge(message: Message) -> None:
        at[message.body, message.attempt] = time.monotonic()
        if message.body == "bad":
            raise Reject("bad")
        if message.attempt == 1:
            raise Retry("busy", after=0.3)

    handles(app, flavour, judge, retries=5, backoff=3600)
    stage.start(app)

    seen = stage.wait_until_done(2)
    assert (seen.completed, stage.errors()) == (1, [("bad", "bad")])
    assert sorted(at) == [("bad", 1), ("later", 1), ("later", 2)]
    assert at["later", 2] - at["later", 1] >= 0.29, "a clock of ours against the server's, so a little less may be"


def test_retry_without_retries_says_what_to_write(stage: Stage) -> None:
    """It would go round for ever."""
    app = app_with(Msg("job", "x"))

    def judge(message: Message) -> None:
        raise Retry("busy", after=1)

    handles(app, "inline", judge)
    stage.start(app)

    stage.wait_until_done(1)
    ((_, reason),) = stage.errors()
    assert "the handler has no retries; declare it with retries=" in reason


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_what_is_committed_is_written_with_the_message(stage: Stage, flavour: str) -> None:
    """If and only if it completes: what one that is tried again or fails asked for is not."""
    app, keys = app_with(*numbered("job", 20)), list[str]()

    def judge(message: Message) -> None:
        keys.append(message.key_for("sum"))
        message.commit.incrby(message.key_for("sum"), int(message.body))
        if message.body == "3" and message.attempt == 1:
            raise RuntimeError("once more")
        if message.body == "5":
            raise Reject("not five")

    handles(app, flavour, judge, retries=1, backoff=0.01)
    instance = stage.start(app)

    stage.wait_until_done(20)
    assert int(instance.handler._claims._turns._link.command("GET", keys[0])) == sum(range(20)) - 5


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_step_hands_on_to_the_next(stage: Stage, flavour: str) -> None:
    """Published if and only if the message completes; also later."""
    app, seen = app_with(*numbered("job", 6)), list[str]()

    def judge(message: Message) -> None:
        message.publish("second", f"from {message.body}", delay=0.05 if message.body == "1" else 0.0)
        if message.body == "2":
            raise Reject("not two")

    handles(app, flavour, judge)

    @app.handler("second")
    def second(message: Message) -> None:
        seen.append(message.body)

    stage.start(app)

    stage.wait_until_done(11)
    assert sorted(seen) == [f"from {number}" for number in (0, 1, 3, 4, 5)]
    assert len(stage.errors()) == 1


def test_a_commit_that_cannot_be_fails_its_message_alone(stage: Stage) -> None:
    """A key of another type, for example; its neighbours in the batch are completed."""
    app = app_with(*numbered("job", 4))

    def judge(message: Message) -> None:
        name = message.key_for("text" if message.body == "2" else "number")
        if message.body == "2":
            message.commit.set(name, "no number")
        message.commit.incrby(name)

    handles(app, "inline", judge)
    stage.start(app)

    assert stage.wait_until_done(4).completed == 3
    assert [body for body, _ in stage.errors()] == ["2"]


class Order(msgspec.Struct):
    id: int


def test_a_body_that_does_not_fit_its_type_fails_with_the_name_of_the_field(stage: Stage) -> None:
    """Told by the one who checks."""
    app = app_with(Msg("job", {"id": 1}), Msg("job", {"id": "one"}))
    orders: list[Order] = []
    handles(app, "inline", lambda message: orders.append(message.json(Order)))
    stage.start(app)

    assert stage.wait_until_done(2).completed == 1
    ((_, reason),) = stage.errors()
    assert "$.id" in reason
    assert orders[0].id == 1


def test_an_attempt_of_an_incarnation_that_is_over_does_not_answer_for_the_next(stage: Stage) -> None:
    """The same instance may claim the same message anew while its old attempt still runs; that one's result is nobody's."""
    app, gate, begun = app_with(Msg("job", "x")), Gate(), list[int]()

    @app.handler("job", concurrency=3)
    def job(message: Message) -> None:
        begun.append(message.attempt)
        if len(begun) == 1:
            gate.wait()
            raise Reject("too late")
        wait_until(lambda: first_is_over, what="the old attempt is over")

    first_is_over = False
    instance = stage.start(app)
    wait_until(lambda: len(begun) == 1, what="it is in hand")

    instance.be_reborn(instance.incarnation, "next")
    wait_until(lambda: len(begun) == 2, what="it is claimed anew")
    gate.open()
    wait_until(lambda: len(instance.handler.lanes[0]._homes) == 1, what="the old attempt has ended")  # type: ignore[attr-defined]
    first_is_over = True

    seen = stage.wait_until_done(1)
    assert (seen.completed, seen.failed) == (1, 0)


def test_what_waits_behind_a_slow_message_is_given_back_however_often_other_kinds_call(stage: Stage) -> None:
    """Others may take it meanwhile."""
    app, gate, quick = App("lanes"), Gate(), list[str]()

    @app.source(every=0.002)
    def both(source: Any) -> Page[int]:
        number = (source.cursor or 0) + 1
        slow = [Msg("slow", str(each)) for each in range(20)] if number == 1 else []
        return Page([*slow, Msg("quick", str(number))], cursor=number)

    app.handler("slow")(lambda _: gate.wait())
    app.handler("quick")(lambda message: quick.append(message.body))
    stage.start(app, batch=10)

    wait_until(lambda: gate.waiting == 1 and len(quick) > 50, what="one kind is held up, the other is not")
    wait_until(lambda: stage.snapshot().kinds["slow"].pending == 19, what="the others of its kind wait for anybody")
    gate.open()


def test_a_slow_crew_claims_no_more_than_it_can_begin(stage: Stage) -> None:
    """What it had to give back once is not claimed again and again."""
    app, gate = app_with(*numbered("job", 300)), Gate()

    @app.handler("job", concurrency=2)
    async def job(message: Message) -> None:
        if int(message.body) >= 200:
            await gate.await_it()

    instance = stage.start(app)
    wait_until(lambda: gate.waiting == 2 and stage.snapshot().claimed == 2, what="both are held up")
    before = instance.handler._claims._desk._turn

    wait_until(lambda: instance.heart.silent_for < 0.1, what="it lives")
    assert stage.snapshot().claimed == 2
    assert instance.handler._claims._desk._turn - before <= 2, "it makes no calls in vain"
    gate.open()
    stage.wait_until_done(300)
