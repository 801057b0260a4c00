"""A plan: which fault comes when, and whom it hits. Pure: all of it follows from the seed."""

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from soloist.chaos.catalogue import KINDS, FaultKind
from soloist.settings import Settings

CALM = 1.5
"""Seconds before the first fault, in which everybody comes to know the others: who judges by will must be there for 1 s."""

OVERLAPPING = 0.2
"""Share of faults that begin before the one before them is over, or has settled."""


@dataclass(frozen=True)
class Step:
    """One fault.

    Attributes:
        at: seconds after the beginning.
        seconds: how long it lasts.
        on_generator: whether the generator is meant, if it can be.
        chance: between 0 and 1: what else there is to choose follows from it.
    """

    at: float
    kind: str
    seconds: float
    on_generator: bool
    chance: float


@dataclass(frozen=True)
class Plan:
    """All of them, in the order in which they begin."""

    seed: int
    seconds: float
    steps: tuple[Step, ...]


def make_plan(
    seed: int, settings: Settings, possible: Collection[str], *, seconds: float, wanted: Mapping[str, int] | None = None
) -> Plan:
    """A plan of so many faults of each kind; or, if nobody says how many, of all that are possible for so long."""
    chance = random.Random(seed)
    names = _counted(chance, wanted) if wanted is not None else _shares(chance, possible)
    steps: list[Step] = []
    at = over = CALM
    for name in names:
        step = _step(chance, KINDS[name], at, settings)
        ends = step.at + step.seconds + KINDS[name].settles
        if wanted is None and max(over, ends) > seconds:
            break
        steps.append(step)
        over = max(over, ends)
        at = chance.uniform(step.at, over) if chance.random() < OVERLAPPING else over + chance.uniform(0.0, 0.3)
    return Plan(seed, seconds if wanted is None else over, tuple(steps))


def _step(chance: random.Random, kind: FaultKind, at: float, settings: Settings) -> Step:
    on_generator = chance.random() < kind.on_generator
    return Step(at, kind.name, kind.length(chance, settings), on_generator, chance.random())


def _counted(chance: random.Random, wanted: Mapping[str, int]) -> list[str]:
    names = [name for name, many in wanted.items() for _ in range(many)]
    chance.shuffle(names)
    return names


def _shares(chance: random.Random, possible: Collection[str]) -> list[str]:
    """Of each kind one first, then by their shares; more than there will be time for."""
    kinds = [KINDS[name] for name in KINDS if name in possible]
    once = [kind.name for kind in kinds]
    chance.shuffle(once)
    return once + [each.name for each in chance.choices(kinds, [kind.share for kind in kinds], k=10_000)]
