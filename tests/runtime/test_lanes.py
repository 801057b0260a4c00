"""Handlers of all kinds in one instance, on a real server: side by side, in order or not, one by one or in batches."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

from soloist import App, Message, Msg, Page, Reject
from tests.runtime.lane_stage import Gate, Stage, app_with, numbered
from tests.waiting import wait_until


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
    before = instance.handler._claims._desk.known[0]

    wait_until(lambda: instance.heart.silent_for < 0.1, what="it lives")
    assert stage.snapshot().claimed == 2
    assert instance.handler._claims._desk.known[0] - before <= 2, "it makes no calls in vain"
    gate.open()
    stage.wait_until_done(300)


def test_who_stops_waits_for_what_is_on_its_way_to_be_recorded(stage: Stage) -> None:
    """Handled, and not among the outcomes yet: to leave then would give it back, and have it handled twice."""
    app, gate, begin = app_with(Msg("job", "x")), Gate(), Gate()
    app.handler("job", concurrency=2)(lambda _: begin.wait())
    instance = stage.start(app)
    (lane,) = instance.handler.lanes
    decide = lane._fates.completed

    def slowly(message: Message) -> Any:
        gate.wait()
        return decide(message)

    lane._fates.completed = slowly  # type: ignore[method-assign]
    wait_until(lambda: begin.waiting, what="it is in hand")
    begin.open()
    wait_until(lambda: gate.waiting, what="it is handled, and not recorded")
    stopping = threading.Thread(target=instance.stop)
    stopping.start()
    wait_until(lambda: not lane.is_wanted, what="it is to take no more")
    stopping.join(0.3)  # it would leave now, if it did not wait
    gate.open()
    stopping.join(30)

    seen = stage.snapshot()
    assert (seen.completed, seen.pending) == (1, 0)
    stage.instances.clear()
