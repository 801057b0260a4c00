"""Schedules on a real server: whose ticks are published, by whom, and what becomes of them while runs are not over."""

import threading
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from soloist import App, Message, Page, Reject, Source
from soloist.runtime.instance import Instance
from soloist.runtime.part import Part
from soloist.schedules.due import moment
from soloist.schedules.making import make_schedule, to_json
from soloist.store.agenda import Agenda, put_schedule, read_agenda
from soloist.store.control import pause
from tests.runtime.source_stage import APP, Gate, Stage
from tests.waiting import wait_until

EVERY = 0.05
FAR_HEARTBEAT: dict[str, Any] = {"heartbeat": 10, "lease": 40, "claim_lease": 60}
"""Whatever happens within ten seconds does so because the alarm was heard."""


class Runs:
    """What was run, in order; and how many at a time."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.most = self._now = 0
        self._lock = threading.Lock()

    @property
    def ticks(self) -> list[int]:
        return [round(1000 * (each.scheduled_for or 0)) for each in self.messages]

    def note(self, message: Message, meanwhile: Callable[[], Any] = lambda: None) -> None:
        with self._lock:
            self.messages.append(message)
            self._now += 1
            self.most = max(self.most, self._now)
        try:
            meanwhile()
        finally:
            with self._lock:
                self._now -= 1

    def wait_for(self, many: int) -> None:
        wait_until(lambda: len(self.messages) >= many, what=f"{many} runs")


def scheduled(runs: Runs, name: str = "job", meanwhile: Callable[[], Any] = lambda: None, **options: Any) -> App:
    app = App(APP)
    app.schedule(**{"every": EVERY, "name": name, **options})(lambda message: runs.note(message, meanwhile))
    return app


def agenda(sources: Stage) -> Agenda:
    return read_agenda(sources.store.link, sources.store.keys)


def of_runs(sources: Stage, what: str, name: str = "job") -> int:
    return int(agenda(sources).runs.get(f"{what} {name}", 0))


def put(sources: Stage, name: str, **options: Any) -> None:
    made = make_schedule("here", name=name, kind=options.pop("kind", name), **options)
    assert put_schedule(sources.store.link, sources.store.keys, name, to_json(made))


def switch(sources: Stage, *what: str, on: bool) -> None:
    assert pause(sources.store.link, sources.store.keys, [], what, on=on) == len(what)


def later(seconds: float) -> Part:
    """An instance for whose schedules it is so much later: as if nobody had published for so long."""
    return Part(schedule_clock=lambda: time.time() * 1000 + 1000 * seconds)


def known_as_paused(sources: Stage) -> frozenset[str]:
    """What the generator knows; it has read it, so it acts on it."""
    terms = [instance._term for instance in sources.instances]
    return frozenset().union(*(term._paused or () for term in terms if term is not None))


def hand_over(sources: Stage, first: Instance, second: Instance) -> None:
    sources.wait_for_successor()
    assert first._term is not None
    first._step_down(first._term, 60)
    sources.wait_for(second, "elected")


# the ticks


def test_a_run_says_which_tick_it_is_of(sources: Stage) -> None:
    """Its key is made of that, and so the same whoever publishes it."""
    runs = Runs()
    sources.start(scheduled(runs))
    runs.wait_for(3)

    first = runs.messages[0]
    assert first.kind == "schedule:job"
    assert first.scheduled_for == runs.ticks[0] / 1000 <= first.published_at
    assert first.key.startswith("job@20")
    assert len({each.key for each in runs.messages}) == len(runs.messages)
    assert first.body == ""


@pytest.mark.parametrize("how", ["stops", "hands over", "is reborn"])
def test_the_next_generator_goes_on_behind_the_last_tick(sources: Stage, how: str) -> None:
    """None is missing, none comes twice: a tick is stored in the step that publishes it."""
    runs = Runs()
    app = scheduled(runs, missed="all")
    first, second = sources.start(app), sources.start(app)
    runs.wait_for(5)

    if how == "stops":
        sources.wait_for_successor()
        sources.stop(first)
    elif how == "hands over":
        hand_over(sources, first, second)
    else:
        first.be_reborn(first.incarnation, "beat")
    runs.wait_for(len(runs.messages) + 10)

    ticks = sorted(runs.ticks)
    assert [after - before for before, after in pairwise(ticks)] == [50] * (len(ticks) - 1)


@pytest.mark.parametrize(("missed", "published"), [("all", 10), ("once", 1), ("skip", 0)])
def test_after_ten_minutes_without_anybody(sources: Stage, missed: str, published: int) -> None:
    """All of them in order, the latest, or none; and those that are not made up for are counted."""
    runs = Runs()
    app = scheduled(runs, every=60, missed=missed)

    sources.start(app, later(630))
    wait_until(lambda: of_runs(sources, "skipped") + len(runs.messages) >= 10, what="ten ticks are done with")

    assert of_runs(sources, "skipped") == 10 - published
    assert [after - before for before, after in pairwise(runs.ticks)] == [60_000] * max(0, published - 1)


def test_a_tick_is_late_on_purpose_always_by_as_much(sources: Stage) -> None:
    """Never early, and spread over the time that it may be late."""
    runs = Runs()
    sources.start(scheduled(runs, every=0.1, jitter=0.09, missed="all"))
    runs.wait_for(20)

    made = make_schedule("here", name="job", kind="schedule:job", every=0.1, jitter=0.09)
    delays = [moment(made, tick) - tick for tick in runs.ticks]
    assert len(set(delays)) > 5
    for each, tick in zip(runs.messages, runs.ticks, strict=False):
        assert each.published_at * 1000 >= moment(made, tick) - 20, "but for the distance of two clocks"


# runs that are not over


def test_with_queue_a_tick_waits_until_the_run_before_it_has_ended(sources: Stage) -> None:
    """One at most waits, the others are skipped; runs are never side by side."""
    runs, gate = Runs(), Gate()
    app = scheduled(runs, meanwhile=gate.wait, overlap="queue")
    sources.start(app)
    gate.wait_until_reached()
    begun = runs.ticks[0]
    wait_until(lambda: time.time() * 1000 > begun + 500, what="ten more ticks are over")

    assert sources.snapshot().published == 1
    gate.open()
    runs.wait_for(5)

    assert runs.most == 1
    assert runs.ticks[1] > begun + 400, "the latest of those that were over"
    ticks = runs.ticks
    wait_until(lambda: of_runs(sources, "skipped") >= (ticks[1] - begun) // 50 - 1, what="the others are counted")


def test_with_queue_and_all_each_tick_waits(sources: Stage) -> None:
    """None is skipped, however long the run before it takes."""
    runs = Runs()
    app = scheduled(runs, meanwhile=lambda: time.sleep(0.07), overlap="queue", missed="all")
    sources.start(app)
    runs.wait_for(6)

    assert runs.most == 1
    assert [after - before for before, after in pairwise(runs.ticks)] == [50] * (len(runs.ticks) - 1)
    assert of_runs(sources, "skipped") == 0


def test_with_skip_the_ticks_of_a_run_are_passed_over_and_counted(sources: Stage) -> None:
    """Published ones and skipped ones are all there are."""
    runs, gate = Runs(), Gate()
    sources.start(scheduled(runs, meanwhile=gate.wait, overlap="skip", missed="all"))
    gate.wait_until_reached()
    wait_until(lambda: of_runs(sources, "skipped") >= 5, what="five are skipped")
    assert sources.snapshot().published == 1

    gate.open()
    runs.wait_for(3)
    switch(sources, "schedule:job", on=True)
    wait_until(lambda: "schedule:job" in known_as_paused(sources), what="the generator knows of the pause")
    wait_until(lambda: sources.snapshot().completed == sources.snapshot().published, what="all runs are over")
    ticks, seen = runs.ticks, agenda(sources)

    assert len(ticks) + of_runs(sources, "skipped") == (seen.ticks["job"] - ticks[0]) // 50 + 1


def test_with_allow_ticks_come_while_a_run_works(sources: Stage) -> None:
    runs, gate = Runs(), Gate()
    sources.start(scheduled(runs, meanwhile=gate.wait))
    gate.wait_until_reached()

    wait_until(lambda: sources.snapshot().published >= 4, what="more are published")

    assert len(runs.messages) == 1, "one at a time in an instance, unless it says otherwise"
    gate.open()


def test_a_run_that_is_tried_again_is_one_run(sources: Stage) -> None:
    """The next tick waits for its last attempt; what fails in the end is counted."""
    runs, attempts = Runs(), list[tuple[int, int]]()
    app = App(APP)

    @app.schedule(every=EVERY, overlap="queue", retries=2, backoff=0.01)
    def job(message: Message) -> None:
        runs.note(message)
        attempts.append((runs.ticks[-1], message.attempt))
        raise ValueError("always")

    sources.start(app)
    runs.wait_for(6)
    wait_until(lambda: of_runs(sources, "failures") >= 2, what="two runs have failed")

    first, second = runs.ticks[0], runs.ticks[3]
    assert attempts[:6] == [(first, 1), (first, 2), (first, 3), (second, 1), (second, 2), (second, 3)]
    assert agenda(sources).runs["result job"] == "failed"


def test_a_run_may_take_only_so_long(sources: Stage) -> None:
    """As a handler's message may."""
    import asyncio

    app = App(APP)

    @app.schedule(every=EVERY, overlap="queue", timeout=0.1)
    async def job() -> None:
        await asyncio.sleep(60)

    sources.start(app)

    wait_until(lambda: of_runs(sources, "failures") >= 2, what="two runs have failed")


def test_a_rejected_run_rests_in_the_error_store(sources: Stage) -> None:
    app = App(APP)

    @app.schedule(every=EVERY)
    def job() -> None:
        raise Reject("not today")

    sources.start(app)

    wait_until(lambda: sources.snapshot().errors >= 2, what="two are there")


def test_where_too_many_wait_a_tick_is_offered_again(sources: Stage) -> None:
    """It is not missed; and others, of kinds with room, come meanwhile."""
    runs, other = Runs(), Runs()
    app = scheduled(other, "other")
    sources.start(app, max_pending=2)
    put(sources, "crowded", kind="report", every=EVERY, missed="all")
    sources.wait_until_published(2, "report")
    other.wait_for(len(other.messages) + 10)
    assert len(sources.published("report")) == 2

    app.handler("report")(runs.note)
    sources.start(app, max_pending=2)
    runs.wait_for(10)

    assert [after - before for before, after in pairwise(runs.ticks)] == [50] * (len(runs.ticks) - 1)


# what is on the agenda


def test_what_the_code_no_longer_schedules_vanishes_with_its_next_generator(sources: Stage) -> None:
    """What was added at run time stays. Two versions side by side: whoever generates says what is on."""
    old, new = Runs(), Runs()
    both = scheduled(old, "old")
    both.schedule(every=EVERY, name="kept")(old.note)
    after = scheduled(new, "new")
    after.schedule(every=EVERY, name="kept")(new.note)
    first = sources.start(both)
    put(sources, "added", every=3600)
    old.wait_for(4)
    assert set(agenda(sources).schedules) == {"old", "kept", "added"}

    second = sources.start(after)
    assert set(agenda(sources).schedules) == {"old", "kept", "added"}, "only who generates says so"
    kept = agenda(sources).ticks["kept"]
    hand_over(sources, first, second)
    wait_until(lambda: set(agenda(sources).schedules) == {"new", "kept", "added"}, what="the new version is in place")

    assert agenda(sources).ticks["kept"] >= kept, "it goes on"
    new.wait_for(2)
    assert not [key for key in agenda(sources).runs if key == "skipped old"]


def test_one_that_is_added_or_removed_while_it_runs_counts_at_once(sources: Stage) -> None:
    """The alarm is heard: no heartbeat has to come first."""
    runs = Runs()
    app = App(APP)
    app.handler("report")(runs.note)
    sources.start(app, **FAR_HEARTBEAT)
    sources.wait_for(sources.instances[0], "elected")

    put(sources, "extra", kind="report", every=EVERY, body="text")
    wait_until(lambda: len(runs.messages) >= 2, within=8, what="it is run")
    assert (runs.messages[0].body, runs.messages[0].key[:6]) == ("text", "extra@")

    assert put_schedule(sources.store.link, sources.store.keys, "extra", b"")
    wait_until(lambda: sources.stored("tick:schedule:extra") is None, what="it is gone")


def test_what_is_delayed_is_handled_when_it_is_due_and_not_with_the_next_heartbeat(sources: Stage) -> None:
    """The alarm again; never early."""
    runs, app = Runs(), App(APP, url=sources.store.server.url, namespace=sources.store.keys.namespace)
    app.handler("report")(runs.note)
    sources.start(app, **FAR_HEARTBEAT)
    sources.wait_for(sources.instances[0], "elected")

    app.publish("report", "x", delay=0.3)
    wait_until(lambda: runs.messages, within=8, what="it is handled")

    assert time.time() - runs.messages[0].published_at >= 0.3


@pytest.mark.parametrize(
    "strange", [b"{", b'{"name":"strange","kind":"x"}', b'{"name":"other","kind":"x","every_ms":50}']
)
def test_one_that_cannot_be_read_is_passed_over_and_said(
    sources: Stage, strange: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Somebody else wrote it, or a newer version: the others go on."""
    runs = Runs()
    sources.start(scheduled(runs))
    runs.wait_for(1)

    sources.store.link.command("HSET", sources.store.keys.schedules, "strange", strange)
    sources.store.link.command("HINCRBY", sources.store.keys.meta, "agenda", 1)
    wait_until(lambda: "schedule.unreadable schedule=strange" in caplog.text, what="it is said")
    runs.wait_for(len(runs.messages) + 5)

    assert "strange" in agenda(sources).schedules


# pauses


def test_ticks_of_a_pause_go_by_also_across_a_takeover(sources: Stage) -> None:
    """Nobody makes up for them."""
    runs = Runs()
    app = scheduled(runs, missed="all")
    app.schedule(every=EVERY, name="other")(lambda: None)
    first, second = sources.start(app), sources.start(app)
    runs.wait_for(3)
    switch(sources, "schedule:job", on=True)
    wait_until(lambda: "schedule:job" in known_as_paused(sources), what="the generator knows of the pause")
    paused_at = int(sources.stored("tick:schedule:job") or 0)

    hand_over(sources, first, second)
    since = int(sources.stored("tick:schedule:other") or 0)
    wait_until(lambda: int(sources.stored("tick:schedule:other") or 0) > since + 500, what="ten ticks of the other")
    assert int(sources.stored("tick:schedule:job") or 0) == paused_at
    resumed_at = agenda(sources).now_ms
    switch(sources, "schedule:job", on=False)
    already = sum(tick <= paused_at for tick in runs.ticks)
    runs.wait_for(already + 5)

    assert not [tick for tick in runs.ticks if paused_at < tick <= resumed_at]
    assert of_runs(sources, "skipped") == 0


def test_a_paused_source_stays_paused_when_another_instance_takes_over(sources: Stage) -> None:
    """Nobody calls it before the agenda was read; and when it is resumed, it goes on where it was."""
    app, called = App(APP), list[int]()

    @app.source(every=0.01)
    def count(source: Source[None, int]) -> Page[int]:
        called.append(source.term)
        return Page([str(source.cursor or 0)], cursor=(source.cursor or 0) + 1)

    @app.source(every=0.01, name="other")
    def other(source: Source[None, int]) -> Page[int]:
        return Page([], cursor=(source.cursor or 0) + 1)

    first, second = sources.start(app), sources.start(app)
    wait_until(lambda: len(called) > 3, what="it is called")
    switch(sources, "source:count", on=True)
    wait_until(lambda: "source:count" in known_as_paused(sources), what="the generator knows of the pause")
    hand_over(sources, first, second)
    cursor = int(sources.stored("cursor:other") or 0)
    wait_until(lambda: int(sources.stored("cursor:other") or 0) > cursor + 20, what="the other one goes on")

    assert set(called) == {1}
    published = len(sources.published())
    switch(sources, "source:count", on=False)
    found = sources.wait_until_published(published + 5)

    assert found == [str(number) for number in range(len(found))]
    assert set(called) == {1, 2}
