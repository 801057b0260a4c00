"""What becomes of messages, on a real server: tried again, committed, handed on, failed; for every flavour of handler."""

import time

import msgspec
import pytest

from soloist import Message, Msg, Reject, Retry
from tests.runtime.lane_stage import FLAVOURS, Stage, app_with, handles, numbered


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
