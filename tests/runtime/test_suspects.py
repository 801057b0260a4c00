"""Suspects of poison among the lanes of an instance: each is handled alone, soon enough, and holds up nothing for long."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from soloist import App, Message, Msg, Page
from soloist.runtime.instance import Instance
from soloist.store.envelope import pack
from tests.runtime.lane_stage import FLAVOURS, Gate, Stage, app_with, handles, numbered
from tests.servers import Store
from tests.store.state import now_ms
from tests.waiting import wait_until

WAITS_MS = 10_000
SUSPECT = "the suspect"


def wait_as_suspect(store: Store, kind: str, *, for_ms: int, number: int = 1) -> None:
    """A message that was in the hands of as many that died as make it a suspect, so long ago."""
    keys, ident = store.keys, f"{number}-suspect"
    for field in ("published", f"published:{kind}"):
        store.link.command("HINCRBY", keys.totals, field, 1)
    store.link.command("SADD", keys.kinds, kind)
    store.link.command("HSET", keys.attempts, ident, f"{store.settings.max_attempts - 1} 0 {now_ms(store) - for_ms} 0")
    _, _, suspect, *_ = keys.of_kinds([kind])
    store.link.command("RPUSH", suspect, pack(ident, kind, now_ms(store), SUSPECT.encode()))


def busy_app(work: Callable[[Message], None]) -> App:
    """More work of three kinds than one instance can do: one by one, side by side, in batches."""
    app = App("busy")

    @app.source(every=0.005)
    def more(source: Any) -> Page[int]:
        number = (source.cursor or 0) + 1
        kinds = ("inline", "crowd", "crowd", "rows", "rows")
        return Page([Msg(kind, str(number)) for kind in kinds], cursor=number)

    app.handler("inline")(work)
    app.handler("crowd", concurrency=3)(work)

    @app.handler("rows", batch=5, linger=0.02)
    def rows(messages: list[Message]) -> None:
        for message in messages:
            work(message)

    return app


def calls_made(instance: Instance) -> int:
    return instance.handler._claims._desk.known[0]


def wait_for_beats(instance: Instance, many: int) -> None:
    for _ in range(many):
        last = instance.heart._heard_at
        wait_until(lambda: instance.heart._heard_at != last, what="it beats")  # noqa: B023


@pytest.mark.parametrize("kind", ["inline", "crowd", "rows"])
def test_a_suspect_that_has_waited_is_handled_alone_beside_steady_work_of_several_kinds(
    stage: Stage, store: Store, kind: str
) -> None:
    """Whichever lane is told to hold claims first when the others are done, and gets it; then they go on."""
    beside, handled = list[int](), list[str]()

    def work(message: Message) -> None:
        if message.body == SUSPECT:
            beside.append(stage.snapshot().claimed)
        else:
            time.sleep(0.004)  # it is work: somebody is always at it
            handled.append(message.body)

    stage.start(busy_app(work))
    wait_until(lambda: len(handled) > 50, what="everybody is at work")

    wait_as_suspect(store, kind, for_ms=2 * WAITS_MS)
    wait_until(lambda: beside, what="the suspect is handled")
    before = len(handled)

    assert beside == [1], "it was held alone"
    wait_until(lambda: len(handled) > before + 50, what="the others go on")
    assert stage.errors() == []


def test_a_suspect_that_cannot_be_alone_holds_up_the_others_for_a_while_only(stage: Stage, store: Store) -> None:
    """Something is in hand for an hour: the other kinds go on, and the suspect is handled when it is alone."""
    app, gate, quick = App("busy"), Gate(), list[str]()

    @app.source(every=0.01)
    def more(source: Any) -> Page[int]:
        number = (source.cursor or 0) + 1
        return Page([*([Msg("slow", "one")] if number == 1 else []), Msg("quick", str(number))], cursor=number)

    app.handler("slow", concurrency=2)(lambda _: gate.wait())
    app.handler("quick")(lambda message: quick.append(message.body))
    instance = stage.start(app)
    wait_until(lambda: gate.waiting and quick, what="a slow one is in hand, the quick ones are handled")

    wait_as_suspect(store, "quick", for_ms=WAITS_MS)
    wait_until(lambda: instance.handler._claims._desk.hold, what="it is asked to make room")
    before = len(quick)

    wait_until(lambda: len(quick) > before + 20, what="the quick ones go on though the slow one is in hand")
    assert SUSPECT not in quick
    gate.open()
    wait_until(lambda: SUSPECT in quick, what="the suspect is handled")


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_who_may_have_nothing_beside_a_suspect_does_not_ask_again_and_again(
    stage: Stage, store: Store, flavour: str
) -> None:
    """The bell rings for what waits; a lane that is told to hold leaves it to others, until the suspect is done."""
    app, gate, handled = App("lanes"), Gate(), list[str]()

    @app.source(every=0.01)
    def then(source: Any) -> Page[int] | None:
        return Page(numbered("job", 3), cursor=1) if gate.waiting and not source.cursor else None

    app.handler("doubtful")(lambda _: gate.wait())
    handles(app, flavour, lambda message: handled.append(message.body))
    instance = stage.start(app)
    wait_as_suspect(store, "doubtful", for_ms=2 * WAITS_MS)
    wait_until(lambda: stage.snapshot().pending == 3, what="the suspect is in hand, and others wait")
    before = calls_made(instance)

    wait_for_beats(instance, 6)

    assert calls_made(instance) - before <= 18, "about one for each beat at most"
    gate.open()
    wait_until(lambda: handled == ["0", "1", "2"], what="the others are handled")


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_who_may_not_have_a_suspect_beside_what_it_holds_asks_as_often_as_beats_ring(
    stage: Stage, store: Store, flavour: str
) -> None:
    """It is work for anybody who holds nothing, so it is rung for; but not by those who could not have it."""
    app, gate, handled = app_with(Msg("slow", "one")), Gate(), list[str]()
    app.handler("slow")(lambda _: gate.wait())
    handles(app, flavour, lambda message: handled.append(message.body))
    instance = stage.start(app)
    wait_until(lambda: gate.waiting, what="it holds something")
    wait_as_suspect(store, "job", for_ms=0)
    before = calls_made(instance)

    wait_for_beats(instance, 6)

    assert calls_made(instance) - before <= 18, "about one for each beat"
    assert handled == []
    gate.open()
    wait_until(lambda: handled == [SUSPECT], what="it holds nothing else, and takes it")
