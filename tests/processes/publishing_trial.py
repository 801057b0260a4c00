"""Many processes publish through a fault proxy, and every message that they were told of is handled once, and no other."""

import json
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field

from soloist.chaos.faults import Cut, Delay, Drop, Fault, TooLate
from soloist.chaos.proxy import FaultProxy
from soloist.chaos.rule import Rule
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server
from soloist.store.submissions import ENLIST, SUBMIT
from tests.processes.crew import ROOT, Crew
from tests.processes.publisher import may_be_another

APP = "tests.processes.ordering:app"
HANDLERS = 2
LEASE = 0.6
"""Seconds: what a call may take follows from it."""

FAULTS: tuple[Fault, ...] = (
    Drop(),
    Drop(of="command"),
    TooLate(),
    Delay(0.05),
    Delay(of="command"),
    Cut(),
    Cut(reset=True),
    Cut(of="command"),
)
"""Lost; late but in time; a late copy, which arrives when its sender has gone on; cut off before it or behind it."""

FURTHEST = 5
"""Calls until the next fault, at most."""

OF_ENLIST = 0.15


@dataclass
class Outcome:
    """How it went.

    Attributes:
        told: number and id, as often as a publisher was told.
        handled: number and id, once for each run that was completed.
    """

    seed: int
    faults: Counter[str] = field(default_factory=Counter)
    told: list[tuple[int, str]] = field(default_factory=list)
    handled: list[tuple[int, str]] = field(default_factory=list)
    published: int = 0

    @property
    def wrong(self) -> list[str]:
        told, handled = {ident for _, ident in self.told}, Counter(ident for _, ident in self.handled)
        number_of = {ident: number for number, ident in self.handled}
        mixed_up = [
            (number, ident)
            for number, ident in self.told
            if number_of.get(ident, number) != number and not may_be_another(number)
        ]
        found: dict[str, Sequence[object]] = {
            "handled more than once": [ident for ident, times in handled.items() if times > 1],
            "told of, and never handled": list(told - handled.keys()),
            "handled, and nobody was told of it": list(handled.keys() - told),
            "told the id of another message": mixed_up,
            "counted otherwise than handled": [] if self.published == len(self.handled) else [self.published],
        }
        return [f"{len(those)} {what}: {those[:3]}" for what, those in found.items() if those]


def play(crew: Crew, proxy: FaultProxy, processes: int, messages: int, seed: int) -> Outcome:
    """So many processes publish so many numbers each."""
    outcome, over = Outcome(seed), threading.Event()
    handlers = [crew.start(APP) for _ in range(HANDLERS)]
    nemesis = threading.Thread(target=_harm, args=(proxy, random.Random(seed), outcome.faults, over))
    nemesis.start()
    try:
        outcome.told = _told(_publishers(crew, proxy, processes, messages))
    finally:
        over.set()
        nemesis.join()
    seen = crew.wait_until_handled(1, within=120)
    assert [running.end() for running in handlers] == [0] * HANDLERS
    outcome.published = seen.published
    with closing(Link(Server(crew.url), timeout=60)) as link:
        lines = link.command("LRANGE", f"{Keys(crew.namespace).base}data:handled", 0, -1)
    outcome.handled = [(int(number), ident) for number, ident in (line.decode().split() for line in lines)]
    return outcome


def _publishers(crew: Crew, proxy: FaultProxy, processes: int, messages: int) -> "list[subprocess.Popen[str]]":
    own = {"SOLOIST_URL": proxy.url(), "SOLOIST_LEASE": str(LEASE), "SOLOIST_HEARTBEAT": str(LEASE / 4)}
    return [
        subprocess.Popen(
            [sys.executable, "-m", "tests.processes.publisher", crew.namespace, str(number * messages), str(messages)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, **own},
        )
        for number in range(processes)
    ]


def _told(publishers: "Sequence[subprocess.Popen[str]]") -> list[tuple[int, str]]:
    told = []
    for process in publishers:
        said, _ = process.communicate(timeout=600)
        assert process.returncode == 0, f"a publisher ended with {process.returncode}"
        told += [(number, ident) for number, ident in json.loads(said)]
    return told


def _harm(proxy: FaultProxy, chance: random.Random, done: "Counter[str]", over: threading.Event) -> None:
    """One fault after another, now of this call, now of that; late copies arrive when the next fault has happened."""
    late: list[Rule] = []
    while not over.is_set():
        fault, script = chance.choice(FAULTS), ENLIST if chance.random() < OF_ENLIST else SUBMIT
        rule = proxy.rule(fault, script.sha, chance.randint(1, FURTHEST))
        while not rule.fired.wait(0.05) and not over.is_set():
            if script is ENLIST:
                break  # nobody enlists any more: all are known
        if rule.fired.is_set():
            done[f"{fault.of} {type(fault).__name__.lower()}"] += 1
        else:
            rule.disarm()
        late.append(rule)
        if len(late) > 3:
            late.pop(0).release()
    for rule in late:
        rule.release()
