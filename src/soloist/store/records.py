"""Drain and confirm, and the record of an error as it rests in Redis."""

from collections.abc import Sequence
from dataclasses import dataclass

from soloist.store import replies
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.script import Script

DRAIN, CONFIRM = Script("drain"), Script("confirm")


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
    failed_us, length, rest = stored.split(b" ", 2)
    end = int(length)
    return Record(message_id.decode(), int(failed_us), rest[:end], rest[end:])


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
