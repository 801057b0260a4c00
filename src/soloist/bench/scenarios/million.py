"""A million messages from end to end: published, claimed, judged, completed; beside the floor."""

from typing import Any

from soloist.bench.arena import Arena
from soloist.bench.environment import environment
from soloist.bench.ledger import cost_us
from soloist.bench.load import Load
from soloist.bench.result import Column, Result, are_sound, middle
from soloist.bench.scenarios.figures import FLOOR, INSTANCES, RATE, RATIO, SERVER, beside_floor, told
from soloist.bench.session import Session

COLUMNS = (
    Column("run", "run"),
    RATE,
    Column("seconds", "seconds", ".2f"),
    FLOOR,
    RATIO,
    SERVER,
    INSTANCES,
    Column("failed_percent", "failed, %", ".2f"),
    Column("lost", "lost", "d"),
    Column("duplicated", "doubled", "d"),
)


def million(session: Session) -> Result:
    """So many messages by one generator and some handlers, as often as asked for."""
    with session.arena() as arena:
        runs = [_once(session, arena) for _ in range(session.repeat)]
        about = environment(arena)
    facts = middle(runs)
    rows = [{"run": f"{number}", **run} for number, run in enumerate(runs, 1)]
    if session.repeat > 1:
        rows.append({"run": "median", **facts})
    if session.has_verdict:
        facts["verdict_cost_us_per_message"] = round(cost_us(), 3)
    return Result(
        "million",
        f"{session.messages:,} messages, {session.handlers} handler{'' if session.handlers == 1 else 's'}",
        "Real processes, default judgement (5 % are found erroneous). From the opening of a gate before which everybody "
        "waits until the last completion is recorded. The floor: the same bodies on the same server by one raw "
        "connection, RPUSH, LMOVE and LPOP in pipelines of 1,000.",
        COLUMNS,
        rows,
        ("rate", "floor_rate"),
        about,
        facts,
        is_sound=are_sound(rows),
    )


def _once(session: Session, arena: Arena) -> dict[str, Any]:
    floor = session.floor(arena, session.messages)
    seen = session.measure(arena, Load(session.messages, session.handlers), "handled")
    return {**told(seen), **beside_floor(seen, floor)}
