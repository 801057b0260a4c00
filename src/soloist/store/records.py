"""Drain and confirm, and the record of an error as it rests in Redis."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from soloist.store import foreign, replies
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.script import Script

DRAIN, CONFIRM = Script("drain"), Script("confirm")
REQUEUE, DISCARD = Script("requeue"), Script("discard")


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


def ids_by_time(link: Link, keys: Keys, first: int, last: int, *, newest: bool = False) -> list[str]:
    """Ids of records by time of failure, from one place to another, both included."""
    words = ["ZRANGE", keys.errors_by_time, str(first), str(last), *(["REV"] if newest else [])]
    return replies.texts(link.command(*words))


def read(link: Link, keys: Keys, ids: Sequence[str]) -> list[Record]:
    """These records, without removing them; those that are gone meanwhile are left out."""
    if not ids:
        return []
    stored = link.command("HMGET", keys.errors, *ids)
    return [parse(ident.encode(), each) for ident, each in zip(ids, stored, strict=True) if each is not None]


def count(link: Link, keys: Keys) -> int:
    """How many records are at rest."""
    return int(link.command("HLEN", keys.errors))
