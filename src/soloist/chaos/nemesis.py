"""The nemesis: carries out a plan, fault by fault, in the main thread, which alone may start processes on a leash."""

import heapq
import time
from collections import Counter
from collections.abc import Callable
from itertools import count

from soloist.chaos.catalogue import KINDS
from soloist.chaos.plan import Plan, Step
from soloist.chaos.stage import Hit, Stage
from soloist.chaos.strikes import STRIKES
from soloist.chaos.strikes.server import heal
from soloist.chaos.struck import Struck

LOOK = 0.02
"""Seconds between looks at whether somebody has ended."""


class Nemesis:
    """Does what a plan says.

    Attributes:
        hits: the faults that have happened, as they ended.
        passed_over: how many of each kind could not be, since there was nobody to hit.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self.hits: list[Hit] = []
        self.passed_over: Counter[str] = Counter()

    def carry_out(self, plan: Plan, shown: Callable[[], None]) -> None:
        """All of it; returns when its time is over, and everything is healed."""
        begun = time.monotonic()
        for step in plan.steps:
            self._at(begun + step.at, lambda step=step: self._strike(step))  # type: ignore[misc]  # bound at once
        while self._due or time.monotonic() < begun + plan.seconds:
            self._stage.fleet.replace_ended()
            now = time.monotonic()
            while self._due and self._due[0][0] <= now:
                heapq.heappop(self._due)[2]()
            shown()
            time.sleep(LOOK)
        self.heal()

    def heal(self) -> None:
        """Take back whatever is not over yet."""
        while self._due:
            heapq.heappop(self._due)[2]()
        heal(self._stage)
        self._stage.fleet.replace_ended()

    def _at(self, when: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._due, (when, next(self._order), action))

    def _strike(self, step: Step) -> None:
        witness = self._stage.witness
        generator, term, at_ms = witness.generator_pid, witness.term, _now_ms()
        struck = STRIKES[step.kind](self._stage, step)
        if struck is None:
            self.passed_over[step.kind] += 1
            return
        pid = struck.slot.pid if struck.slot is not None else 0
        self._at(time.monotonic() + step.seconds, lambda: self._take_back(step, struck, at_ms, pid, (generator, term)))

    def _take_back(self, step: Step, struck: Struck, at_ms: int, pid: int, played: tuple[int, int]) -> None:
        struck.take_back()
        generator, term = played
        family = KINDS[step.kind].family
        self.hits.append(Hit(step.kind, family, at_ms, _now_ms(), pid, term, pid == generator and pid > 0, struck.told))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
