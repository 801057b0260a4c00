"""Inventory and extract, prepare and restore: how a namespace is read as a whole, and written into an empty one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from soloist.errors import NamespaceError, UsageError
from soloist.store import replies
from soloist.store.guard import refusal
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.script import Script

INVENTORY, EXTRACT = Script("inventory"), Script("extract")
PREPARE, RESTORE = Script("prepare"), Script("restore")

Place: TypeAlias = Literal["pending", "again", "suspect", "delayed"]
PLACES: tuple[Place, ...] = ("pending", "again", "suspect", "delayed")
"""Where messages wait, in the order in which inventory tells of them."""

LEFT_BY_REFUSALS = ("totals", "log")
"""What calls that come after a purge may leave, and so is no sign of a namespace."""

PAGE = 1000

KeyType: TypeAlias = Literal["list", "zset", "hash", "set"]


class Changed(NamespaceError):
    """The namespace was not left alone while it was read, so what was read belongs to no moment."""


class AlreadyThere(Exception):
    """All of it was imported before."""


@dataclass(frozen=True)
class Inventory:
    """What there is in a namespace, but for messages and error records. Two that are equal: nothing has changed.

    Attributes:
        present: how many instances and drainers.
        lengths: of each kind how many messages wait, by place.
    """

    now_ms: int = field(compare=False)
    meta: dict[str, str]
    term: dict[str, str]
    totals: dict[str, str]
    paused: dict[str, str]
    schedules: dict[str, str]
    runs: dict[str, str]
    present: int
    errors: int
    last_entry: str
    lengths: dict[str, dict[Place, int]]

    @property
    def messages(self) -> int:
        return sum(sum(of.values()) for of in self.lengths.values())


@dataclass(frozen=True)
class Waiting:
    """A message that waits: its envelope, when it is due (server ms, 0: at once), its entries in `attempts` and `tracked`."""

    envelope: bytes
    due: int
    attempts: str
    tracked: str


def inventory(link: Link, keys: Keys) -> Inventory:
    """One atomic read. See inventory.lua."""
    kinds: list[str] = []
    while True:
        reply = INVENTORY.call(
            link,
            keys={
                "meta": keys.meta,
                "term": keys.term,
                "totals": keys.totals,
                "paused": keys.paused,
                "schedules": keys.schedules,
                "runs": keys.runs,
                "kinds": keys.kinds,
                "instances": keys.instances,
                "drainers": keys.drainers,
                "errors": keys.errors,
                "log": keys.log,
            },
            args={},
            more_keys=keys.of_kinds(kinds),
            more_args=kinds,
        )
        if replies.word(reply, "inventory", "OK", "KINDS") == "OK":
            break
        kinds = replies.texts(reply[1])
    _, now_ms, meta, term, totals, paused, schedules, runs, present, errors, last_entry, lengths = reply
    return Inventory(
        now_ms=int(now_ms),
        meta=replies.fields(meta),
        term=replies.fields(term),
        totals=replies.fields(totals),
        paused=replies.fields(paused),
        schedules=replies.fields(schedules),
        runs=replies.fields(runs),
        present=int(present),
        errors=int(errors),
        last_entry=replies.text(last_entry),
        lengths={kind: dict(zip(PLACES, map(int, of), strict=True)) for kind, of in zip(kinds, lengths, strict=True)},
    )


def waiting(link: Link, keys: Keys, kind: str, place: Place) -> Iterator[list[Waiting]]:
    """All messages of a kind that wait there, in their order, in pages. See extract.lua."""
    first = 0
    while True:
        reply = EXTRACT.call(
            link,
            keys={"messages": f"{keys.base}{place}:{kind}", "attempts": keys.attempts, "tracked": keys.tracked},
            args={"delayed": int(place == "delayed"), "first": first, "limit": PAGE},
        )
        replies.word(reply, "extract", "OK")
        of_four = iter(reply[1])
        page = [
            Waiting(envelope, int(float(due)), replies.text(attempts), replies.text(tracked))
            for envelope, due, attempts, tracked in zip(of_four, of_four, of_four, of_four, strict=True)
        ]
        if not page:
            return
        yield page
        first += len(page)


def prepare(link: Link, keys: Keys, digest: str, kinds: Sequence[str]) -> int:
    """Begin an import, or go on with it; answers how many of its lines are there already. See prepare.lua.

    Raises:
        AlreadyThere: it is complete.
        NamespaceError: something else is there.
    """
    left = [keys.meta, *(keys.base + name for name in LEFT_BY_REFUSALS)]
    reply = PREPARE.call(
        link,
        keys={"meta": keys.meta, "totals": keys.totals},
        args={"import": digest},
        more_keys=[*(key for key in keys.single if key not in left), *keys.of_kinds(kinds)],
    )
    answer = replies.word(reply, "prepare", "OK", "DONE", "OTHER", "TAKEN", "FOREIGN", "FORBIDDEN")
    if answer in ("FOREIGN", "FORBIDDEN"):
        raise refusal(keys, "", answer, reply)
    if answer == "DONE":
        raise AlreadyThere
    if answer == "OTHER":
        raise NamespaceError(
            f"namespace {keys.namespace!r}: the import of another file into it has begun and is not complete. Run that one "
            f"again, or remove what is there: soloist purge --namespace {keys.namespace} --yes"
        )
    if answer == "TAKEN":
        raise NamespaceError(
            f"namespace {keys.namespace!r} is not empty: name another one with --namespace. (`soloist purge --namespace {keys.namespace}` tells what removing it would remove.)"
        )
    return int(reply[1])


@dataclass
class Lines:
    """Lines of an import that are written in one step.

    Attributes:
        first: the number of the first.
        values: what is put under each key, in that order.
        size: about how many bytes that is.
    """

    first: int
    count: int = 0
    values: dict[str, tuple[KeyType, list[str | bytes | int]]] = field(default_factory=dict)
    size: int = 0

    def put(self, key: str, of_type: KeyType, *values: str | bytes | int) -> None:
        self.values.setdefault(key, (of_type, []))[1].extend(values)
        self.size += sum(len(value) if isinstance(value, bytes | str) else 8 for value in values)


def restore(link: Link, keys: Keys, digest: str, lines: Lines, *, is_last: bool = False) -> int:
    """Write them; answers how many lines are there now. See restore.lua."""
    reply = RESTORE.call(
        link,
        keys={"meta": keys.meta},
        args={"import": digest, "first": lines.first, "lines": lines.count, "is_last": int(is_last)},
        more_keys=list(lines.values),
        more_args=[word for of_type, values in lines.values.values() for word in (of_type, len(values), *values)],
    )
    if replies.word(reply, "restore", "OK", "GONE") == "GONE":
        raise UsageError(
            f"namespace {keys.namespace!r}: somebody has removed it while it was imported. Run the import again."
        )
    return int(reply[1])
