"""runtime/scheduler.py without a server: what it offers, when, and what it makes of the answers."""

from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from soloist.runtime.patience import Outage
from soloist.runtime.played_term import PlayedTerm
from soloist.runtime.scheduler import Planned, Scheduler
from soloist.runtime.sender import Outcome, Tick
from soloist.schedules.due import Due
from soloist.schedules.making import make_schedule, to_json
from soloist.schedules.schedule import Schedule
from soloist.settings import Settings
from soloist.store.agenda import Agenda
from soloist.store.server import Server

NOON = 1_800_000_000_000
MINUTE = 60_000


def minutely(name: str = "it", **options: Any) -> Schedule:
    return make_schedule("here", name=name, kind=name, every=60, **options)


class Sender:
    """Answers what it is told to; with the last answer the term is over."""

    def __init__(self, outcomes: list[Outcome]) -> None:
        self.offers: list[tuple[str, list[int], Tick]] = []
        self.outcomes = deque(outcomes)
        self.meanwhile: Callable[[], None] = lambda: None

    def offer(self, term: PlayedTerm, source: str, sheet: Any, tick: Tick) -> Outcome:
        self.offers.append((source, list(sheet.ticks), tick))
        self.meanwhile()
        outcome = self.outcomes.popleft()
        if not self.outcomes:
            term.end()
        return outcome


class Stage:
    """One scheduler, the time, and what is on the agenda."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_ms = NOON
        self._patch = monkeypatch
        instance = SimpleNamespace(
            server=Server("redis://127.0.0.1:1"),
            settings=Settings(),
            outage=Outage(),
            guard=lambda function: function,
            schedule_ms=lambda: self.now_ms,
            part=SimpleNamespace(plans=None),
        )
        self.sender = Sender([])
        self.scheduler = Scheduler(cast("Any", instance), {}, cast("Any", self.sender))

    def play(
        self,
        schedules: list[Schedule],
        outcomes: list[Outcome],
        *paused: str,
        last: int = NOON,
        runs: dict[str, str] | None = None,
    ) -> None:
        """One term, until there is nothing more to answer."""
        agenda = Agenda(
            now_ms=self.now_ms,
            version=1,
            schedules={each.name: to_json(each).decode() for each in schedules},
            ticks={each.name: last for each in schedules},
            paused=frozenset(paused),
            runs=runs or {},
        )
        self._patch.setattr(self.scheduler, "_read", lambda _: agenda)
        self.sender.offers.clear()
        self.sender.outcomes.extend(outcomes)
        played = SimpleNamespace(number=1, call=0, seq=0, tag="t", cursors={}, ticks={}, takeover_ms=0)
        self.scheduler._keep(PlayedTerm(cast("Any", played), cast("Any", None), 0.0, 2.0))


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(monkeypatch)


def test_what_is_due_is_offered_with_the_tick_that_is_done_with_then(stage: Stage) -> None:
    """Of three that are over, the latest; the others are counted in the same step."""
    stage.now_ms = NOON + 3 * MINUTE

    stage.play([minutely(), minutely("other", missed="all")], [Outcome.ACCEPTED] * 2)

    assert stage.sender.offers == [
        ("schedule:it", [NOON + 3 * MINUTE], Tick(NOON + 3 * MINUTE, "allow", 2)),
        ("schedule:other", [NOON + number * MINUTE for number in (1, 2, 3)], Tick(NOON + 3 * MINUTE, "allow", 0)),
    ]


def test_those_that_are_passed_over_are_told_without_asking_for_a_run(stage: Stage) -> None:
    """A run that still works is no reason to wait with it."""
    stage.now_ms = NOON + 3 * MINUTE - 1

    stage.play([minutely(missed="skip", overlap="queue")], [Outcome.ACCEPTED])

    assert stage.sender.offers == [("schedule:it", [], Tick(NOON + 2 * MINUTE, "allow", 2))]


def test_one_that_finds_a_run_at_work_is_offered_again_and_is_not_missed_meanwhile(stage: Stage) -> None:
    """However long it waits."""
    stage.now_ms = NOON + MINUTE
    stage.sender.meanwhile = lambda: setattr(stage, "now_ms", stage.now_ms + 20_000)

    stage.play([minutely(missed="skip", overlap="queue")], [Outcome.BUSY, Outcome.BUSY, Outcome.ACCEPTED])

    assert [offer[1:] for offer in stage.sender.offers] == [([NOON + MINUTE], Tick(NOON + MINUTE, "queue", 0))] * 3


def test_one_that_finds_a_run_at_work_and_is_passed_over_is_not_offered_again(stage: Stage) -> None:
    """The script has counted it."""
    stage.now_ms = NOON + MINUTE
    stage.sender.meanwhile = lambda: setattr(stage, "now_ms", NOON + 2 * MINUTE)

    stage.play([minutely(overlap="skip")], [Outcome.BUSY, Outcome.ACCEPTED])

    assert [offer[1] for offer in stage.sender.offers] == [[NOON + MINUTE], [NOON + 2 * MINUTE]]


def test_what_waited_in_an_older_term_says_nothing_in_a_new_one(stage: Stage) -> None:
    """It was long ago: the ticks since then were missed."""
    queueing = minutely(missed="skip", overlap="queue")
    stage.now_ms = NOON + MINUTE
    stage.play([queueing], [Outcome.BUSY])

    stage.now_ms = NOON + 61 * MINUTE - 1
    stage.play([queueing], [Outcome.ACCEPTED])

    assert stage.sender.offers == [("schedule:it", [], Tick(NOON + 60 * MINUTE, "allow", 60))]


def test_one_that_waited_for_a_run_when_the_generator_changed_still_waits(stage: Stage) -> None:
    """Redis knows it: what is in memory is gone with the one who generated."""
    stage.now_ms = NOON + 2 * MINUTE - 1

    stage.play([minutely(missed="skip", overlap="queue")], [Outcome.ACCEPTED], runs={"waits it": str(NOON + MINUTE)})

    assert [offer[1] for offer in stage.sender.offers] == [[NOON + MINUTE]]


def test_one_that_cannot_keep_up_holds_up_nobody(stage: Stage) -> None:
    """Each has its turn."""
    stage.now_ms = NOON + 9 * MINUTE

    stage.play([minutely("hasty", missed="all", overlap="queue"), minutely("other")], [Outcome.ACCEPTED] * 4)

    assert [offer[0] for offer in stage.sender.offers][:3] == ["schedule:hasty", "schedule:other", "schedule:hasty"]


def test_ticks_with_large_bodies_come_in_small_pages(stage: Stage) -> None:
    """A page is one step of the server."""
    stage.now_ms = NOON + 9 * MINUTE

    stage.play([minutely(missed="all", body="x" * 500_000)], [Outcome.ACCEPTED] * 2)

    assert [len(offer[1]) for offer in stage.sender.offers] == [2, 2]


def test_where_there_is_no_room_the_others_are_offered_all_the_same(stage: Stage) -> None:
    stage.now_ms = NOON + MINUTE

    stage.play([minutely("full"), minutely("other")], [Outcome.FULL, Outcome.ACCEPTED, Outcome.ACCEPTED])

    assert [offer[0] for offer in stage.sender.offers] == ["schedule:full", "schedule:other", "schedule:full"]


def test_what_is_paused_is_not_planned(stage: Stage) -> None:
    stage.now_ms = NOON + MINUTE

    stage.play([minutely("paused"), minutely("other")], [Outcome.ACCEPTED], "schedule:paused", "source:other")

    assert [offer[0] for offer in stage.sender.offers] == ["schedule:other"]


def test_where_runs_must_not_be_side_by_side_one_tick_is_offered_at_a_time() -> None:
    plan = Planned(minutely(missed="all", overlap="queue"), "", NOON)

    assert plan.due(NOON + 5 * MINUTE, 0) == Due([NOON + MINUTE], NOON + MINUTE)
