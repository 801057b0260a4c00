"""app.publish on a real server: ids, keys, threads, loops, full queues, and what is refused with a sentence."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import pytest

from soloist import App, Message, Msg, Reject
from soloist import publishing as module
from soloist.errors import NamespaceError, NotPublished, UsageError
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.records import discard
from soloist.store.server import Server
from soloist.store.snapshot import purge
from tests.runtime.source_stage import APP, Gate, Stage
from tests.servers import PrivateServer
from tests.waiting import wait_until


@pytest.fixture
def app(server: PrivateServer, namespace: str) -> App:
    return App(APP, url=server.url, namespace=namespace)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives up soon."""
    monkeypatch.setattr(module, "PATIENCE", 0.2)


def handling(app: App, kind: str = "job", **options: Any) -> list[Message]:
    seen: list[Message] = []
    app.handler(kind, **options)(seen.append)
    return seen


# what is published


def test_the_id_that_is_answered_is_that_of_the_message(app: App, sources: Stage) -> None:
    """With its body and key; no instance need be there yet."""
    ident = app.publish("job", {"n": 1}, key="k")
    seen = handling(app)
    sources.start(app)

    wait_until(lambda: seen, what="it is handled")

    assert (seen[0].id, seen[0].key, seen[0].body, seen[0].scheduled_for) == (ident, "k", '{"n":1}', None)


def test_many_are_published_in_their_order_and_answered_in_it(app: App, sources: Stage) -> None:
    """Of several kinds, with keys and without, more than go into one call."""
    messages = [Msg(f"kind-{number % 3}", str(number), key="k" * (number % 2)) for number in range(2500)]

    ids = app.publish_many(messages)

    assert [int(ident.split("-")[0]) for ident in ids] == list(range(1, 2501))
    for rest in range(3):
        assert sources.published(f"kind-{rest}") == [str(number) for number in range(rest, 2500, 3)]


def test_more_kinds_and_bytes_than_go_into_one_call_go_into_several(app: App, sources: Stage) -> None:
    """A message that is larger than a call goes alone."""
    kinds = [Msg(f"kind-{number}", "x") for number in range(150)]
    large = [Msg("large", "x" * size) for size in (600_000, 600_000, 3_000_000, 1)]

    assert len(set(app.publish_many([*kinds, *large]))) == 154
    assert [len(body) for body in sources.published("large")] == [600_000, 600_000, 3_000_000, 1]
    assert sources.snapshot().published == 154


def test_nothing_is_nothing(app: App, sources: Stage) -> None:
    assert app.publish_many([]) == []


def test_many_threads_publish_at_once(app: App, sources: Stage) -> None:
    """One connection, one call after another: nothing is lost, nothing comes twice."""
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda number: app.publish("job", str(number)), range(200)))

    assert len(set(ids)) == 200
    assert sorted(map(int, sources.published("job"))) == list(range(200))


def test_a_handler_may_publish(app: App, sources: Stage) -> None:
    """At once, whatever becomes of its own message; `message.publish` is for those that go with it."""
    seen = handling(app, "second")

    @app.handler("first")
    def first(message: Message) -> None:
        app.publish("second", message.body)
        raise Reject("all the same")

    sources.start(app)
    app.publish("first", "x")

    wait_until(lambda: [each.body for each in seen] == ["x"], what="the second is handled")


# event loops


def test_in_a_running_event_loop_the_other_spelling_is_named(app: App) -> None:
    """It would block the loop: it says so at once, with file and line, and publishes nothing."""

    async def publish(call: Callable[[], Any]) -> None:
        call()

    for name, call in (("publish", lambda: app.publish("job")), ("publish_many", lambda: app.publish_many([]))):
        with pytest.raises(
            UsageError, match=rf"app\.{name} at test_publishing\.py, line \d+ would block .*await app\.a{name}\("
        ):
            asyncio.run(publish(call))


def test_an_event_loop_goes_on_while_something_is_published(app: App, sources: Stage) -> None:
    async def main() -> list[str]:
        one, many = await asyncio.gather(app.apublish("job", "1", key="k"), app.apublish_many([Msg("job", "2")] * 3))
        return [one, *many]

    assert len(set(asyncio.run(main()))) == 4
    assert sorted(sources.published("job")) == ["1", "2", "2", "2"]


# too many


def test_a_full_queue_refuses_and_says_what_was_published(
    server: PrivateServer, namespace: str, impatient: None
) -> None:
    """Nothing is undecided: it can be published again later."""
    app = App(APP, url=server.url, namespace=namespace, max_pending=1500)

    with pytest.raises(NotPublished, match=r"1,500 messages waiting.*max_pending.*it was not published") as refused:
        app.publish_many([Msg("job", "x")] * 3000)

    assert not refused.value.is_undecided
    assert len(refused.value.published) == 2000
    assert app.inspect().published == 2000


def test_where_room_is_made_it_goes_on(server: PrivateServer, namespace: str, sources: Stage) -> None:
    """It waits as long as it may."""
    app = App(APP, url=server.url, namespace=namespace, max_pending=1)
    app.publish("job", "1")
    later = threading.Thread(target=app.publish, args=("job", "2"))
    later.start()
    seen = handling(app)
    sources.start(app)

    later.join(30)

    wait_until(lambda: [each.body for each in seen] == ["1", "2"], what="both are handled")


# at most one of a key


def test_of_a_key_one_is_there_until_it_is_completed(app: App, sources: Stage) -> None:
    """While it waits and while it is handled; whoever publishes another is told its id."""
    gate = Gate()
    app.handler("job")(lambda _: gate.wait())
    first = app.publish("job", "1", key="k", unique=True)
    assert app.publish("job", "2", key="k", unique=True) == first
    assert app.publish("other", "2", key="k", unique=True) != first, "another kind has keys of its own"
    sources.start(app)
    gate.wait_until_reached()

    assert app.publish("job", "3", key="k", unique=True) == first
    assert app.publish("job", "4", key="k") != first, "only those that ask for it are unique"
    gate.open()
    wait_until(lambda: sources.snapshot().completed == 2, what="they are completed")

    assert app.publish("job", "5", key="k", unique=True) != first


def test_a_key_is_free_again_when_its_message_has_failed(app: App, sources: Stage) -> None:
    """It rests in the error store; deleting it there takes nothing from the one that came after it."""
    gate = Gate()

    @app.handler("job")
    def reject(message: Message) -> None:
        if message.body == "bad":
            raise Reject("no")
        gate.wait()

    sources.start(app)
    first = app.publish("job", "bad", key="k", unique=True)
    wait_until(lambda: sources.snapshot().failed == 1, what="it has failed")

    second = app.publish("job", "good", key="k", unique=True)
    link, keys = sources.store.link, sources.store.keys
    failed_us = int(link.command("ZSCORE", keys.errors_by_time, first))
    assert discard(link, keys, [(first, failed_us)]) == 1

    assert second != first
    assert app.publish("job", "good", key="k", unique=True) == second
    gate.open()


def test_delayed_ones_are_unique_too(app: App) -> None:
    first = app.publish("job", "1", key="k", unique=True, delay=3600)
    assert app.publish("job", "2", key="k", unique=True) == first


# what is refused


class Strange:
    """Nothing that JSON could tell."""


REFUSED: dict[str, tuple[Callable[[App], Any], str]] = {
    "kind": (lambda app: app.publish("no kind"), r"app\.publish: a kind is 1 to 128 of the characters .*not 'no kind'"),
    "no text": (lambda app: app.publish(5), r"app\.publish: a kind is .*not 5"),  # type: ignore[arg-type]
    "key": (lambda app: app.publish("job", key=5), r"a key is text of at most 4,096 letters; write key=str"),  # type: ignore[arg-type]
    "long key": (lambda app: app.publish("job", key="k" * 5000), r"a key is text of at most 4,096 letters"),
    "key of bytes": (lambda app: app.publish("job", key="\udcff"), r"the key '\\udcff' is no text that could be sent"),
    "no key": (lambda app: app.publish("job", unique=True), r"unique=True needs a key"),
    "body": (lambda app: app.publish("job", Strange()), r"a Strange can be no body \(.*\): publish text, bytes"),
    "broken text": (lambda app: app.publish("job", "\udcff"), r"a str can be no body"),
    "large": (
        lambda app: app.publish("job", "x" * 2000),
        r"a body of 2,000 bytes is larger than max_body allows \(1,024\)",
    ),
    "past": (lambda app: app.publish("job", delay=-1), r"app\.publish: delay=-1 is no time to wait"),
    "delay": (lambda app: app.publish("job", delay="1"), r"delay='1' is no time to wait"),  # type: ignore[arg-type]
    "zone": (
        lambda app: app.publish("job", at=datetime(2026, 1, 1)),  # noqa: DTZ001 - it is refused
        r"at=.* is no moment: write a datetime with a time zone",
    ),
    "milliseconds": (lambda app: app.publish("job", at=1.8e12), r"at=1800000000000\.0 is no moment.*now is \d+"),
    "no Msg": (lambda app: app.publish_many(["x"]), r"app\.publish_many takes Msg\(kind, body, key\), not a str"),  # type: ignore[list-item]
    "no list": (lambda app: app.publish_many(Msg("job", "x")), r"takes a list of Msg\(kind, body, key\), not a Msg"),  # type: ignore[arg-type]
    "kind of a Msg": (lambda app: app.publish_many([Msg("job", "x"), Msg([], "x")]), r"app\.publish_many: a kind is"),  # type: ignore[arg-type]
    "body of a Msg": (
        lambda app: app.publish_many([Msg("job", "x"), Msg("job", Strange())]),
        r"publish_many: a Strange can",
    ),
    "key of a Msg": (
        lambda app: app.publish_many([Msg("job", "x"), Msg("job", "x", 5)]),  # type: ignore[arg-type]
        r"publish_many: a key is text",
    ),
    "large Msg": (
        lambda app: app.publish_many([Msg("job", "x"), Msg("job", "é" * 600)]),
        r"a body of 1,200 bytes is larger",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_published_is_named_and_nothing_is(
    server: PrivateServer, namespace: str, sources: Stage, what: str
) -> None:
    app = App(APP, url=server.url, namespace=namespace, max_body=1024)
    call, says = REFUSED[what]

    with pytest.raises(UsageError, match=says):
        call(app)

    assert sources.store.link.command("EXISTS", sources.store.keys.totals) == 0


def test_a_moment_is_a_time_with_a_zone_or_seconds(app: App, sources: Stage) -> None:
    app.publish("job", "a", at=datetime(2099, 1, 1, tzinfo=UTC))
    app.publish("job", "b", at=4_000_000_000)
    app.publish("job", "c", at=0)

    delayed = sources.store.link.command("ZRANGE", f"{sources.store.keys.base}delayed:job", 0, -1, "WITHSCORES")

    assert [int(each) for each in delayed[1::2]] == [4_000_000_000_000, 4_070_908_800_000]
    assert sources.published("job") == ["c"]


def test_without_a_server_it_says_what_to_write() -> None:
    with pytest.raises(UsageError, match=r"needs a server that all hosts share"):
        App("demo").publish("job")


def test_a_namespace_of_another_app_is_refused(app: App, server: PrivateServer, namespace: str) -> None:
    app.publish("job")

    with pytest.raises(NamespaceError, match=r"belongs to the App 'demo', not to 'another'"):
        App("another", url=server.url, namespace=namespace).publish("job")


def test_a_namespace_of_another_protocol_is_refused(app: App, sources: Stage) -> None:
    sources.store.link.command("HSET", sources.store.keys.meta, "protocol", 1, "app", APP)

    with pytest.raises(NamespaceError, match=r"speaks version 1 of the protocol"):
        app.publish("job")


# where it goes


def test_it_goes_to_the_instance_that_runs_here_and_after_that_to_what_is_named(
    server: PrivateServer, namespace: str
) -> None:
    """Whatever code and environment say, as long as it runs."""
    app = App(APP, url=server.url, namespace=namespace)
    app.handler("job")(lambda _: None)
    beside = f"{namespace}-beside"
    app.publish("job", "named")
    app.start(namespace=beside)
    try:
        app.publish("job", "here")
    finally:
        app.stop()
    app.publish("job", "named again")

    assert app.inspect(namespace=beside).published == 1
    assert app.inspect(namespace=namespace).published == 2
    with closing(Link(Server(server.url), timeout=5)) as link:
        purge(link, Keys(beside))


def test_two_ways_to_say_when_are_one_too_many(app: App) -> None:
    with pytest.raises(UsageError, match="say when in one way"):
        app.publish("job", "x", delay=1, at=2_000_000_000)
