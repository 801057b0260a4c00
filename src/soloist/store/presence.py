"""Join, beat, leave, reclaim: who is there, who generates, who is gone."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from soloist.errors import Defect
from soloist.settings import Settings
from soloist.store import replies
from soloist.store.guard import PROTOCOL, refusal
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.script import Script, Value

JOIN, BEAT, LEAVE, RECLAIM = Script("join"), Script("beat"), Script("leave"), Script("reclaim")


@dataclass(frozen=True)
class Joined:
    """What join answers: the instance's number, the stamp for its first `next`, the server's time."""

    number: int
    stamp: str
    now_ms: int


@dataclass(frozen=True)
class Term:
    """A term as its new holder is told: where to go on."""

    number: int
    call: int
    seq: int
    tag: str
    takeover_ms: int
    cursors: dict[str, str] = field(default_factory=dict)
    ticks: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Heard:
    """What a beat answers."""

    now_ms: int
    role: str
    place: int
    next_ms: int
    instances: int
    gone: list[str]
    term: Term | None
    agenda: int = 0
    """Another number whenever something of the agenda has changed."""


@dataclass(frozen=True)
class Who:
    """An instance as it introduces itself."""

    id: str
    number: int
    app: str
    host: str
    pid: int
    kinds: Sequence[str] = ()
    drains: bool = False


def join(link: Link, keys: Keys, who: Who, settings: Settings) -> Joined:
    """Take a place. Never repeat it with the same id."""
    reply = JOIN.call(
        link,
        keys={
            "meta": keys.meta,
            "presence": keys.drainers if who.drains else keys.instances,
            "wills": keys.wills,
            "instance": keys.instance(who.id),
            "kinds": keys.kinds,
            "log": keys.log,
            "instances": keys.instances,
            "drainers": keys.drainers,
            "line": keys.line,
            "term": keys.term,
            "paused": keys.paused,
            "attempts": keys.attempts,
            "totals": keys.totals,
            "errors": keys.errors,
            "errors_by_time": keys.errors_by_time,
            "history": keys.history,
            "tracked": keys.tracked,
            "unique": keys.unique,
            "runs": keys.runs,
            "schedules": keys.schedules,
            "alarm": keys.alarm,
            "producers": keys.producers,
            "submitted": keys.submitted,
        },
        args={
            "id": who.id,
            "number": -1 if who.drains else who.number,
            "app": who.app,
            "protocol": PROTOCOL,
            "host": who.host,
            "pid": who.pid,
            "claim_lease_ms": settings.claim_lease_ms,
            "interval_ms": settings.heartbeat_ms,
        },
        more_keys=keys.of_kinds(who.kinds),
        more_args=who.kinds,
    )
    answer = replies.word(reply, "join", "OK", "FORBIDDEN", "PROTOCOL", "APP", "FOREIGN", "EMPTY", "TAKEN")
    if answer == "TAKEN":
        raise Defect(f"the id {who.id} was taken")
    if answer != "OK":
        raise refusal(keys, who.app, answer, reply)
    return Joined(int(reply[1]), replies.text(reply[2]), int(reply[3]))


def beat(
    link: Link,
    keys: Keys,
    who: Who,
    settings: Settings,
    *,
    term: int,
    may_generate: bool,
    busy: bool,
    will: int,
    tag: str,
    known: tuple[int, str] = (0, ""),
) -> Heard:
    """A sign of life; see beat.lua.

    Args:
        known: turn and stamp of the last `next` that was answered.
    """
    reply = BEAT.call(
        link,
        keys={
            "instances": keys.instances,
            "drainers": keys.drainers,
            "wills": keys.wills,
            "line": keys.line,
            "instance": keys.instance(who.id),
            "term": keys.term,
            "totals": keys.totals,
            "paused": keys.paused,
            "log": keys.log,
            "attempts": keys.attempts,
            "meta": keys.meta,
            "claimed": keys.claimed(who.id),
        },
        args={
            "id": who.id,
            "role": "drainer" if who.drains else "instance",
            "term": term,
            "may_generate": int(may_generate),
            "busy": int(busy),
            "will": will,
            "heartbeat_ms": settings.heartbeat_ms,
            "lease_ms": settings.lease_ms,
            "claim_lease_ms": settings.claim_lease_ms,
            "channel": keys.alive,
            "tag": tag,
            "max_attempts": settings.max_attempts,
            "turn": known[0],
            "stamp": known[1],
        },
        more_keys=keys.of_kinds(who.kinds),
        more_args=who.kinds,
    )
    replies.word(reply, "beat", "OK")
    _, now_ms, role, place, next_ms, instances, gone, term_fields, agenda = reply
    return Heard(
        now_ms=int(now_ms),
        role=replies.text(role),
        place=int(place),
        next_ms=int(next_ms),
        instances=int(instances),
        gone=replies.texts(gone),
        term=_term(replies.fields(term_fields)) if term_fields else None,
        agenda=int(agenda),
    )


def _term(told: dict[str, str]) -> Term:
    return Term(
        number=int(told["term"]),
        call=int(told["call"]),
        seq=int(told["seq"]),
        tag=told["tag"],
        takeover_ms=int(told["takeover_ms"]),
        cursors={name[len("cursor:") :]: value for name, value in told.items() if name.startswith("cursor:")},
        ticks={name[len("tick:") :]: int(value) for name, value in told.items() if name.startswith("tick:")},
    )


def leave(link: Link, keys: Keys, instance: str, settings: Settings, kinds: Sequence[str]) -> int | None:
    """Go, and give everything back; answers how many messages, None if it was not there any more."""
    wanted = list(kinds)
    while True:
        reply = LEAVE.call(
            link,
            keys=_of_the_departed(keys, instance),
            args={"id": instance, "max_attempts": settings.max_attempts},
            more_keys=keys.of_kinds(wanted),
            more_args=wanted,
        )
        answer = replies.word(reply, "leave", "OK", "GONE", "KINDS")
        if answer != "KINDS":
            return int(reply[1]) if answer == "OK" else None
        wanted += replies.texts(reply[1:])


def reclaim(link: Link, keys: Keys, victim: str, judge: str, settings: Settings, kinds: Sequence[str]) -> int | None:
    """Declare `victim` gone; answers how many messages wait again, None if it is alive or was gone already."""
    wanted = list(kinds)
    while True:
        args: dict[str, Value] = {
            "id": victim,
            "judge_id": judge,
            "lease_ms": settings.lease_ms,
            "max_attempts": settings.max_attempts,
            "channel": keys.alive,
        }
        reply = RECLAIM.call(
            link,
            keys={
                **_of_the_departed(keys, victim),
                "totals": keys.totals,
                "judge": keys.instance(judge),
                "tracked": keys.tracked,
                "unique": keys.unique,
                "runs": keys.runs,
            },
            args=args,
            more_keys=keys.of_kinds(wanted),
            more_args=wanted,
        )
        answer = replies.word(reply, "reclaim", "OK", "ALIVE", "GONE", "KINDS")
        if answer != "KINDS":
            return int(reply[1]) if answer == "OK" else None
        wanted += replies.texts(reply[1:])


def _of_the_departed(keys: Keys, instance: str) -> dict[str, str]:
    return {
        "instances": keys.instances,
        "drainers": keys.drainers,
        "wills": keys.wills,
        "line": keys.line,
        "instance": keys.instance(instance),
        "claimed": keys.claimed(instance),
        "drained": keys.drained(instance),
        "term": keys.term,
        "attempts": keys.attempts,
        "errors": keys.errors,
        "errors_by_time": keys.errors_by_time,
        "log": keys.log,
    }
