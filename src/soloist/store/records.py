"""The record of an error as it rests in Redis, and the scripts that read and move it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from soloist.store import foreign, replies
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.script import Script

DRAIN, CONFIRM = Script("drain"), Script("confirm")
REQUEUE, DISCARD = Script("requeue"), Script("discard")
PEEK = Script("peek")

PAGE = 500

Failure: TypeAlias = tuple[str, int]
"""A message id and the time of its failure (server µs): a record that failed again since is another one."""


@dataclass(frozen=True)
class Record:
    """One record: when it failed (server µs), the handler's details as JSON, the message's envelope."""

    id: str
    failed_us: int
    details: bytes
    envelope: bytes


@dataclass(frozen=True)
class Drained:
    """What drain answers: records in hand, oldest first; or how many silent drainers may still hold some."""

    records: list[Record]
    silent: int = 0


def parse(message_id: bytes, stored: bytes) -> Record:
    """Take a stored record apart."""
    try:
        failed_us, length, rest = stored.split(b" ", 2)
        end = int(length)
        return Record(message_id.decode(), int(failed_us), rest[:end], rest[end:])
    except ValueError as error:
        raise foreign.unreadable_record(message_id.decode(errors="backslashreplace")) from error


def drain(link: Link, keys: Keys, drainer: str, limit: int) -> Drained:
    """Take the oldest records in hand. See drain.lua."""
    reply = DRAIN.call(
        link,
        keys={
            "drainers": keys.drainers,
            "wills": keys.wills,
            "errors": keys.errors,
            "errors_by_time": keys.errors_by_time,
            "drained": keys.drained(drainer),
        },
        args={"id": drainer, "limit": limit},
    )
    answer = replies.word(reply, "drain", "OK", "WAIT", "EMPTY")
    if answer == "WAIT":
        return Drained([], silent=int(reply[1]))
    pairs = iter(reply[1:])
    records = [parse(message_id, stored) for message_id, stored in zip(pairs, pairs, strict=True)]
    return Drained(sorted(records, key=lambda record: record.failed_us))


def confirm(link: Link, keys: Keys, drainer: str, ids: Sequence[str]) -> int:
    """These were printed and flushed: remove them. Answers how many were still held."""
    reply = CONFIRM.call(
        link,
        keys={
            "drainers": keys.drainers,
            "wills": keys.wills,
            "drained": keys.drained(drainer),
            "totals": keys.totals,
        },
        args={"id": drainer},
        more_args=ids,
    )
    replies.word(reply, "confirm", "OK")
    return int(reply[1])


def requeue(link: Link, keys: Keys, failures: Sequence[Failure], kinds: Sequence[str] = ()) -> int:
    """Put messages back among the pending; answers how many were there."""
    wanted = list(kinds)
    while True:
        reply = REQUEUE.call(
            link,
            keys={
                "errors": keys.errors,
                "errors_by_time": keys.errors_by_time,
                "totals": keys.totals,
                "log": keys.log,
            },
            args={"ids_count": len(failures)},
            more_keys=keys.of_kinds(wanted),
            more_args=[*(word for failure in failures for word in failure), *wanted],
        )
        if replies.word(reply, "requeue", "OK", "KINDS") == "OK":
            return int(reply[1])
        wanted += replies.texts(reply[1:])


def discard(link: Link, keys: Keys, failures: Sequence[Failure]) -> int:
    """Remove records unprinted; answers how many were there."""
    reply = DISCARD.call(
        link,
        keys={"errors": keys.errors, "errors_by_time": keys.errors_by_time, "totals": keys.totals, "log": keys.log},
        args={},
        more_args=[word for failure in failures for word in failure],
    )
    replies.word(reply, "discard", "OK")
    return int(reply[1])


def pages(
    link: Link,
    keys: Keys,
    span: tuple[int | None, int | None] = (None, None),
    *,
    newest: bool = False,
    bodies: bool = True,
) -> Iterator[list[Record]]:
    """The records that are there when it begins, of a time (server µs, both ends included), by the time of their failure.

    What fails meanwhile is not among them, so it comes to an end; whoever removes what it got does not disturb it.

    Args:
        bodies: without them, of each envelope there is only the beginning.
    """
    first, last = span
    latest = _latest(link, keys)
    if latest is None:
        return
    last = latest if last is None else min(last, latest)
    passed_over: list[str] = []
    edge = None
    while page := _peek(link, keys, (first, last), passed_over, newest=newest, bodies=bodies):
        at = page[-1][1]
        passed_over = [*(passed_over if at == edge else []), *(ident for ident, time, _ in page if time == at)]
        edge = at
        first, last = (first, at) if newest else (at, last)
        yield [parse(ident.encode(), stored) for ident, _, stored in page if stored]


def _peek(
    link: Link,
    keys: Keys,
    span: tuple[int | None, int],
    passed_over: Sequence[str],
    *,
    newest: bool,
    bodies: bool,
) -> list[tuple[str, int, bytes]]:
    """Of each id, time of its failure, and what is stored (nothing, if somebody else put its id there). See peek.lua."""
    reply = PEEK.call(
        link,
        keys={"errors": keys.errors, "errors_by_time": keys.errors_by_time},
        args={
            "first": "-inf" if span[0] is None else span[0],
            "last": span[1],
            "newest": int(newest),
            "limit": PAGE,
            "bodies": int(bodies),
        },
        more_args=passed_over,
    )
    replies.word(reply, "peek", "OK")
    of_three = iter(reply[1])
    return [
        (replies.text(ident), int(float(time)), stored)
        for ident, time, stored in zip(of_three, of_three, of_three, strict=True)
    ]


def _latest(link: Link, keys: Keys) -> int | None:
    """When the last one failed; None if there is none."""
    found = link.command("ZRANGE", keys.errors_by_time, 0, 0, "REV", "WITHSCORES")
    return int(float(found[1])) if found else None


def read(link: Link, keys: Keys, ids: Sequence[str]) -> list[Record]:
    """These records, without removing them; those that are gone meanwhile are left out."""
    if not ids:
        return []
    stored = link.command("HMGET", keys.errors, *ids)
    return [parse(ident.encode(), each) for ident, each in zip(ids, stored, strict=True) if each is not None]


def count(link: Link, keys: Keys) -> int:
    """How many records are at rest."""
    return int(link.command("HLEN", keys.errors))


def count_of(link: Link, keys: Keys, span: tuple[int | None, int | None]) -> int:
    """How many of those at rest are of a time (server µs, both ends included)."""
    first, last = span
    bounds = ("-inf" if first is None else first, "+inf" if last is None else last)
    return int(link.command("ZCOUNT", keys.errors_by_time, *bounds))


def server_us(link: Link) -> int:
    """The server's time, by which failures are dated."""
    seconds, us = link.command("TIME")
    return int(seconds) * 1_000_000 + int(us)
