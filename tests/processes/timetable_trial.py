"""Schedules while instances are killed and frozen, mostly the generator: faults by a seed, then the account of all ticks."""

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from soloist.store.agenda import SCHEDULE_SOURCE, Agenda
from soloist.store.control import pause
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server
from tests.processes.crew import Crew, Running
from tests.processes.timetable import app
from tests.processes.timetable_account import Account, Desk, Run, accounts, complaints
from tests.waiting import wait_until

APP = "tests.processes.timetable:app"
OPTIONS = ("--lease", 1, "--claim-lease", 3, "--max-attempts", 1000)
MANY = 3
"""Instances."""

KILL = "kill"
FREEZES = {"freeze": 0.5, "freeze beyond the lease": 1.6, "freeze beyond the claim lease": 4.2}
"""Seconds."""

OF_GENERATOR = 0.75
SILENCE = 2.5
"""Seconds without a publication after which the pause is known to everybody: each schedule would have had two ticks."""


@dataclass(frozen=True)
class Fault:
    """One that happened.

    Attributes:
        at_ms: by the wall clock.
        tag: of the term that was on.
        is_fair: it hit the generator, nobody else was struck at that time, and a judge was in line.
    """

    what: str
    at_ms: float
    tag: str
    is_fair: bool


@dataclass
class Outcome:
    """How it went."""

    seed: int
    faults: list[Fault] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    accounts: dict[str, Account] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    superseded: dict[str, int] = field(default_factory=dict)
    reclaimed: int = 0

    @property
    def counted(self) -> Counter[str]:
        return Counter(fault.what for fault in self.faults)

    def takeovers_ms(self, *whats: str) -> list[tuple[Fault, float]]:
        """From each fair fault to the first publication of a later term."""
        found = []
        for fault in self.faults:
            if fault.what in whats and fault.is_fair:
                later = [
                    run.published_ms for run in self.runs if run.published_ms >= fault.at_ms and run.tag != fault.tag
                ]
                if later:
                    found.append((fault, min(later) - fault.at_ms))
        return found


class Trial:
    """One run of it.

    Args:
        faults: how many, one each so many seconds.
    """

    def __init__(self, crew: Crew, seed: int, faults: int, every: float) -> None:
        self._crew = crew
        self._desk = Desk(crew.url, crew.namespace)
        self._chance = random.Random(seed)
        self._faults = faults
        self._every = every
        self._everyone: list[Running] = []
        self._frozen: dict[Running, float] = {}
        self.outcome = Outcome(seed)

    def run(self) -> Outcome:
        self._everyone = [self._start() for _ in range(MANY)]
        for running in self._everyone:
            running.wait_for("joined")
        wait_until(lambda: set(self._desk.agenda().schedules) == set(app.jobs), what="the schedules are declared")
        before = self._desk.agenda()
        begun = time.monotonic()
        for number in range(1, self._faults + 1):
            self._wait_until(begun + number * self._every)
            self._strike()
        self._wait_until(time.monotonic() + self._every)
        for running in list(self._frozen):
            self._thaw(running)
        after = self._settle()
        self._judge(before, after)
        return self.outcome

    def _start(self) -> Running:
        return self._crew.start(APP, *OPTIONS, joins=False)

    def _wait_until(self, moment: float) -> None:
        while (left := moment - time.monotonic()) > 0:
            time.sleep(min(left, 0.02))
            for running in [each for each, until in self._frozen.items() if time.monotonic() > until]:
                self._thaw(running)

    def _thaw(self, running: Running) -> None:
        del self._frozen[running]
        running.thaw()

    def _strike(self) -> None:
        """One fault, as soon as somebody is left to go on."""
        give_up = time.monotonic() + 30
        while len(self._free()) < 2:
            assert time.monotonic() < give_up, "nobody is left"
            self._wait_until(time.monotonic() + 0.02)
        victim, is_generator = self._victim()
        what = KILL if self._chance.random() < 0.5 else self._chance.choice(list(FREEZES))
        fair = is_generator and not self._frozen and any(place.endswith(b" 1") for place in self._crew.line())
        self.outcome.faults.append(Fault(what, time.time() * 1000, self._desk.tag(), fair))
        if what == KILL:
            victim.kill()
            self._everyone.remove(victim)
            self._everyone.append(self._start())
        else:
            victim.freeze()
            self._frozen[victim] = time.monotonic() + FREEZES[what]

    def _victim(self) -> tuple[Running, bool]:
        free, term = self._free(), self._crew.snapshot().term
        generating = [running for running in free if term is not None and running.id == term.instance]
        if generating and self._chance.random() < OF_GENERATOR:
            return generating[0], True
        victim = self._chance.choice(free)
        return victim, victim in generating

    def _free(self) -> list[Running]:
        return [running for running in self._everyone if running.told("joined") and running not in self._frozen]

    def _settle(self) -> Agenda:
        """Pause all schedules, and let everything that was published be run."""
        keys, link = Keys(self._crew.namespace), Link(Server(self._crew.url), 5)
        assert pause(link, keys, [], [SCHEDULE_SOURCE + name for name in app.jobs], on=True) == len(app.jobs)
        link.close()
        self._wait_for_silence()
        self._crew.wait_until_handled(0, within=120)
        codes = [running.end() for running in self._everyone if running.wait_for("joined")]
        self.outcome.wrong += [f"an instance ended with {code}" for code in codes if code]
        return self._desk.agenda()

    def _wait_for_silence(self) -> None:
        published, since = self._crew.snapshot().published, time.monotonic()
        give_up = since + 60
        while time.monotonic() - since < SILENCE:
            assert time.monotonic() < give_up, "ticks are published during a pause"
            time.sleep(0.02)
            seen = self._crew.snapshot().published
            if seen != published:
                published, since = seen, time.monotonic()

    def _judge(self, before: Agenda, after: Agenda) -> None:
        outcome, seen = self.outcome, self._crew.snapshot()
        completed, failed = self._desk.completed(), self._desk.failed()
        outcome.runs = completed + failed
        outcome.accounts = accounts(before, after, outcome.runs)
        outcome.superseded, outcome.reclaimed = dict(seen.superseded), seen.reclaimed
        outcome.wrong += complaints(outcome.accounts)
        outcome.wrong += [f"{key} is counted as running" for key in after.runs if key.startswith("running ")]
        for what, counted, found in (
            ("published", seen.published, len({run.id for run in outcome.runs})),
            ("completed", seen.completed, len(completed)),
            ("failed", seen.failed, len(failed)),
        ):
            if counted != found:
                outcome.wrong.append(f"{counted} {what} by the counter, {found} by what the runs have left")


def lateness(runs: Sequence[Run]) -> list[float]:
    """Of those that wait for nobody's end."""
    return [float(run.late_ms) for run in runs if app.jobs[run.schedule].overlap == "allow"]
