"""Killing an instance in the process of the test: what the others, and the server, see of it."""

import asyncio
import threading

import pytest

from soloist import App, Message
from soloist.errors import UsageError
from soloist.testing import Kit, NotEmpty


class Office:
    """An App whose handlers wait until they are let go, each attempt by itself."""

    def __init__(self) -> None:
        self.app = App("office", lifespan=None)
        self.begun: list[int] = []
        self.ended: list[int] = []
        self.raised: list[BaseException] = []
        self.gates = {1: threading.Event(), 2: threading.Event()}
        self.gates[2].set()
        self.app.handler("letter")(self.letter)
        self.app.handler("call")(self.call)
        self.app.handler("note")(lambda _: None)
        self.app.schedule(every=60, name="minutely")(lambda _: None)

    def letter(self, message: Message) -> None:
        self.begun.append(message.attempt)
        message.commit.incrby(message.key_for("letters"), 1)
        message.publish("note", "written")
        self.gates[message.attempt].wait(60)
        try:
            self.app.publish("note", f"by hand, attempt {message.attempt}")
        except BaseException as error:
            self.raised.append(error)
            raise
        finally:
            self.ended.append(message.attempt)

    async def call(self, message: Message) -> None:
        self.begun.append(message.attempt)
        if message.attempt == 1:
            await asyncio.sleep(3600)
        self.ended.append(message.attempt)


@pytest.fixture
def office() -> Office:
    return Office()


def test_when_the_generator_is_killed_another_takes_its_part(soloist: Kit, office: Office) -> None:
    """Once and again, and what it published before goes on."""
    with soloist.run(office.app, instances=3) as system:
        terms = []
        for _ in range(2):
            killed = system.generator
            system.publish("note", "before")
            system.kill(killed)
            assert system.generator is not killed
            assert not killed.is_running
            system.step(60)
            term = system.inspect().term
            assert term is not None
            terms.append((term.number, term.instance))

        assert terms == [(2, terms[0][1]), (3, system.generator.id)]
        assert [each.number for each in system.running] == [system.generator.number]
        seen = system.inspect()
        assert seen.kinds["schedule:minutely"].completed == 2
        assert seen.kinds["note"].completed == 2


@pytest.mark.parametrize("kind", ["letter", "call"])
def test_what_a_killed_one_had_in_hand_is_handled_by_another(soloist: Kit, office: Office, kind: str) -> None:
    """With its attempt counted; nothing of the first one is there, although its code goes on."""
    with soloist.run(office.app) as system:
        system.publish(kind, "1")
        system.wait_until(lambda: office.begun == [1])
        (first,) = system.members
        system.start()
        system.kill(first)
        system.wait_until_empty()
        assert office.begun == [1, 2]
        assert office.ended == [2]

        office.gates[1].set()  # the dead one writes on
        if kind == "letter":
            system.wait_until(lambda: len(office.ended) == 2)
            assert office.ended == [2, 1]
            assert [type(error).__name__ for error in office.raised] == ["Unplugged"]
        seen = system.inspect()
        assert (seen.completed, seen.failed, seen.reclaimed) == ((3, 0, 1) if kind == "letter" else (1, 0, 1))
        assert system.data("letters") == ("1" if kind == "letter" else None)


def test_a_killed_one_says_no_word(soloist: Kit, office: Office) -> None:
    """It has not left: the others find out."""
    with soloist.run(office.app, instances=2) as system:
        killed = system.generator
        system.kill(killed)
        system.kill(killed)  # once more: nothing happens

        assert killed.id in {each.id for each in system.inspect().instances}
        assert system.generator is not killed
        system.wait_until(lambda: killed.id not in {each.id for each in system.inspect().instances})
        assert repr(killed) == "<Member 1, killed>"


def test_after_the_last_one_nobody_is_there(soloist: Kit, office: Office) -> None:
    """A test that waits is told so at once, and may start another."""
    with soloist.run(office.app) as system:
        system.kill(system.generator)
        system.publish("note", "1")
        with pytest.raises(NotEmpty, match="which no running instance handles"):
            system.wait_until_empty(within=60)

        system.start()
        system.wait_until_empty()


def test_who_is_stopped_finishes_and_leaves(soloist: Kit, office: Office) -> None:
    """As on SIGTERM: nothing is handled twice."""
    office.gates[1].set()
    with soloist.run(office.app, instances=2) as system:
        for _ in range(20):
            system.publish("letter", "1")
        stopped = system.generator
        system.stop(stopped)

        assert [each.id for each in system.inspect().instances] == [member.id for member in system.running]
        system.wait_until_empty()
        assert office.begun == [1] * 20
        assert system.data("letters") == "20"


def test_the_end_of_a_test_does_not_wait_for_what_a_killed_one_does(soloist: Kit, office: Office) -> None:
    """Nor for what its async handler awaits; its lifespan is left all the same: the test leaves nothing behind."""
    with soloist.run(office.app) as system:
        system.publish("letter", "1")
        system.publish("call", "1")
        system.wait_until(lambda: office.begun == [1, 1])
        system.kill(system.generator)
    assert office.ended == []
    office.gates[1].set()


def test_a_message_that_kills_every_time_is_found_out(soloist: Kit) -> None:
    """Poison: after three deaths it is in the error store."""
    app, begun, gate = App("poison"), list[int](), threading.Event()

    @app.handler("poison")
    def poison(message: Message) -> None:
        begun.append(message.attempt)
        gate.wait(60)

    with soloist.run(app) as system:
        system.publish("poison", "1")
        for attempt in (1, 2, 3):
            system.wait_until(lambda: len(begun) == attempt)  # noqa: B023 - it is asked before the next one
            (holder,) = system.running
            system.start()
            system.kill(holder)
        system.wait_until_empty(raise_errors=False)
        assert begun == [1, 2, 3]
        assert len(system.errors) == 1
        gate.set()


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_handler_may_kill_its_own_instance(soloist: Kit, is_async: bool, concurrency: int) -> None:
    """It ends right there, as at no other moment; its message is handled by another."""
    app, reached = App("suicide"), list[str]()

    def begin(message: Message) -> None:
        reached.append(f"attempt {message.attempt}")
        message.commit.incrby(message.key_for("done"), 1)
        if message.attempt == 1:
            system.kill(system.here)
        reached.append("end")

    @app.handler("plain", concurrency=concurrency)
    def plain(message: Message) -> None:
        begin(message)

    @app.handler("async", concurrency=concurrency)
    async def asynchronous(message: Message) -> None:
        begin(message)

    with soloist.run(app, instances=2) as system:
        system.publish("async" if is_async else "plain", "1")
        system.wait_until_empty()

        assert reached == ["attempt 1", "attempt 2", "end"]
        assert system.data("done") == "1"
        assert len(system.running) == 1
        with pytest.raises(UsageError, match="known in a handler"):
            _ = system.here
