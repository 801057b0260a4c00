"""One atomic read of everything that is shown, and what is found on a server."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from soloist.errors import ForeignData
from soloist.store import foreign, replies
from soloist.store.keys import PREFIX, Keys
from soloist.store.link import Link
from soloist.store.scan import keys_of, scan
from soloist.store.script import Script

SNAPSHOT, PURGE = Script("snapshot"), Script("purge")


@dataclass(frozen=True)
class Found:
    """Who and what is in a namespace: their keys must be passed to the script, so they are asked for first."""

    instances: Sequence[str] = ()
    drainers: Sequence[str] = ()
    kinds: Sequence[str] = ()


@dataclass(frozen=True)
class InstanceSeen:
    """One instance or drainer: its deadline (server ms), how many messages or records it holds, its hash."""

    id: str
    deadline_ms: float
    holds: int
    fields: dict[str, str]

    @property
    def heard_ms(self) -> int:
        """When it last beat, server ms."""
        return int(self.fields.get("beat", 0))


@dataclass(frozen=True)
class KindSeen:
    """One kind: how many wait, when the oldest of them was published (server ms; None if none waits)."""

    name: str
    waiting: int
    oldest_ms: int | None
    paused: bool


@dataclass(frozen=True)
class Seen:
    """The whole namespace at one instant of the server's time."""

    now_ms: int
    meta: dict[str, str]
    term: dict[str, str]
    totals: dict[str, str]
    line: dict[str, str]
    errors: int
    instances: list[InstanceSeen]
    drainers: list[InstanceSeen]
    kinds: list[KindSeen]
    paused: list[str]
    found: Found

    @property
    def draining(self) -> int:
        """Error records in the hands of drainers."""
        return sum(drainer.holds for drainer in self.drainers)


def snapshot(link: Link, keys: Keys, found: Found | None = None) -> Seen:
    """Read everything at once. `found` of the last one saves a round trip."""
    found = found or Found()
    while True:
        reply = SNAPSHOT.call(
            link,
            keys={
                "meta": keys.meta,
                "instances": keys.instances,
                "drainers": keys.drainers,
                "line": keys.line,
                "term": keys.term,
                "totals": keys.totals,
                "errors": keys.errors,
                "kinds": keys.kinds,
                "paused": keys.paused,
            },
            args={
                "instances_count": len(found.instances),
                "drainers_count": len(found.drainers),
                "kinds_count": len(found.kinds),
            },
            more_keys=[
                *(key for each in found.instances for key in (keys.instance(each), keys.claimed(each))),
                *(key for each in found.drainers for key in (keys.instance(each), keys.drained(each))),
                *keys.of_kinds(found.kinds),
            ],
            more_args=[*found.instances, *found.drainers, *found.kinds],
        )
        if replies.word(reply, "snapshot", "OK", "CHANGED") == "OK":
            try:
                return _seen(reply, found)
            except (ValueError, IndexError) as error:
                raise foreign.unreadable(keys, error) from error
        found = Found(*(replies.texts(part) for part in reply[1:]))


def _seen(reply: list[Any], found: Found) -> Seen:
    _, now_ms, meta, term, totals, line, errors, instances, drainers, kinds, paused = reply
    return Seen(
        now_ms=int(now_ms),
        meta=replies.fields(meta),
        term=replies.fields(term),
        totals=replies.fields(totals),
        line=replies.fields(line),
        errors=int(errors),
        instances=_present(instances),
        drainers=_present(drainers),
        kinds=[
            KindSeen(replies.text(name), int(waiting), _published(head), bool(paused))
            for name, waiting, head, paused in kinds
        ],
        paused=replies.texts(paused),
        found=found,
    )


def _present(seen: list[Any]) -> list[InstanceSeen]:
    return [
        InstanceSeen(replies.text(ident), float(deadline), int(holds), replies.fields(flat))
        for ident, deadline, holds, flat in seen
    ]


def _published(head: bytes) -> int | None:
    return int(head.split(b" ", 4)[3]) if head else None


def namespaces(link: Link) -> list[str]:
    """The namespaces on this server, by the `meta` key that each of them has."""
    found = {key[len(PREFIX) + 1 :].split(b"}", 1)[0] for key in scan(link, f"{PREFIX}{{*}}:meta")}
    return sorted(name.decode(errors="backslashreplace") for name in found)


def purge(link: Link, keys: Keys, *, data: bool = False) -> int:
    """Remove a namespace; answers how many keys there were.

    Args:
        data: also what was written along with messages. It is the users' own, and often what they did the work for.
    """
    found = [key for key in keys_of(link, keys) if data or not keys.is_data(key)]
    if not found:
        return 0
    # And what instances at work may make meanwhile: messages without a namespace would be left behind.
    ours = [key.encode() for key in (*keys.single, *keys.of_kinds(_kinds(link, keys)))]
    # The client sends bytes as they are: a stranger's key need not be text.
    reply = PURGE.call(link, keys={}, args={}, more_keys=cast("list[str]", sorted({*found, *ours})))
    replies.word(reply, "purge", "OK")
    return int(reply[1])


def _kinds(link: Link, keys: Keys) -> list[str]:
    try:
        return replies.texts(link.command("SMEMBERS", keys.kinds))
    except ForeignData:
        return []
