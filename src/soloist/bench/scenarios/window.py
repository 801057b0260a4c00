"""The window: how many messages a handler holds at a time, how fast that is, and what a kill -9 then repeats."""

import statistics
from typing import Any

from soloist.bench import ledger
from soloist.bench.arena import Arena
from soloist.bench.environment import environment
from soloist.bench.load import Load, get_ready
from soloist.bench.result import Column, Result
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


def window(session: Session) -> Result:
    """Each window: the rate, and then what a kill repeats."""
    if not session.has_verdict:
        raise UsageError("window counts what a kill repeats: it needs the ledger, so leave --no-verdict out.")
    rows: list[dict[str, Any]] = []
    lost = 0
    for name, batch in BATCHES.items():
        with session.arena(batch=batch) as arena:
            many = max(1000, round(session.messages * SHARES[name]))
            seen = session.measure(arena, Load(many, session.handlers), f"batch {name}")
            about = environment(arena)
            repeats = []
            with session.shown(f"kills, batch {name}", KILLS) as at:
                for kill in range(KILLS):
                    repeats.append(_after_a_kill(arena, many))
                    at(kill + 1)
        repeated = [each.duplicated for each in repeats]
        lost += (seen.lost or 0) + sum(each.lost for each in repeats)
        rows.append(
            {"batch": name, **told(seen), "repeated": statistics.median(repeated), "repeated_most": max(repeated)}
        )
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
        {"lost": lost},
        is_sound=not lost,
    )


def _after_a_kill(arena: Arena, many: int) -> ledger.Handled:
    """What the ledger says when one of two handlers was killed in the midst of so many."""
    load = Load(many, 2, fill=many)
    with arena.ground() as ground:
        task = load.task(ground)
        with arena.instances(ground, task.variables()) as instances:
            get_ready(ground, instances, load)
            pause(ground.link, ground.keys, [DEFAULT_KIND], on=False)
            totals = ground.keys.totals

            def handled() -> int:
                return sum(int(each or 0) for each in ground.link.command("HMGET", totals, "completed", "failed"))

            instances.wait_until(lambda: handled() >= many // 3, "a third of the work")
            instances.processes[1].kill()
            instances.wait_until(lambda: handled() >= many, "the rest of the work", within=600)
            instances.stop()
            return ledger.read(ground.folder, task.in_all)
