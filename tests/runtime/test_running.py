"""running.py: an App beside other things in a process, on a real server."""

import asyncio
import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from soloist import App, Message
from soloist.errors import ForeignData, Stuck, Unavailable, UsageError
from tests.servers import PrivateServer, Store
from tests.waiting import wait_until


class Host:
    """A program with an App in it."""

    def __init__(self, url: str, namespace: str) -> None:
        self.app = App("hosted", url=url, namespace=namespace, heartbeat=0.05, lease=1)
        self.handled: list[str] = []
        self.gate = threading.Event()
        self.gate.set()
        self.app.generator(every=0.02)(lambda: "text")
        self.app.handler(self._handle)

    def _handle(self, message: Message) -> None:
        self.handled.append(message.id)
        self.gate.wait(60)

    def wait_until_it_works(self) -> None:
        before = len(self.handled)
        wait_until(lambda: len(self.handled) > before + 3, what="messages are handled")


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of ours, no soloist.toml."""
    monkeypatch.delenv("SOLOIST_URL", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def host(server: PrivateServer, namespace: str) -> Iterator[Host]:
    made = Host(server.url, namespace)
    yield made
    made.gate.set()
    made.app.stop()


def test_it_joins_beside_its_caller_and_leaves_when_it_is_asked(host: Host) -> None:
    """`start` comes back at once, `stop` when all is in order; asked again, nothing happens."""
    host.app.stop()
    assert host.app.wait(0)

    host.app.start()
    host.wait_until_it_works()
    assert not host.app.wait(0)
    assert [instance.role for instance in host.app.inspect().instances] == ["generator"]
    host.app.stop()
    host.app.stop()

    assert host.app.wait(0)
    assert host.app.failure is None
    seen = host.app.inspect()
    assert seen.instances == []
    assert seen.claimed == 0
    assert seen.completed == len(host.handled)


def test_it_can_be_started_again_but_not_twice(host: Host) -> None:
    """Two at a time of one App would share its functions without knowing."""
    host.app.start()
    with pytest.raises(UsageError, match=r"App 'hosted' .* runs in this process already: call app.stop\(\) before"):
        host.app.start()
    host.app.stop()

    host.app.start()
    host.wait_until_it_works()


def test_transitions_go_to_the_log(host: Host, caplog: pytest.LogCaptureFixture) -> None:
    """There is no screen of ours in somebody else's process."""
    caplog.set_level(logging.INFO, "soloist")

    host.app.start()
    host.wait_until_it_works()
    host.app.stop()

    events = [record.getMessage().split()[0] for record in caplog.records]
    assert [event for event in events if event.startswith("instance.")] == [
        "instance.joined",
        "instance.elected",
        "instance.quiet",
        "instance.left",
    ]


def test_it_runs_beside_an_event_loop(host: Host) -> None:
    """The loop goes on while it stops: here it is the loop that lets the message in hand come to its end."""

    def message_in_hand() -> None:
        host.wait_until_it_works()
        host.gate.clear()
        before = len(host.handled)
        wait_until(lambda: len(host.handled) > before, what="a message is in hand")

    async def program() -> None:
        async with host.app.running() as running:
            assert running is host.app
            await asyncio.to_thread(message_in_hand)
            asyncio.get_running_loop().call_later(0.1, host.gate.set)

    asyncio.run(program())

    assert host.gate.is_set()
    seen = host.app.inspect()
    assert seen.instances == []
    assert seen.completed == len(host.handled)


def test_it_is_awaited_by_name_as_well(host: Host) -> None:
    """For a lifespan that has other things to do between the two."""

    async def program() -> None:
        await host.app.astart()
        await asyncio.to_thread(host.wait_until_it_works)
        await host.app.astop()

    asyncio.run(program())
    assert host.app.wait(0)


def test_it_is_started_from_any_thread(host: Host) -> None:
    """Signals are the main program's: nothing of ours listens for them."""
    starter = threading.Thread(target=host.app.start)
    starter.start()
    starter.join(30)

    host.wait_until_it_works()


def test_arguments_count_more_than_what_the_app_says(host: Host, namespace: str) -> None:
    """Url and namespace, kinds, role and settings; a host that only handles never generates."""
    host.app.start(namespace=namespace, role="handler", kinds=["default"], claim_lease=12)
    try:
        (instance,) = host.app.inspect().instances
        assert instance.lease_ms > 11_000
        assert not host.app.wait(0.3)
        assert host.app.inspect().published == 0
    finally:
        host.app.stop()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"lease": "soon"}, r"app.start\(\) at test_running.py, line \d+: lease: 'soon' is not allowed"),
        ({"leese": 1}, r"app.start\(\) at .*: there is no setting 'leese'. Did you mean lease\?"),
        ({"url": "redis://one", "embedded": True}, "name the server in one way only, url=… or embedded=True"),
        ({"url": "http://one"}, r"app.start\(\) at test_running.py, line \d+: url: "),
        ({"kinds": ["mail"]}, "has no handler for the kind 'mail'. It has: default"),
        ({"kinds": "mail,default"}, "has no handler for the kind 'mail'"),
        ({"role": "boss"}, "role='boss' is not possible; write 'any' or 'handler'"),
        ({"namespace": "two words"}, "namespace must be 1 to 128"),
    ],
)
def test_what_is_wrong_is_told_before_anything_starts(host: Host, given: dict[str, object], says: str) -> None:
    """And it may be tried again with something better."""
    with pytest.raises(UsageError, match=says):
        host.app.start(**given)  # type: ignore[arg-type]  # that is the point
    assert host.app.wait(0)


def test_a_server_must_be_named(host: Host) -> None:
    """N hosts would each start one of their own."""
    app = App("nowhere")
    app.handler(print)
    with pytest.raises(UsageError, match=r"needs a server that all hosts share: name it with app.start\(url\)"):
        app.start()
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1 cannot be reached"):
        app.start("redis://127.0.0.1:1")
    with pytest.raises(UsageError, match="has neither a generator nor a handler"):
        App("nothing").start("redis://127.0.0.1:1")


def test_run_is_for_the_main_program(host: Host) -> None:
    """In a thread, or where an event loop runs, it says what to call instead."""
    raised: list[UsageError] = []

    def elsewhere() -> None:
        with pytest.raises(UsageError, match=r"only the main thread can: call it there, or app.start\(\) here") as told:
            host.app.run()
        raised.append(told.value)

    async def in_a_loop() -> None:
        host.app.run()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join(30)
    assert raised
    with pytest.raises(UsageError, match=r"write `await app\.astart\(\)`"):
        asyncio.run(in_a_loop())


def test_a_host_notices_that_its_instance_failed(host: Host, store: Store) -> None:
    """Somebody else wrote under a key of ours: the instance leaves, and says which key it was."""
    host.app.start()
    host.wait_until_it_works()
    host.gate.clear()  # so that nothing is being claimed
    key = store.keys.of_kinds(["default"])[0]

    store.link.command("DEL", key)
    store.link.command("SET", key, "not ours")
    host.gate.set()

    try:
        assert host.app.wait(30), "it went on"
        assert isinstance(host.app.failure, ForeignData)
        assert key in str(host.app.failure)
    finally:
        store.link.command("DEL", key)
    host.app.start()
    assert host.app.failure is None


def test_a_handler_that_hangs_ends_the_instance_and_needs_a_new_process(server: PrivateServer, namespace: str) -> None:
    """Its thread cannot be ended, and must not meet its own next attempt."""
    host = Host(server.url, namespace)
    host.gate.clear()
    host.app.start(timeout=0.2)
    try:
        assert host.app.wait(30), "it went on"
        assert isinstance(host.app.failure, Stuck)
        assert "the handler _handle (test_running.py, line" in str(host.app.failure)
        assert host.app.inspect().instances == []
        with pytest.raises(UsageError, match="cannot be started again in this process: the handler _handle"):
            host.app.start()
    finally:
        host.gate.set()
