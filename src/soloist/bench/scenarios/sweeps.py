"""The same load under other conditions: what lies pending, how many handle, how large, how durable."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar, get_args

from soloist.bench.environment import environment
from soloist.bench.load import Load
from soloist.bench.result import Column, Result, are_sound, middle
from soloist.bench.scenarios.figures import FLOOR, INSTANCES, RATE, RATIO, SERVER, beside_floor, told
from soloist.bench.session import Session
from soloist.errors import UsageError
from soloist.lab.private_server import Persistence

T = TypeVar("T")
BACKLOGS = (0, 1_000_000, 5_000_000)
HANDLERS = (1, 2, 5, 20)
SIZES = (10, 100, 1_000, 10_000, 100_000)
SIZE = 100
"""Bytes of a body that lies pending."""
VOLUME = 400_000_000
"""Bytes of bodies that a load of large messages has at most."""

COST = (
    SERVER,
    INSTANCES,
    Column("cpu_us_per_message", "together", ".2f"),
    Column("cpu_ratio", "against the first row", ".2f"),
)


def backlog(session: Session) -> Result:
    """Publish and handle so many while others lie pending."""

    def once(pending: int) -> dict[str, Any]:
        load = Load(
            session.messages, session.handlers, fill=pending, fresh=session.messages, size=SIZE, is_marked=False
        )
        seen = session.measure(arena, load, f"{pending:,} pending")
        return {"pending": pending, **told(seen), "pending_mb": round(seen.filled_bytes / 1e6, 1)}

    with session.arena(max_pending=2 * max(BACKLOGS)) as arena:
        rows = _in_turn(session, BACKLOGS, once)
        about = environment(arena)
    return Result(
        "backlog",
        "Messages that lie pending",
        f"{session.messages:,} messages of {SIZE} bytes are published and as many handled, by {session.handlers} handlers, "
        "while so many lie pending.",
        (Column("pending", "pending"), Column("pending_mb", "they take, MB"), RATE, *COST),
        _compared(rows),
        ("cpu_us_per_message", "rate"),
        about,
        is_sound=are_sound(rows),
    )


def instances(session: Session) -> Result:
    """Work off a backlog with more and more handlers."""

    def once(many: int) -> dict[str, Any]:
        return told(session.measure(arena, Load(session.messages, many, fill=session.messages), f"{many} handlers"))

    with session.arena(max_pending=2 * session.messages) as arena:
        rows = _in_turn(session, HANDLERS, once)
        about = environment(arena)
    return Result(
        "instances",
        "Handlers at work",
        f"A backlog of {session.messages:,} messages is worked off.",
        (Column("handlers", "handlers"), RATE, *COST),
        _compared(rows),
        ("rate", "cpu_us_per_message"),
        about,
        is_sound=are_sound(rows),
    )


def size(session: Session) -> Result:
    """Bodies from 10 bytes to 100 KB."""

    def once(length: int) -> dict[str, Any]:
        many = min(session.messages, VOLUME // length)
        floor = session.floor(arena, many, length)
        seen = session.measure(arena, Load(many, session.handlers, size=length), f"{length:,} bytes")
        return {
            "bytes": length,
            **told(seen),
            **beside_floor(seen, floor),
            "mb_per_second": round(seen.rate * length / 1e6, 2),
            "floor_mb_per_second": None if floor is None else round(floor * length / 1e6, 2),
        }

    with session.arena() as arena:
        rows = _in_turn(session, SIZES, once)
        about = environment(arena)
    return Result(
        "size",
        "Sizes of messages",
        f"Up to {session.messages:,} messages or {VOLUME // 1_000_000} MB of each size, by {session.handlers} handlers.",
        (
            Column("bytes", "bytes"),
            RATE,
            Column("mb_per_second", "MB a second", ",.1f"),
            Column("floor_mb_per_second", "floor, MB a second", ",.1f"),
            RATIO,
            *COST[:2],
        ),
        rows,
        ("mb_per_second", "floor_mb_per_second"),
        about,
        is_sound=are_sound(rows),
    )


def durability(session: Session) -> Result:
    """The same load with other promises of the server's disk."""
    if session.server is not None:
        raise UsageError("durability starts servers of its own: a named one has the persistence that it has.")
    about: dict[str, str] = {}

    def once(persistence: Persistence) -> dict[str, Any]:
        with replace(session, persistence=persistence).arena() as arena:
            about.update(environment(arena), persistence="as in the table")
            what = "none" if persistence == "no" else f"fsync {persistence}"
            floor = session.floor(arena, session.messages)
            seen = session.measure(arena, Load(session.messages, session.handlers), what)
            return {"append_only_file": what, **told(seen), **beside_floor(seen, floor)}

    rows = _in_turn(session, get_args(Persistence), once)
    return Result(
        "durability",
        "Persistence of the server",
        f"{session.messages:,} messages by {session.handlers} handlers, on a server with its append-only file off, "
        "flushed every second, and flushed before every answer.",
        (Column("append_only_file", "append-only file"), RATE, FLOOR, RATIO, *COST[:2]),
        rows,
        ("rate", "floor_rate"),
        about,
        is_sound=are_sound(rows),
    )


def _in_turn(session: Session, conditions: Sequence[T], once: Callable[[T], dict[str, Any]]) -> list[dict[str, Any]]:
    """All conditions one after the other, as often as asked for; of each the median."""
    rounds = [[once(condition) for condition in conditions] for _ in range(session.repeat)]
    return [middle(samples) for samples in zip(*rounds, strict=True)]


def _compared(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With the cost of server and instances together, against that of the first row."""
    for row in rows:
        row["cpu_us_per_message"] = round(row["server_cpu_us_per_message"] + row["client_cpu_us_per_message"], 3)
        row["cpu_ratio"] = round(row["cpu_us_per_message"] / rows[0]["cpu_us_per_message"], 3)
    return rows
