"""Feeding messages, waiting until they are handled, and being told what went wrong."""

import asyncio
import threading
from contextlib import closing

import pytest

from soloist import App, Message, Msg, Reject, testing
from soloist.errors import UsageError
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.scan import keys_of
from soloist.store.server import Server
from soloist.testing import HandlerFailed, Kit, NotEmpty
from tests.servers import PrivateServer


class Shop:
    """An App with a few handlers, and what they have handled."""

    def __init__(self) -> None:
        self.app = App("shop")
        self.handled: list[str] = []
        self.gate = threading.Event()
        self.app.handler("order")(self.order)
        self.app.handler("slow")(self.slow)
        self.app.handler("mail", retries=2, backoff=30)(self.mail)
        self.app.handler("async")(self.asynchronous)
        self.app.handler("many", batch=10, linger=0.01)(self.many)

    def order(self, message: Message) -> None:
        if message.body == "reject":
            raise Reject("not this one")
        if message.body == "bad":
            raise ValueError("no such article")
        self.handled.append(message.body)
        message.commit.hincrby(message.key_for("sold"), "n", 1)
        if message.body == "billed":
            message.publish("mail", "bill")

    def slow(self, message: Message) -> None:
        self.gate.wait(60)
        self.handled.append(message.body)

    def mail(self, message: Message) -> None:
        self.handled.append(f"mail {message.attempt}")
        if message.body == "never":
            raise ConnectionError("nobody answers")

    async def asynchronous(self, message: Message) -> None:
        await asyncio.sleep(0)
        if message.body == "bad":
            raise KeyError("async")
        self.handled.append(message.body)

    def many(self, messages: list[Message]) -> None:
        self.handled += [message.body for message in messages]


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.mark.parametrize("instances", [1, 3])
def test_what_is_published_is_handled_when_the_system_is_empty(soloist: Kit, shop: Shop, instances: int) -> None:
    """By whichever way it was published, and what handlers publish too."""
    with soloist.run(shop.app, instances=instances) as system:
        system.publish("order", "1")
        shop.app.publish("order", "billed")
        shop.app.publish_many([Msg("async", "2"), Msg("many", "3")])

        system.wait_until_empty()

        assert sorted(shop.handled) == ["1", "2", "3", "billed", "mail 1"]
        assert system.errors == []
        assert [len(system.members), len(system.running)] == [instances, instances]


def test_what_is_asked_of_the_app_goes_there_meanwhile_and_not_afterwards(soloist: Kit, shop: Shop) -> None:
    """The App is not changed: it says again what it said before."""
    with pytest.raises(UsageError, match="needs a server"):
        shop.app.publish("order", "nowhere")
    with soloist.run(shop.app) as system:
        shop.app.publish("order", "1")
        system.wait_until_empty()
        shop.app.publish("order", "reject")
        system.wait_until_empty()
        assert shop.app.inspect().namespace == system.namespace
        assert [record.data for record in shop.app.errors] == [b"reject"]
        assert (system.inspect().completed, system.namespace.split("/")[1]) == (1, "shop")

    with pytest.raises(UsageError, match="needs a server"):
        shop.app.publish("order", "nowhere")
    with pytest.raises(UsageError, match="needs a server"):
        shop.app.inspect()


def test_a_test_has_a_namespace_of_its_own_in_which_it_goes_on(soloist: Kit, shop: Shop) -> None:
    """A system that has ended and one that is run after it, as after a deploy; another App has another namespace."""
    with soloist.run(shop.app, instances=0):
        shop.app.publish("order", "kept")
    other = App("other")
    other.handler("order")(lambda _: None)
    with soloist.run(other) as system:
        assert system.inspect().pending == 0
    with soloist.run(shop.app) as system:
        system.wait_until_empty()

    assert shop.handled == ["kept"]


def test_without_a_kit_every_run_begins_with_nothing(shop: Shop) -> None:
    """On a private server of this process; in a plain script, too."""
    with testing.run(shop.app, instances=0):
        shop.app.publish("order", "lost")
    with testing.run(shop.app) as system:
        assert system.inspect().published == 0


def test_nothing_of_a_test_is_left_on_the_server(server: PrivateServer, shop: Shop) -> None:
    """Neither its namespace nor what its handlers wrote."""
    with Kit(server.url) as kit, kit.run(shop.app) as system:
        system.publish("order", "1")
        system.wait_until_empty()
        assert system.data("sold") == {"n": "1"}
        keys = Keys(system.namespace)

    with closing(Link(Server(server.url), timeout=5)) as link:
        assert keys_of(link, keys) == []


def test_an_exception_of_a_handler_becomes_one_of_the_test(soloist: Kit, shop: Shop) -> None:
    """With the exception itself as its cause: its traceback leads into the handler."""
    with soloist.run(shop.app) as system:
        system.publish("order", "bad", key="order-7")
        with pytest.raises(HandlerFailed, match=r"order order-7 \(body b'bad'\): ValueError: no such article") as told:
            system.wait_until_empty()

        assert isinstance(told.value.__cause__, ValueError)
        assert told.traceback[-1].name != "order"
        cause = told.value.__cause__.__traceback__
        while cause is not None and cause.tb_next is not None:
            cause = cause.tb_next
        assert cause is not None
        assert cause.tb_frame.f_code.co_name == "order"
        system.wait_until_empty()  # it has been told
        assert [record.details.reason for record in system.errors] == ["no such article"]


def test_of_several_the_others_are_told_with_their_tracebacks(soloist: Kit, shop: Shop) -> None:
    """One of them is the cause; the text has the rest."""
    with soloist.run(shop.app) as system:
        system.publish("order", "bad")
        system.wait_until_empty(raise_errors=False)
        system.publish("order", "bad")
        system.publish("async", "bad")
        with pytest.raises(HandlerFailed, match="2 messages failed") as told:
            system.wait_until_empty()

        assert "Traceback (most recent call last)" in str(told.value)
        assert len(told.value.records) == 2


def test_a_rejection_is_an_answer_not_a_mistake(soloist: Kit, shop: Shop) -> None:
    """It stands among the errors, and is raised nowhere."""
    with soloist.run(shop.app) as system:
        system.publish("order", "reject")
        system.wait_until_empty()

        assert [(record.data, record.details.reason) for record in system.errors] == [(b"reject", "not this one")]


def test_a_failure_that_nobody_has_looked_at_is_raised_at_the_end(soloist: Kit, shop: Shop) -> None:
    """But not if the test says so, has looked, or has failed for another reason."""

    def one_that_fails(*, raises: type[Exception] | None = None, many: int, **how: bool) -> None:
        with soloist.run(shop.app, **how) as system:  # type: ignore[arg-type]  # no setting is a bool
            system.publish("order", "bad")
            system.wait_until(lambda: system.inspect().failed == many)
            if raises is not None:
                raise raises

    with pytest.raises(HandlerFailed):
        one_that_fails(many=1)
    one_that_fails(many=2, raise_errors=False)
    with soloist.run(shop.app) as system:
        assert len(system.errors) == 2
    with pytest.raises(ZeroDivisionError):
        one_that_fails(many=3, raises=ZeroDivisionError)


def test_who_waits_in_vain_gets_a_picture(soloist: Kit, shop: Shop) -> None:
    """What waits, who has it, what failed."""
    with soloist.run(shop.app, instances=2) as system:
        system.publish("order", "reject")
        system.publish("slow", "1")
        system.publish("mail", "later", delay=60)
        system.kill(system.start()[0])
        try:
            with pytest.raises(NotEmpty) as told:
                system.wait_until_empty(within=0.3)
        finally:
            shop.gate.set()

        lines = str(told.value).splitlines()
        assert lines[0] == "not empty after 0.3 s"
        assert "  slow: 0 pending, 1 claimed, 0 delayed, 0 completed, 0 failed" in lines
        assert "  mail: 0 pending, 0 claimed, 1 delayed, 0 completed, 0 failed" in lines
        assert "  instance 3: was killed" in lines
        assert any(line.startswith("  instance 1: generator") for line in lines)
        assert any("holds 1" in line for line in lines)
        assert any("failed: order " in line and "Reject: not this one" in line for line in lines)


def test_a_message_that_nobody_will_handle_is_told_at_once(soloist: Kit, shop: Shop) -> None:
    """Nobody waits for the end of a time limit, and the right kind is proposed. What is known to be another's is left out."""
    with soloist.run(shop.app) as system:
        system.publish("ordr", "1")
        with pytest.raises(NotEmpty, match=r"1 message waits of the kind 'ordr', .* \(did you mean 'order'\?\)"):
            system.wait_until_empty(within=60)
        system.wait_until_empty(besides=["ordr"])
    with soloist.run(shop.app, kinds=["order"]) as system:
        system.publish("mail", "1")
        with pytest.raises(NotEmpty, match="of the kind 'mail', which no running instance handles"):
            system.wait_until_empty(within=60, besides=["ordr"])


def test_what_is_delayed_is_not_waited_for(soloist: Kit, shop: Shop) -> None:
    """It has nothing to do now; the test says when its time has come."""
    with soloist.run(shop.app) as system:
        system.publish("mail", "1", delay=60)
        system.wait_until_empty()

        assert (system.delayed, shop.handled) == (1, [])


def test_a_handler_that_is_tried_again_has_not_failed(soloist: Kit, shop: Shop) -> None:
    """Only its last attempt counts; between them it is delayed."""
    with soloist.run(shop.app) as system:
        system.publish("mail", "never")
        system.wait_until_empty()
        assert (system.delayed, shop.handled) == (1, ["mail 1"])
        system.step(30)
        assert (system.delayed, shop.handled) == (1, ["mail 1", "mail 2"])
        with pytest.raises(HandlerFailed, match=r"attempt 3\): ConnectionError"):
            system.step(60)


def test_the_settings_are_those_of_the_app(soloist: Kit, shop: Shop) -> None:
    """And those that the test gives; a wrong one is refused by name."""
    with soloist.run(shop.app, claim_lease=40) as system:
        (instance,) = system.inspect().instances
        assert instance.lease_ms > 30_000
    with pytest.raises(
        UsageError, match=r"testing.run\(…\) at test_messages.py, line \d+: there is no setting 'leese'"
    ):
        soloist.run(shop.app, leese=1).__enter__()  # type: ignore[call-arg]  # that is the point
    with pytest.raises(UsageError, match="write 0 to 50"):
        soloist.run(shop.app, instances=-1)


def test_a_lifespan_that_fails_is_told(soloist: Kit) -> None:
    """As at the start of an instance; and nothing is left of the attempt."""

    def lifespan() -> None:
        raise OSError("no database")

    app = App("bad", lifespan=lifespan)  # type: ignore[arg-type]
    app.handler("order")(lambda _: None)
    with pytest.raises(UsageError, match="no database"), soloist.run(app):
        pass
    with pytest.raises(UsageError, match="needs a server"):
        app.inspect()


def test_it_works_where_an_event_loop_runs(soloist: Kit, shop: Shop) -> None:
    """With its own words for asyncio, and with the plain ones, which hold the loop up for a moment."""

    async def program() -> None:
        async with soloist.run(shop.app) as system:
            await shop.app.apublish("order", "1")
            await system.await_until_empty()
            system.publish("mail", "2", delay=3600)
            await system.astep(3600)
        with soloist.run(shop.app) as system:
            system.publish("async", "3")
            system.wait_until_empty()

    asyncio.run(program())
    assert shop.handled == ["1", "mail 1", "3"]


def test_a_handler_that_hangs_is_replaced_as_in_production(soloist: Kit) -> None:
    """Its instance leaves, another one takes its place; the message is in the error store."""
    gate, app = threading.Event(), App("stuck")

    @app.handler("hang", timeout=0.1)
    def hang(message: Message) -> None:
        if message.body == "hang":
            gate.wait(60)

    with soloist.run(app) as system:
        system.publish("hang", "hang")
        system.wait_until(lambda: system.inspect().failed)
        system.publish("hang", "go")
        system.wait_until(lambda: system.inspect().completed)
        assert [record.details.type for record in system.errors] == ["Timeout"]
        system.wait_until(lambda: len(system.members) == 2)
        gate.set()
