"""Publish and next: the two calls that move messages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from soloist.settings import Settings
from soloist.store import foreign, replies
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.script import Script, Value
from soloist.store.specials import CommittedMessage, FailedMessage, Followup, RetriedMessage, Special, Write

__all__ = [
    "NEXT", "PUBLISH", "Busy", "Claimed", "CommittedMessage", "FailedMessage", "Followup", "Full", "PageCall", "RetriedMessage",
    "Run", "Special", "Tally", "TurnCall", "Write", "begin_turn", "next_turn", "publish",
]  # fmt: skip
"""With what is kept elsewhere, so that a user's `import soloist` does not load the client."""

PUBLISH, NEXT = Script("publish"), Script("next")


class Full(Exception):
    """Too many messages wait; nothing was published and the call number is not used."""


class Busy(Exception):
    """A run of the schedule is not over: nothing was published, but the call number is used."""


@dataclass(frozen=True)
class PageCall:
    """One numbered publish. Repeated unchanged until its outcome is known.

    Attributes:
        overlap: while a run of the schedule is not over: it is published all the same (allow), or the call is Busy, and
            the tick passed over (skip) or not (wait).
        skipped: ticks of the schedule that are not made up for.
    """

    term: int
    call: int
    first: int
    source: str
    envelopes: Mapping[str, Sequence[bytes]]
    cursor: str | None = None
    tick: int = 0
    overlap: str = "allow"
    skipped: int = 0


@dataclass(frozen=True)
class Run:
    """Messages that leave the caller's hands, side by side in the order in which it claimed what it holds.

    Attributes:
        place: of the first among all that the caller holds, from 0.
        id: of the first: the script compares.
        specials: those of them of which there is more to say, in the order of their places; the others are completed.
        is_back: given back: nothing was done.
    """

    place: int
    length: int
    id: bytes
    specials: Sequence[Special] = ()
    is_back: bool = False


@dataclass(frozen=True)
class Tally:
    """Of one kind: how many more a handler wants, and what became of how many since its last call.

    Attributes:
        completed: with those that commit something.
    """

    want: int = 0
    completed: int = 0
    failed: int = 0
    retried: int = 0


@dataclass(frozen=True)
class TurnCall:
    """One numbered next. Repeated unchanged until its outcome is known.

    Attributes:
        runs: in the order of their places; nothing is named twice, and as much is named as the tallies count.
    """

    turn: int
    stamp: str
    kinds: Mapping[str, Tally]
    runs: Sequence[Run] = ()


@dataclass(frozen=True)
class Claimed:
    """What next answers.

    Attributes:
        again: the call had been applied before; `envelopes` is all that the caller holds, not only what is new, which
            stands at the end.
        attempts: message id to deaths and retries, of those that have any.
        hold_ms: for so long claim no more unless nothing is held: a suspect of poison is to be handled alone. 0: no hold.
        foreign: the list at whose head something stands that is no message; nothing was claimed then.
        refused: ids of those that should have been completed, and failed, since the server would refuse what they commit.
    """

    stamp: str
    envelopes: list[bytes]
    attempts: dict[bytes, tuple[int, int]]
    hold_ms: int
    again: bool
    foreign: str | None = None
    refused: Sequence[bytes] = ()


def publish(link: Link, keys: Keys, instance: str, settings: Settings, page: PageCall) -> int:
    """Publish a page; answers the server's time in ms. See publish.lua."""
    kinds = list(page.envelopes)
    cursor = "" if page.cursor is None else "=" + page.cursor
    reply = PUBLISH.call(
        link,
        keys={
            "instances": keys.instances,
            "wills": keys.wills,
            "instance": keys.instance(instance),
            "term": keys.term,
            "totals": keys.totals,
            "kinds": keys.kinds,
            "log": keys.log,
            "tracked": keys.tracked,
            "runs": keys.runs,
        },
        args={
            "id": instance,
            "term": page.term,
            "call": page.call,
            "first": page.first,
            "lease_ms": settings.lease_ms,
            "max_pending": settings.max_pending,
            "source": page.source,
            "cursor": cursor,
            "tick": page.tick,
            "overlap": page.overlap,
            "skipped": page.skipped,
            "kinds_count": len(kinds),
        },
        more_keys=keys.of_kinds(kinds),
        more_args=[
            *kinds,
            *(len(page.envelopes[kind]) for kind in kinds),
            *chain(*page.envelopes.values()),
        ],
    )
    answer = replies.word(reply, "publish", "OK", "FULL", "BUSY")
    if answer != "OK":
        raise Full if answer == "FULL" else Busy
    return int(reply[1])


def next_turn(link: Link, keys: Keys, instance: str, settings: Settings, turn: TurnCall) -> Claimed:
    """Complete, fail, delay, give back and claim, in one step. See next.lua."""
    claimed = begin_turn(link, keys, instance, settings, turn)()
    if claimed.foreign is not None:
        raise foreign.in_the_way(keys, claimed.foreign)
    return claimed


def begin_turn(link: Link, keys: Keys, instance: str, settings: Settings, turn: TurnCall) -> Callable[[], Claimed]:
    """Send it; what is answered waits for the answer. Nothing else may go over the link meanwhile."""
    kinds, written = dict(turn.kinds), dict[str, int]()
    runs: list[Value] = []
    for run in turn.runs:
        runs += ("back" if run.is_back else "done", run.place, run.length, run.id, len(run.specials))
        for special in run.specials:
            fate, told = _told(special, kinds, written)
            runs += (special.place, special.id, fate, len(told), *told)
    values: list[Value] = []
    for kind, tally in kinds.items():
        values += (kind, tally.want, tally.completed, tally.failed, tally.retried)
    answer = NEXT.begin(
        link,
        keys={
            "instances": keys.instances,
            "wills": keys.wills,
            "instance": keys.instance(instance),
            "claimed": keys.claimed(instance),
            "attempts": keys.attempts,
            "totals": keys.totals,
            "errors": keys.errors,
            "errors_by_time": keys.errors_by_time,
            "paused": keys.paused,
            "log": keys.log,
            "kinds": keys.kinds,
            "tracked": keys.tracked,
            "unique": keys.unique,
            "schedule_runs": keys.runs,
            "alarm": keys.alarm,
        },
        args={
            "id": instance,
            "turn": turn.turn,
            "stamp": turn.stamp,
            "heartbeat_ms": settings.heartbeat_ms,
            "max_attempts": settings.max_attempts,
            "kinds_count": len(kinds),
            "runs_count": len(turn.runs),
        },
        more_keys=[*keys.of_kinds(kinds), *written],
        more_args=values + runs,
    )
    return lambda: _claimed(answer())


def _told(special: Special, kinds: dict[str, Tally], written: dict[str, int]) -> tuple[str, Sequence[Value]]:
    """The fate of a message, and what there is to say of it. Kinds published to and keys written to are added to the others.

    Args:
        written: key to its place among those that are written.
    """
    if isinstance(special, FailedMessage):
        return "failed", (special.details,)
    if isinstance(special, RetriedMessage):
        return "retried", (special.after_ms,)
    told: list[Value] = [len(special.writes)]
    for command, key, arguments in special.writes:
        told += (command, written.setdefault(key, len(written)), len(arguments), *arguments)
    told.append(len(special.messages))
    for kind, envelope, delay_ms in special.messages:
        kinds.setdefault(kind, Tally())
        told += (delay_ms, envelope)
    return "committed", told


def _claimed(reply: list[Any]) -> Claimed:
    answer = replies.word(reply, "next", "OK", "AGAIN", "FOREIGN")
    if answer == "FOREIGN":
        stamp, key = replies.text(reply[1]), replies.text(reply[2])
        return Claimed(stamp, [], {}, hold_ms=0, again=False, foreign=key, refused=reply[3])
    _, stamp, envelopes, attempts, hold_ms, refused = reply
    counted = iter(attempts)
    return Claimed(
        stamp=replies.text(stamp),
        envelopes=envelopes,
        attempts={
            ident: (int(deaths), int(retries)) for ident, deaths, retries in zip(counted, counted, counted, strict=True)
        },
        hold_ms=int(hold_ms),
        again=answer == "AGAIN",
        refused=refused,
    )
