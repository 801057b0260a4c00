"""What happens in a history, from a seed: how many take part, with which settings, and which fault hits whom and when. Pure.

Everything is in the plan, so that a history that fails can be tried again with fewer faults.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Self, TypeAlias

from tests.kill_points import points

Mode: TypeAlias = Literal["mild", "wild", "back"]
"""mild: only calls go wrong, so nobody may be superseded or reclaimed. wild: everything that Redis survives. back: also the
server goes back to an older state once.
"""

MODES: Sequence[Mode] = ("mild", "wild", "wild", "wild", "back")
"""By the last digit of the seed."""

GENERATOR = "generator"
ANYBODY = ""

CALL_FATES = ("call lost", "reply lost", "call late", "reply late", "repeated")
HARMS = ("killed", "loses power", "frozen", "suspended", "unplugged")
TROUBLES = ("cut", "cut will", "muted")
SERVER_FAULTS = ("restart", "stall", "flush", "clock jumps", "loading", "full")
OTHERS = ("start", "stop", "getErrors", "handover")

SCRIPTS = ("publish", "publish", "publish", "next", "next", "next", "next", "drain", "confirm")
WILD_SCRIPTS = (*SCRIPTS, "beat", "beat", "beat", "beat", "reclaim", "leave", "join", "join")
AT_POINTS = tuple(
    point
    for point in points()
    if not any(
        point.endswith(f" {script}") for script in ("pause", "purge", "discard", "requeue", "snapshot", "survey")
    )
)
"""Kill points that a history can come to."""


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes:
        at: virtual seconds.
        what: one of the words above.
        whom: a process, GENERATOR (whoever generates then) or ANYBODY.
        script: whose next call it hits, if it hits a call.
        point: the kill point at which it happens; empty: at once.
        seconds: how long it lasts, or how late something is.
        resets: of a lost call or answer: the connection breaks, instead of falling silent.
    """

    at: float
    what: str
    whom: str = ANYBODY
    script: str = ""
    point: str = ""
    seconds: float = 0.0
    resets: bool = False

    def __str__(self) -> str:
        told = [f"at {self.at:g} s: {self.what}"]
        if self.script:
            told.append(f"the next {self.script}")
        told.append(f"of {self.whom or 'anybody'}" if self.script else self.whom)
        if self.point:
            told.append(f"at the point {self.point!r}")
        if self.seconds:
            told.append(f"for {self.seconds:g} s")
        if self.resets:
            told.append("(the connection breaks)")
        return " ".join(word for word in told if word)


@dataclass(frozen=True)
class Plan:
    """A whole history.

    Attributes:
        lasts: virtual seconds during which faults begin; then everything heals.
        messages: how many the source with the cursor has.
        lane: how handlers are called: inline, pool or batch.
        trips: seconds that a trip to the server may take.
        stalls: mean number of steps between two at which a thread is held up; 0: never.
        oddities: how often what handlers do is out of the ordinary (slow, failing, retried, handing on), 0 to 1.
        poison: the number of a message that ends its process; -1: none.
    """

    seed: int
    mode: Mode
    instances: int
    messages: int
    lasts: float
    heartbeat: float
    lease: float
    claim_lease: float
    max_pending: int
    max_attempts: int
    page: int
    every: float
    lane: str
    trips: Sequence[float]
    stalls: int
    oddities: float
    poison: int
    faults: Sequence[Fault]

    @property
    def bends_time(self) -> bool:
        """Whether the server's clock or its state goes back: then what it promised is no longer comparable."""
        return any(fault.what in ("clock jumps", "goes back") for fault in self.faults)

    def without(self, at: Sequence[int]) -> Self:
        """The same without these faults."""
        return replace(self, faults=tuple(fault for place, fault in enumerate(self.faults) if place not in at))

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        given: dict[str, Any] = json.loads(text)
        given["trips"] = tuple(given["trips"])
        given["faults"] = tuple(Fault(**fault) for fault in given["faults"])
        return cls(**given)

    def __str__(self) -> str:
        given = {name: value for name, value in asdict(self).items() if name != "faults"}
        lines = [" ".join(f"{name}={value}" for name, value in given.items())]
        return "\n".join([*lines, *(f"  {fault}" for fault in sorted(self.faults, key=lambda fault: fault.at))])


def plan_of(seed: int) -> Plan:
    """The plan of this seed."""
    chance = random.Random(seed)
    mode = MODES[seed % len(MODES)]
    heartbeat, lease, claim_lease = chance.choice(((0.3, 1.2, 1.5), (0.4, 1.6, 2.5), (0.3, 2.0, 3.0), (0.15, 2.0, 4.0)))
    lasts = chance.choice((2.0, 3.0, 4.0))
    many = chance.randint(1, 6) if mode == "mild" else chance.randint(2, 9)
    faults = [_fault(chance, mode, round(chance.uniform(0.05, lasts), 3)) for _ in range(many)]
    if mode == "back":
        faults.append(
            Fault(round(chance.uniform(0.3, lasts), 3), "goes back", seconds=round(chance.uniform(0.05, 1.5), 3))
        )
    return Plan(
        seed=seed,
        mode=mode,
        instances=chance.choice((2, 3, 3, 3, 4)),
        messages=chance.choice((10, 30, 30, 60)),
        lasts=lasts,
        heartbeat=heartbeat,
        lease=lease,
        claim_lease=claim_lease,
        max_pending=chance.choice((1_000_000, 1_000_000, 8)),
        max_attempts=chance.choice((2, 3, 3)),
        page=chance.choice((1, 3, 7)),
        every=chance.choice((0.0, 0.03, 0.1, 0.1)),
        lane=chance.choice(("inline", "inline", "inline", "pool", "batch")),
        trips=chance.choice(((0.0002,), (0.0002, 0.0005, 0.001), (0.0002,) * 20 + (0.05,), (0.02, 0.03))),
        stalls=chance.choice((0, 0, 200, 60)),
        oddities=chance.choice((0.0, 0.3, 0.3, 0.6)),
        poison=chance.randrange(10) if mode != "mild" and chance.random() < 0.15 else -1,
        faults=tuple(sorted(faults, key=lambda fault: fault.at)),
    )


def _fault(chance: random.Random, mode: Mode, at: float) -> Fault:
    if mode == "mild":
        what = chance.choice((*CALL_FATES, *CALL_FATES, *CALL_FATES, "cut", "flush", "start", "getErrors", "handover"))
    else:
        group = chance.choices((CALL_FATES, HARMS, TROUBLES, SERVER_FAULTS, OTHERS), (8, 5, 2, 2, 3))[0]
        what = chance.choice(group)
    whom = chance.choice((GENERATOR, GENERATOR, "A", "B", "C"))
    seconds = round(chance.choice((0.05, 0.3, 1.0, 2.5, 5.0)) * chance.uniform(0.5, 1.5), 3)
    if what in CALL_FATES:
        script = chance.choice(SCRIPTS if mode == "mild" else WILD_SCRIPTS)
        late = 0.0 if what.endswith("lost") else seconds
        return Fault(at, what, ANYBODY, script, seconds=late, resets=chance.random() < 0.5)
    if what in HARMS:
        point = chance.choice(AT_POINTS) if chance.random() < 0.5 else ""
        lasting = what in ("frozen", "suspended", "unplugged")
        return Fault(at, what, ANYBODY if point else whom, point=point, seconds=seconds if lasting else 0.0)
    if what == "clock jumps":
        return Fault(at, what, seconds=round(chance.choice((-1, 1)) * chance.choice((0.2, 2.0, 20.0)), 3))
    if what in ("flush", "start", "getErrors", "handover"):
        return Fault(at, what)
    if what in SERVER_FAULTS:
        return Fault(at, what, seconds=min(seconds, 2.0))
    return Fault(at, what, whom)
