"""The window: how many messages a handler holds at a time, how fast that is, and what a kill -9 then repeats."""

import statistics
from typing import Any, NamedTuple

from soloist.bench import ledger
from soloist.bench.arena import Arena
from soloist.bench.environment import environment
from soloist.bench.load import Load, get_ready, totals
from soloist.bench.result import Column, Result, are_sound
from soloist.bench.scenarios.figures import INSTANCES, RATE, SERVER, told
from soloist.bench.session import Session
from soloist.errors import UsageError
from soloist.message import DEFAULT_KIND
from soloist.settings import AUTO
from soloist.store.control import pause

BATCHES = {"1": 1, "16": 16, "100": 100, "auto": AUTO}
SHARES = {"1": 0.02, "16": 0.2, "100": 0.5, "auto": 1.0}
"""A small window is slow: so large a share of the messages is handled with it."""

KILLS = 5
MOST = 2**30
"""Messages that may lie pending: all that are worked off do, at first."""


class AfterAKill(NamedTuple):
    """What a kill did.

    Attributes:
        lost: how many messages were never handled.
        repeated: how many were handled twice: what a kill may cause.
        surplus: how many were recorded twice: what it may not.
        was_in_time: whether there was still work when it came; else it says nothing of what a kill repeats.
    """

    lost: int
    repeated: int
    surplus: int
    was_in_time: bool


def window(session: Session) -> Result:
    """Each window: the rate, and then what a kill repeats."""
    if not session.has_verdict:
        raise UsageError("window counts what a kill repeats: it needs the ledger, so leave --no-verdict out.")
    rows: list[dict[str, Any]] = []
    lost = duplicated = 0
    for name, batch in BATCHES.items():
        with session.arena(batch=batch, max_pending=MOST) as arena:
            many = max(1000, round(session.messages * SHARES[name]))
            seen = session.measure(arena, Load(many, session.handlers), f"batch {name}")
            about = environment(arena)
            kills: list[AfterAKill] = []
            repeated: list[int] = []
            with session.shown(f"kills, batch {name}", KILLS) as at:
                while len(repeated) < KILLS:
                    kills.append(_after_a_kill(arena, many))
                    if kills[-1].was_in_time:
                        repeated.append(kills[-1].repeated)
                    else:
                        many *= 2
                    at(len(repeated))
        lost += (seen.lost or 0) + sum(each.lost for each in kills)
        duplicated += (seen.duplicated or 0) + sum(each.surplus for each in kills)
        rows.append(
            {"batch": name, **told(seen), "repeated": statistics.median(repeated), "repeated_most": max(repeated)}
        )
    facts = {"lost": lost, "duplicated": duplicated}
    return Result(
        "window",
        "How many messages a handler holds",
        f"The rate with {session.handlers} handlers; then, {KILLS} times, one of two handlers is killed (kill -9) in the "
        "midst of it: how many messages were handled twice because of it. A handler of microseconds is the worst case: "
        "the window is bounded by time, about 15 ms of work.",
        (
            Column("batch", "batch"),
            RATE,
            Column("repeated", "repeated by a kill, median"),
            Column("repeated_most", "most"),
            SERVER,
            INSTANCES,
        ),
        rows,
        ("rate", "repeated_most"),
        about,
        facts,
        is_sound=are_sound([facts]),
    )


def _after_a_kill(arena: Arena, many: int) -> AfterAKill:
    """What is written down when one of two handlers was killed in the midst of so many."""
    load = Load(many, 2, fill=many)
    with arena.ground() as ground:
        task = load.task(ground)
        with arena.instances(ground, task.variables()) as instances:
            get_ready(ground, instances, load)
            pause(ground.link, ground.keys, [DEFAULT_KIND], on=False)
            task.gate.touch()  # the generator has nothing to add, and would hang about there when it is to stop

            def handled() -> int:
                return sum(totals(ground)[:2])

            instances.wait_until(lambda: handled() >= many // 3, "a third of the work")
            instances.kill_one(instances.processes[1])
            was_in_time = handled() < many
            instances.wait_until(lambda: handled() >= many, "the rest of the work", within=600)
            instances.stop()
            return AfterAKill(*ledger.read(ground.folder, task.in_all), handled() - many, was_in_time)
