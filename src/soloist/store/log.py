"""The common log of a namespace: one entry per transition, written by the script that made it happen."""

from dataclasses import dataclass

from soloist.store import replies
from soloist.store.keys import Keys
from soloist.store.link import Link

MOST = 1000
"""Entries that are read at a time."""

KEPT = 1000
"""Entries that lib/log.lua keeps at least; with fewer in it, nothing was ever dropped."""


@dataclass(frozen=True)
class LogEntry:
    """One transition.

    Attributes:
        id: of the entry; later ones have higher ids.
        at_ms: the server's time.
        event: joined, elected, resigned, superseded, reclaimed, left, …
        fields: what the script says of it.
    """

    id: str
    at_ms: int
    event: str
    fields: dict[str, str]


def read_log(link: Link, keys: Keys, *, since_ms: int = 0, after: str = "") -> list[LogEntry]:
    """Entries from the oldest on: since that time (server ms), or after that id."""
    first = f"({after}" if after else str(since_ms)
    return _entries(link.command("XRANGE", keys.log, first, "+", "COUNT", MOST))


def read_end_of_log(link: Link, keys: Keys, most: int) -> list[LogEntry]:
    """The last so many entries, oldest first."""
    return _entries(link.command("XREVRANGE", keys.log, "+", "-", "COUNT", most))[::-1]


def _entries(found: list[tuple[bytes, list[bytes]]]) -> list[LogEntry]:
    entries = []
    for ident, flat in found:
        fields = replies.fields(flat)
        entries.append(LogEntry(ident.decode(), int(ident.split(b"-")[0]), fields.pop("event", ""), fields))
    return entries
