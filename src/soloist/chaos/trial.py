"""A whole run of chaos: the stage is set, the plan is carried out, everything comes to its end, and is judged."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace

from soloist.chaos import ledger
from soloist.chaos.fleet import Slot, Way
from soloist.chaos.nemesis import LOOK, Nemesis
from soloist.chaos.plan import Plan
from soloist.chaos.reckoning import read_books
from soloist.chaos.setting import set_stage
from soloist.chaos.stage import Hit, Stage
from soloist.chaos.takeovers import Figures, bound_ms, figures, takeovers
from soloist.chaos.task import PLAIN
from soloist.chaos.verdict import Verdict, judge
from soloist.chaos.wish import Wish
from soloist.errors import SoloistError, Unavailable
from soloist.inspector import Inspector, Snapshot
from soloist.lab.probe import Probe
from soloist.lab.progress import Progress
from soloist.settings import Settings
from soloist.store.history import Sample
from soloist.store.log import LogEntry
from soloist.store.server import Server

STUCK = 30.0
"""Seconds without progress, all faults being over, after which what is left is taken for lost."""


@dataclass(frozen=True)
class Outcome:
    """What is known of a run in the end.

    Attributes:
        faults: how many of each kind have happened.
        passed_over: how many of each kind had nobody to hit.
    """

    plan: Plan
    verdict: Verdict
    hits: Sequence[Hit]
    faults: Mapping[str, int]
    passed_over: Mapping[str, int]
    entries: Sequence[LogEntry]
    samples: Sequence[Sample]
    instances: int


def run(wish: Wish, plan: Plan, progress: Progress) -> Outcome:
    """Carry it out."""
    probe, offset = Probe(), time.time() - time.monotonic()
    with set_stage(wish, plan) as stage:
        nemesis = Nemesis(stage)
        _wait_for_all(stage, wish.instances)
        progress.begin("chaos", wish.messages)
        try:
            nemesis.carry_out(plan, lambda: progress.at(stage.witness.handled))
            left = _bring_to_an_end(stage, wish, lambda: progress.at(stage.witness.handled))
        finally:
            progress.end()
        stage.fleet.stop(_wait)
        stage.witness.stop()
        accounts = ledger.read(stage.folder)
        books = read_books(stage, left)
        with closing(Inspector(Server(stage.near), stage.namespace)) as inspector:
            samples = inspector.history()

    def was_calm(begun_ms: int, ended_ms: int) -> bool:
        return probe.was_calm_between(begun_ms / 1000 - offset, ended_ms / 1000 - offset)

    told = figures(takeovers(nemesis.hits, accounts.publications, wish.settings, was_calm))
    notes = [f"an instance crashed: {words}" for words in stage.fleet.crashed]
    notes += [f"does not add up at some moment: {seen}" for seen in stage.witness.wrong[:1]]
    notes += [] if wish.no_bounds else _too_slow(told, wish.settings)
    plain = None if wish.target else PLAIN
    judged = judge(books, accounts, plain=plain, forgotten=_forgotten(nemesis.hits), notes=notes)
    verdict = replace(judged, takeovers=told)
    faults = Counter(hit.kind for hit in nemesis.hits)
    hits = sorted(nemesis.hits, key=lambda hit: hit.at_ms)
    return Outcome(
        plan, verdict, hits, faults, nemesis.passed_over, stage.witness.entries, samples, stage.fleet.started
    )


def _too_slow(told: Mapping[str, Figures], settings: Settings) -> list[str]:
    """Which takeovers took longer than is promised (G5)."""
    promised = {kind: bound_ms(kind, settings) for kind in told}
    return [
        f"takeover after {kind}: p99 {of.p99:,} ms, promised {promised[kind]:,} ms"
        for kind, of in told.items()
        if of.p99 > promised[kind]
    ]


def _forgotten(hits: Sequence[Hit]) -> list[tuple[int, int]]:
    """From when to when the server was made to forget: a roll-back its own time, an emptying everything before it."""
    rolled = [(hit.at_ms, hit.ended_ms) for hit in hits if hit.kind == "roll-back"]
    return rolled + [(0, hit.ended_ms) for hit in hits if hit.kind == "empty"]


def _wait_for_all(stage: Stage, instances: int) -> None:
    """Everybody has joined."""

    def have_joined() -> bool:
        stage.fleet.require_alive()
        return sum(1 for entry in stage.witness.entries if entry.event == "joined") >= instances

    if not _wait(have_joined, STUCK):
        raise Unavailable(f"the instances did not join within {STUCK:g} s")
    time.sleep(max(0.0, stage.begins - time.time()))


def _bring_to_an_end(stage: Stage, wish: Wish, shown: Callable[[], None]) -> int:
    """All faults are over: everything that was published gets done. Answers how many do not."""
    with closing(Inspector(Server(stage.near), stage.namespace)) as inspector:
        if wish.target:
            _let_nobody_generate(stage)
        moved, last = time.monotonic(), (-1, -1)
        while True:
            stage.fleet.replace_ended()
            shown()
            seen = _look(inspector)
            if seen is not None:
                open_ = seen.pending + seen.claimed + (0 if wish.target else max(0, wish.messages - seen.published))
                if not open_:
                    return 0
                progress = (seen.published, seen.completed + seen.failed)
                moved, last = (time.monotonic(), progress) if progress != last else (moved, last)
            if time.monotonic() - moved > STUCK:
                return open_ if seen is not None else -1
            time.sleep(LOOK)


def _let_nobody_generate(stage: Stage) -> None:
    """Of a user's App nobody knows how much there is to publish: those that stay only handle."""
    others = stage.fleet.slots.copy()
    for _ in others:
        stage.fleet.add(Slot(Way.DIRECT, stage.near), "--role", "handler")
    for slot in others:
        stage.fleet.remove(slot)


def _look(inspector: Inspector) -> Snapshot | None:
    with suppress(SoloistError):
        return inspector.snapshot()
    return None


def _wait(done: Callable[[], bool], within: float) -> bool:
    deadline = time.monotonic() + within
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK)
    return True
