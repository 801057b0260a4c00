"""The scheduler inside this process, one round of Celery's loop after the other."""

import json
import logging
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from celery.beat import BeatLazyFunc
from celery.schedules import schedule as Interval  # noqa: N812 - it is a class, whatever it is called
from kombu.entity import Queue

from soloist.celery import Scheduler
from soloist.store.control import handover
from tests.documents import Document
from tests.servers import PrivateServer, Store
from tests.waiting import wait_until


class Own(Interval):  # type: ignore[misc]  # Celery has no types
    """A schedule of the user's own, which cannot be listed."""


OFTEN = {"task": "note", "schedule": 0.05, "args": ["often"]}


class Stage:
    """Makes schedulers of one project, and looks at what they send."""

    def __init__(self, store: Store, server: PrivateServer) -> None:
        self.store = store
        self.app = Celery("stage", broker=server.url, set_as_current=False)
        self.app.conf.broker_transport_options = {"global_keyprefix": f"{store.keys.base}data:"}
        self.app.conf.soloist_namespace = store.keys.namespace
        self.app.conf.soloist_lease = 10
        self.made: list[Any] = []

    def scheduler(self, **entries: Any) -> Any:
        self.app.conf.beat_schedule = entries
        self.made.append(Scheduler(app=self.app))
        return self.made[-1]

    def sent(self, queue: str = "celery") -> list[dict[str, Any]]:
        """The messages in a queue, oldest first."""
        found = self.store.link.command("LRANGE", f"{self.store.keys.base}data:{queue}", 0, -1)
        return [json.loads(each) for each in reversed(found)]

    def tasks(self, queue: str = "celery") -> list[str]:
        return [message["headers"]["task"] for message in self.sent(queue)]

    def drive(self, scheduler: Any, until: Callable[[], object], what: str) -> None:
        """As Celery's loop does."""

        def tick() -> object:
            scheduler.tick()
            return until()

        wait_until(tick, what=what)


@pytest.fixture
def stage(store: Store, server: PrivateServer) -> Iterator[Stage]:
    made = Stage(store, server)
    yield made
    for scheduler in made.made:
        scheduler.close()
    made.app.close()


def test_one_that_is_made_for_the_banner_alone_joins_nothing(stage: Stage) -> None:
    """Celery makes one to ask how it is called."""
    lazy = Scheduler(app=stage.app, lazy=True)

    assert f"namespace -> {stage.store.keys.namespace}" in lazy.info
    assert stage.store.link.command("EXISTS", stage.store.keys.meta) == 0


def test_a_schedule_is_added_as_the_manual_says(stage: Stage) -> None:
    """docs/celery.md, word by word; the beat knows it with its next heartbeat."""
    blocks = Document("docs/celery.md").blocks("sh")
    (commands,) = [block.splitlines() for block in blocks if block.startswith("soloist schedules")]
    scheduler = stage.scheduler(often=OFTEN)
    stage.drive(scheduler, stage.sent, "it leads")

    def run(command: str) -> str:
        here = command.replace("redis://127.0.0.1:6379/0", stage.store.server.url)
        words = shlex.split(here.replace("celery-beat", stage.store.keys.namespace))
        return subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, check=True).stdout

    add, show, pause, remove = commands
    run(add)
    stage.drive(scheduler, lambda: "nightly" in scheduler.schedule, "the beat knows it")
    nightly = scheduler.schedule["nightly"]
    assert (nightly.task, nightly.kwargs, nightly.schedule.of.tz) == ("proj.clean", {"days": 30}, "Europe/Berlin")
    assert {"often", "nightly"} <= set(run(show).split())
    run(pause)
    stage.drive(scheduler, lambda: "nightly" not in scheduler.schedule, "it is paused")
    run(remove)
    assert "nightly" not in run(show)


def test_celerys_own_entries_are_there(stage: Stage, tmp_path: Path) -> None:
    """As in the scheduler that `celery beat` runs by itself: results that do not expire are to be cleaned up."""
    stage.app.conf.result_backend = f"file://{tmp_path}"

    scheduler = stage.scheduler(often=OFTEN)

    stage.drive(scheduler, lambda: set(scheduler.schedule) == {"often", "celery.backend_cleanup"}, "both are there")


def test_a_queue_that_the_acl_forbids_is_told_and_stops_nobody(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """Of two entries, one goes where the user may not write."""
    link, user = stage.store.link, stage.store.keys.namespace
    allowed = (f"~{stage.store.keys.base}*", f"%R~{user}*", "&*", "+@all")
    link.command("ACL", "SETUSER", user, "on", ">secret", *allowed)
    stage.app.conf.broker_url = f"redis://{user}:secret@{stage.store.server}"
    stage.app.conf.broker_transport_options = {}
    inside, outside = f"{stage.store.keys.base}data:celery", f"{user}-outside"
    entries = {
        "inside": {
            **OFTEN,
            "options": {"exchange": "", "routing_key": inside, "queue": Queue(inside, no_declare=True)},
        },
        "outside": {
            **OFTEN,
            "options": {"exchange": "", "routing_key": outside, "queue": Queue(outside, no_declare=True)},
        },
    }
    try:
        scheduler = stage.scheduler(**entries)
        stage.drive(
            scheduler, lambda: len(stage.sent()) >= 3 and "Message Error: outside" in caplog.text, "one is sent"
        )
        scheduler.close()
    finally:
        link.command("ACL", "DELUSER", user)


def test_a_message_carries_its_tick_and_the_headers_of_its_entry(stage: Stage) -> None:
    """For who wants to know for which day a report is; and lazy arguments are evaluated when it is sent."""
    lazy = {**OFTEN, "args": [BeatLazyFunc(lambda: "lazy")], "options": {"headers": {"mine": 1}}}
    scheduler = stage.scheduler(lazy=lazy)

    stage.drive(scheduler, lambda: len(stage.sent()) >= 2, "two are sent")

    first, second = (message["headers"] for message in stage.sent()[:2])
    assert first["soloist_tick"].endswith("+00:00")
    assert first["soloist_tick"] < second["soloist_tick"]
    assert (first["mine"], first["celery_beat_task"], first["argsrepr"]) == (1, True, "['lazy']")
    assert lazy["options"] == {"headers": {"mine": 1}}


def test_an_entry_that_cannot_be_listed_is_sent_and_remembered(stage: Stage) -> None:
    """Also before its first run: whoever is elected next goes on from when it was first seen."""
    rare = {"task": "rare", "schedule": Own(3600, app=stage.app)}
    stage.drive(stage.scheduler(often=OFTEN, rare=rare), stage.sent, "it leads")
    seen = stage.store.link.command("HGET", stage.store.keys.term, "tick:schedule:rare")
    assert seen is not None
    stage.made[0].close()

    frequent = {"task": "rare", "schedule": Own(0.05, app=stage.app)}
    scheduler = stage.scheduler(often=OFTEN, rare=rare)
    stage.drive(scheduler, lambda: scheduler.schedule, "it leads")
    assert round(scheduler.schedule["rare"].last_run_at.timestamp() * 1000) == int(seen)
    assert stage.store.link.command("HEXISTS", stage.store.keys.schedules, "rare") == 0
    scheduler.close()

    stage.drive(stage.scheduler(rare=frequent), lambda: "rare" in stage.tasks(), "it is sent")


def test_an_entry_that_cannot_be_composed_is_told_and_stops_nobody(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """As with Celery's own beat: this tick is passed over."""
    odd = {"task": "odd", "schedule": 0.05, "args": [object()]}
    scheduler = stage.scheduler(odd=odd, often=OFTEN)

    stage.drive(scheduler, lambda: len(stage.sent()) >= 3 and "Message Error" in caplog.text, "the other is sent")

    assert set(stage.tasks()) == {"note"}


def test_a_queue_that_is_no_list_is_told_and_stops_nobody(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """Somebody else wrote it; nothing of it is changed."""
    theirs = f"{stage.store.keys.base}data:theirs"
    scheduler = stage.scheduler(odd={**OFTEN, "options": {"queue": "theirs"}}, often=OFTEN)
    stage.drive(scheduler, lambda: stage.sent("theirs"), "it is a list")
    stage.store.link.command("DEL", theirs)
    stage.store.link.command("SET", theirs, "theirs")

    before = len(stage.sent())
    stage.drive(scheduler, lambda: len(stage.sent()) >= before + 3 and "is no list" in caplog.text, "the other is sent")

    assert stage.store.link.command("GET", theirs) == b"theirs"


def test_what_reaches_no_queue_is_told(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """Celery's own beat drops it in silence."""
    nowhere = {**OFTEN, "options": {"exchange": "nowhere", "routing_key": "x"}}
    scheduler = stage.scheduler(odd=nowhere, often=OFTEN)

    stage.drive(scheduler, lambda: stage.sent() and "odd reached no queue" in caplog.text, "the other is sent")


def test_a_connection_that_is_lost_while_composing_loses_no_tick(
    stage: Stage, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Celery's own beat says so, and goes on with the next tick."""
    scheduler = stage.scheduler(once={"task": "once", "schedule": 3600.0})
    stage.drive(scheduler, lambda: scheduler.schedule, "it leads")
    due = scheduler.schedule["once"]
    last_run_at = due.last_run_at = due.last_run_at.replace(year=2020)
    scheduler._heap = None
    failures = iter([ConnectionResetError("gone"), ConnectionResetError("gone")])
    send = stage.app.send_task

    def breaking(*args: Any, **kwargs: Any) -> Any:
        for failure in failures:
            raise failure
        return send(*args, **kwargs)

    monkeypatch.setattr(stage.app, "send_task", breaking)
    monkeypatch.setattr("soloist.celery.scheduler.AGAIN", 0.01)

    stage.drive(scheduler, stage.sent, "it is sent")

    assert stage.tasks() == ["once"]
    assert caplog.text.count("gone. Trying again") + caplog.text.count("gone Trying again") == 2
    assert scheduler.schedule["once"].last_run_at > last_run_at


def test_a_broker_that_cannot_be_reached_for_sending_is_tried_again(
    stage: Stage, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The heart has a connection of its own, so it may lead by then. Nothing is sent, and nothing lost."""
    scheduler = stage.scheduler(often=OFTEN)
    failures = iter([ConnectionResetError("gone"), ConnectionResetError("gone")])
    connect = scheduler._ensure_connected

    def breaking() -> Any:
        for failure in failures:
            raise failure
        return connect()

    monkeypatch.setattr(scheduler, "_ensure_connected", breaking)
    monkeypatch.setattr("soloist.celery.scheduler.LOOK", 0.01)

    stage.drive(scheduler, stage.sent, "it is sent")

    assert caplog.text.count("Connection error: gone") == 2


def test_the_term_can_be_handed_over(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """`soloist handover --namespace celery-beat`: for who wants to work on a host."""
    caplog.set_level(logging.INFO)
    first, second = stage.scheduler(often=OFTEN), stage.scheduler(often=OFTEN)
    stage.drive(first, stage.sent, "the first leads")
    wait_until(lambda: stage.store.link.command("HLEN", stage.store.keys.line), what="the second is in line")

    assert handover(stage.store.link, stage.store.keys).outcome == "OK"

    stage.drive(second, lambda: second.schedule, "the second leads")
    before = len(stage.sent())
    stage.drive(second, lambda: len(stage.sent()) > before, "it sends")
    stage.drive(first, lambda: not first.schedule, "the first follows")


def test_a_beat_that_hangs_while_composing_leaves_the_part_to_another(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arguments may be functions of the user's, and its heart goes on beating. What it sends in the end is not accepted."""
    monkeypatch.setattr("soloist.celery.member.COMPOSING", 0.2)
    hanging, hangs = threading.Event(), threading.Event()

    def argument() -> str:
        if threading.current_thread().name == "first" and stage.sent():
            hangs.set()
            hanging.wait(60)
        return threading.current_thread().name

    entry = {**OFTEN, "args": [BeatLazyFunc(argument)]}
    first, second = stage.scheduler(often=entry), stage.scheduler(often=entry)
    driving = threading.Thread(target=lambda: stage.drive(first, hanging.is_set, "the end"), name="first")
    driving.start()
    assert hangs.wait(30)

    stage.drive(second, lambda: second.schedule, "the second leads")
    before = len(stage.sent())
    stage.drive(second, lambda: len(stage.sent()) >= before + 3, "it sends")
    hanging.set()
    driving.join()

    senders = [message["headers"]["argsrepr"] for message in stage.sent()]
    assert senders == sorted(senders, reverse=True), "the one that hung sent no more"
    assert {*senders[-3:]} == {"['MainThread']"}


def test_a_beat_that_is_forgotten_is_reborn(stage: Stage) -> None:
    """Somebody emptied the database: it begins anew, and so do the schedules."""
    scheduler = stage.scheduler(often=OFTEN)
    stage.drive(scheduler, stage.sent, "it leads")
    keys = stage.store.link.command("KEYS", f"{stage.store.keys.base}*")
    stage.store.link.command("DEL", *keys)

    stage.drive(scheduler, lambda: len(stage.sent()) >= 2, "it sends again")


def test_a_closed_one_can_be_closed_again(stage: Stage) -> None:
    """Celery does so, from the handler of a signal and at the end."""
    scheduler = stage.scheduler(often=OFTEN)
    stage.drive(scheduler, stage.sent, "it leads")

    scheduler.close()
    scheduler.close()

    assert stage.store.link.command("ZCARD", stage.store.keys.instances) == 0


def test_a_signal_in_the_middle_of_a_tick_waits_for_its_end(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The handler of the signal closes it on top of whatever it does then: what is half done must not be met."""
    scheduler = stage.scheduler(often=OFTEN)
    closed: list[bool] = []

    def interrupted(*_: Any, **__: Any) -> None:
        scheduler.close()
        closed.append(scheduler._member is None)
        raise SystemExit

    monkeypatch.setattr(scheduler, "_deliver", interrupted)

    with pytest.raises(SystemExit):
        stage.drive(scheduler, lambda: False, "it is interrupted")

    assert closed == [False]
    scheduler.close()
    assert scheduler._member is None
