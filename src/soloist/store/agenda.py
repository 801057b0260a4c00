"""The agenda of a namespace: its schedules as they are stored, their ticks, what is paused, and how their runs went."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from soloist.errors import UsageError
from soloist.store import replies
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.script import Script

AGENDA, SCHEDULE, DECLARE = Script("agenda"), Script("schedule"), Script("declare")

SCHEDULE_SOURCE = "schedule:"
"""What the name of a schedule has in front of it where sources are named: its ticks, what is paused."""


@dataclass(frozen=True)
class Agenda:
    """What is on it.

    Attributes:
        version: another one whenever something of it has changed; ticks and runs do not count.
        schedules: name to JSON.
        ticks: name to its last tick (server ms), 0 for none.
        paused: kind:NAME, source:NAME, schedule:NAME.
        runs: "WHAT NAME" to its value; see lib/tracked.lua.
    """

    now_ms: int
    version: int
    schedules: Mapping[str, str] = field(default_factory=dict)
    ticks: Mapping[str, int] = field(default_factory=dict)
    paused: frozenset[str] = frozenset()
    runs: Mapping[str, str] = field(default_factory=dict)


def now_ms(link: Link) -> int:
    """The server's time."""
    seconds, us = link.command("TIME")
    return int(seconds) * 1000 + int(us) // 1000


def read_agenda(link: Link, keys: Keys, known: int = -1) -> Agenda:
    """All of it; only its version, if that is known already. See agenda.lua."""
    reply = AGENDA.call(
        link,
        keys={
            "meta": keys.meta,
            "schedules": keys.schedules,
            "paused": keys.paused,
            "runs": keys.runs,
            "term": keys.term,
        },
        args={"known": known},
    )
    replies.word(reply, "agenda", "OK")
    _, now_ms, version, schedules, ticks, paused, runs = reply
    found = replies.fields(schedules)
    return Agenda(
        now_ms=int(now_ms),
        version=int(version),
        schedules=found,
        ticks=dict(zip(found, map(int, ticks), strict=True)),
        paused=frozenset(replies.fields(paused)),
        runs=replies.fields(runs),
    )


def put_schedule(link: Link, keys: Keys, name: str, json: bytes) -> bool:
    """Add or change it; empty JSON removes it. Answers whether that was news. See schedule.lua."""
    reply = SCHEDULE.call(
        link,
        keys={
            "meta": keys.meta,
            "schedules": keys.schedules,
            "term": keys.term,
            "runs": keys.runs,
            "alarm": keys.alarm,
            "log": keys.log,
            "paused": keys.paused,
        },
        args={"name": name, "json": json},
    )
    answer = replies.word(reply, "schedule", "OK", "CODE", "EMPTY")
    if answer == "CODE":
        raise UsageError(
            f"the schedule {name!r} is declared by the App's code: change it there. (It can be paused: "
            f"soloist schedules pause {name})"
        )
    if answer == "EMPTY":
        raise UsageError(f"the namespace {keys.namespace!r} is empty: start an instance first.")
    return bool(reply[1])


def declare(link: Link, keys: Keys, instance: str, term: int, schedules: Mapping[str, bytes]) -> int:
    """The generator says which schedules its code declares; answers of how many that was news. See declare.lua."""
    reply = DECLARE.call(
        link,
        keys={
            "instances": keys.instances,
            "meta": keys.meta,
            "schedules": keys.schedules,
            "term": keys.term,
            "runs": keys.runs,
            "alarm": keys.alarm,
            "log": keys.log,
        },
        args={"id": instance, "term": term},
        more_args=[word for name, json in schedules.items() for word in (name, json)],
    )
    replies.word(reply, "declare", "OK")
    return int(reply[1])
