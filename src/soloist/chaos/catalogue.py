"""The faults of a run of chaos: what each is called, whom it hits, how long it lasts."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from soloist.settings import Settings

Length: TypeAlias = Callable[[random.Random, Settings], float]
"""Seconds that one of a kind lasts."""


class Family(StrEnum):
    """Whom it hits, and so what it takes."""

    INSTANCE = "instance"
    CONNECTION = "connection"
    NETWORK = "network"
    SERVER = "server"


def at_once(_chance: random.Random, _settings: Settings) -> float:
    return 0.0


def between(shortest: float, longest: float) -> Length:
    """Seconds."""
    return lambda chance, _settings: chance.uniform(shortest, longest)


def around_the_lease(chance: random.Random, settings: Settings) -> float:
    """Less than the lease, more than it, and now and then more than the claim lease."""
    fate = chance.random()
    if fate < 0.3:
        return chance.uniform(0.2, 0.8) * settings.lease
    if fate < 0.9:
        return chance.uniform(1.3, 2.0) * settings.lease
    return settings.claim_lease + chance.uniform(1.0, 1.5)


def past_the_lease(chance: random.Random, settings: Settings) -> float:
    return chance.uniform(1.3, 2.0) * settings.lease


@dataclass(frozen=True)
class FaultKind:
    """One kind.

    Attributes:
        share: how many of them a plan has beside the others, where nobody says.
        length: how long one lasts.
        settles: seconds after its end in which nothing else begins, most of the time.
        on_generator: how often it is the generator that is hit, if an instance is.
        only_asked: it takes away what the server had acknowledged, so it is done only for those who name it.
    """

    name: str
    family: Family
    share: int
    length: Length
    settles: float
    on_generator: float = 0.0
    only_asked: bool = False


INSTANCE, CONNECTION, NETWORK, SERVER = Family.INSTANCE, Family.CONNECTION, Family.NETWORK, Family.SERVER

KINDS = {
    kind.name: kind
    for kind in (
        FaultKind("kill", INSTANCE, 12, at_once, 1.0, on_generator=0.7),
        FaultKind("freeze", INSTANCE, 5, around_the_lease, 0.6, on_generator=0.7),
        FaultKind("terminate", INSTANCE, 3, at_once, 0.8, on_generator=0.5),
        FaultKind("start", INSTANCE, 2, between(1.0, 3.0), 0.3),
        FaultKind("lock", INSTANCE, 2, between(0.5, 3.0), 0.5, on_generator=0.5),
        FaultKind("slow", INSTANCE, 2, between(0.5, 3.0), 0.3),
        FaultKind("die", INSTANCE, 3, at_once, 1.0),
        FaultKind("get-errors", INSTANCE, 2, between(0.6, 1.0), 0.3),
        FaultKind("cut", CONNECTION, 2, at_once, 0.4, on_generator=0.5),
        FaultKind("lost-reply", CONNECTION, 4, between(0.8, 1.2), 0.5, on_generator=0.5),
        FaultKind("delay", CONNECTION, 2, past_the_lease, 0.5, on_generator=0.5),
        FaultKind("half-open", CONNECTION, 2, at_once, 1.5, on_generator=0.5),
        FaultKind("trickle", CONNECTION, 1, between(0.5, 1.5), 0.4, on_generator=0.5),
        FaultKind("heartbeat", CONNECTION, 2, past_the_lease, 0.5, on_generator=0.7),
        FaultKind("will", CONNECTION, 2, between(0.5, 2.0), 0.5, on_generator=0.7),
        FaultKind("unplug", NETWORK, 4, past_the_lease, 0.8, on_generator=1.0),
        FaultKind("restart", SERVER, 2, between(0.1, 1.0), 1.5),
        FaultKind("stall", SERVER, 2, between(0.3, 4.0), 1.0),
        FaultKind("script-flush", SERVER, 1, at_once, 0.3),
        FaultKind("client-kill", SERVER, 2, at_once, 0.6),
        FaultKind("memory-full", SERVER, 1, between(0.5, 3.0), 0.6),
        FaultKind("read-only", SERVER, 1, between(0.5, 3.0), 0.8),
        FaultKind("misconf", SERVER, 1, between(0.5, 3.0), 0.8),
        FaultKind("clock", SERVER, 2, between(1.0, 3.0), 1.0),
        FaultKind("roll-back", SERVER, 1, between(0.3, 1.0), 2.0, only_asked=True),
        FaultKind("empty", SERVER, 1, at_once, 2.0, only_asked=True),
    )
}
