"""Writes a namespace down, as it was at one moment.

Nothing is locked and nothing is copied on the server: it is read in pages while nobody is present, between two looks at all
numbers. If these are the same, and as many messages and records were read as they say, nothing has changed in between.
"""

from collections import defaultdict
from collections.abc import Iterator

import msgspec

from soloist.archive.lines import (
    FORMAT,
    AnyLine,
    Attempts,
    End,
    Error,
    Header,
    Message,
    Schedule,
    Source,
    State,
    encoded,
    of_envelope,
)
from soloist.errors import NamespaceError
from soloist.message import Details
from soloist.store import foreign, records
from soloist.store.archive import PLACES, Changed, Inventory, Place, Waiting, inventory, waiting
from soloist.store.guard import EmptyNamespace
from soloist.store.keys import Keys
from soloist.store.link import Link


def adds_up(found: Inventory) -> bool:
    """Whether every message is in exactly one place (guarantee G3)."""
    done = int(found.totals.get("completed", 0)) + int(found.totals.get("failed", 0))
    return int(found.totals.get("published", 0)) == found.messages + done


def look(link: Link, keys: Keys) -> Inventory:
    """The first look.

    Raises:
        EmptyNamespace: there is nothing to export.
        NamespaceError: somebody is present.
    """
    found = inventory(link, keys)
    if "app" not in found.meta:
        raise EmptyNamespace(f"namespace {keys.namespace!r} is empty")
    if found.present:
        what = "1 instance (or drainer) is" if found.present == 1 else f"{found.present:,} instances (or drainers) are"
        raise NamespaceError(
            f"namespace {keys.namespace!r}: {what} present, so what is exported now would belong to no moment. Stop them "
            f"first. Those that were killed are taken out by `soloist clean --namespace {keys.namespace}`."
        )
    return found


def export(link: Link, keys: Keys, found: Inventory) -> Iterator[str]:
    """All lines of the file, in pieces of some lines each.

    Args:
        found: the first look.

    Raises:
        Changed: somebody was at work meanwhile; there is no last line then.
    """
    try:
        head: list[AnyLine] = [_header(keys, found), _state(found), *_sources(found), *_schedules(found)]
        yield "".join(map(encoded, head))
        lines = len(head)
        for of_kind in (_messages(link, keys, found, kind) for kind in found.lengths):
            for page in of_kind:
                yield "".join(map(encoded, page))
                lines += len(page)
        for errors in _errors(link, keys, found):
            yield "".join(map(encoded, errors))
            lines += len(errors)
    except (ValueError, KeyError, msgspec.MsgspecError) as error:
        raise foreign.unreadable(keys, error) from error
    if inventory(link, keys) != found:
        raise _changed(keys)
    yield encoded(End(lines=lines, messages=found.messages, errors=found.errors))


def _header(keys: Keys, found: Inventory) -> Header:
    return Header(
        format=FORMAT,
        namespace=keys.namespace,
        app=found.meta["app"],
        protocol=found.meta["protocol"],
        exported_at=found.now_ms / 1000,
        messages=found.messages,
        errors=found.errors,
    )


def _state(found: Inventory) -> State:
    return State(
        instances=int(found.meta.get("numbers", 0)),
        agenda=int(found.meta.get("agenda", 0)),
        term=int(found.term.get("term", 0)),
        sequence=int(found.term.get("seq", 0)),
        totals={name: int(value) for name, value in sorted(found.totals.items())},
        kinds=list(found.lengths),
        paused=sorted(found.paused),
    )


def _sources(found: Inventory) -> Iterator[Source]:
    """Whatever has a cursor or a tick."""
    known: dict[str, dict[str, str]] = defaultdict(dict)
    for name, value in sorted(found.term.items()):
        what, colon, source = name.partition(":")
        if colon and what in ("cursor", "tick"):
            known[source][what] = value
    for name, of in sorted(known.items()):
        tick = None if "tick" not in of else int(float(of["tick"]))
        yield Source(name=name, cursor=of.get("cursor"), tick=tick)


def _schedules(found: Inventory) -> Iterator[Schedule]:
    """Also of one that was removed, as long as a run of it is not over."""
    runs: dict[str, dict[str, str]] = defaultdict(dict)
    for name, value in sorted(found.runs.items()):
        what, _, schedule = name.partition(" ")
        runs[schedule][what] = value
    for name in sorted({*found.schedules, *runs}):
        stored = found.schedules.get(name)
        yield Schedule(name=name, schedule=None if stored is None else msgspec.json.decode(stored), runs=runs[name])


def _messages(link: Link, keys: Keys, found: Inventory, kind: str) -> Iterator[list[Message]]:
    for place in PLACES:
        read = 0
        for page in waiting(link, keys, kind, place):
            read += len(page)
            yield [_message(place, each) for each in page]
        if read != found.lengths[kind][place]:
            raise _changed(keys)


def _message(place: Place, of: Waiting) -> Message:
    attempts = Attempts(*map(int, of.attempts.split())) if of.attempts else None
    fields = of_envelope(of.envelope)
    return Message(**fields, place=place, due=of.due, waits=of.tracked, attempts=attempts)


def _errors(link: Link, keys: Keys, found: Inventory) -> Iterator[list[Error]]:
    read = 0
    for page in records.pages(link, keys):
        read += len(page)
        yield [
            Error(
                **of_envelope(record.envelope),
                failed_us=record.failed_us,
                details=msgspec.json.decode(record.details, type=Details),
            )
            for record in page
        ]
    if read != found.errors:
        raise _changed(keys)


def _changed(keys: Keys) -> Changed:
    return Changed(
        f"namespace {keys.namespace!r} was changed while it was read, so what was written is not whole (it has no last line, "
        f"and no import takes it). Stop whoever publishes to it, and export it again."
    )
