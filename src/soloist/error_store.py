"""The error store: look at records, put their messages back, delete them. Draining is the drainer's."""

from collections.abc import Iterator, Sequence

import msgspec

from soloist.message import Details, ErrorRecord
from soloist.store import records
from soloist.store.envelope import unpack
from soloist.store.foreign import unreadable_record
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.records import Record
from soloist.store.server import Server

PAGE = 200
TIMEOUT = 5.0


class ErrorStore:
    """The error records of one namespace."""

    def __init__(self, server: Server, namespace: str) -> None:
        self._link = Link(server, TIMEOUT)
        self._keys = Keys(namespace)

    def close(self) -> None:
        """Let the connection go; the next call makes a new one."""
        self._link.close()

    def count(self) -> int:
        return records.count(self._link, self._keys)

    def newest(self, most: int) -> Iterator[ErrorRecord]:
        """So many at most, newest first."""
        for first in range(0, most, PAGE):
            last = min(first + PAGE, most) - 1
            found = self._read(records.ids_by_time(self._link, self._keys, first, last, newest=True))
            yield from found
            if len(found) < last - first + 1:
                return

    def oldest(self) -> Iterator[ErrorRecord]:
        """All that are there when it begins, oldest first."""
        for ids in self.ids():
            yield from self._read(ids)

    def ids(self) -> Iterator[list[str]]:
        """The ids of all that are there now, oldest first, in pages."""
        everyone = records.ids_by_time(self._link, self._keys, 0, -1)
        for first in range(0, len(everyone), PAGE):
            yield everyone[first : first + PAGE]

    def get(self, ident: str) -> ErrorRecord | None:
        found = self._read([ident])
        return found[0] if found else None

    def requeue(self, ids: Sequence[str]) -> int:
        """Their messages wait again; answers how many were there."""
        return sum(records.requeue(self._link, self._keys, self._failures(page)) for page in _pages(ids))

    def delete(self, ids: Sequence[str]) -> int:
        """Remove them unprinted; answers how many were there."""
        return sum(records.discard(self._link, self._keys, self._failures(page)) for page in _pages(ids))

    def _failures(self, ids: Sequence[str]) -> list[records.Failure]:
        return [(record.id, record.failed_us) for record in records.read(self._link, self._keys, ids)]

    def _read(self, ids: Sequence[str]) -> list[ErrorRecord]:
        return [record_of(record) for record in records.read(self._link, self._keys, ids)]


def _pages(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[first : first + PAGE] for first in range(0, len(ids), PAGE))


def record_of(stored: Record) -> ErrorRecord:
    """A stored record with its message taken apart."""
    try:
        parts = unpack(stored.envelope)
        details = msgspec.json.decode(stored.details, type=Details)
    except (ValueError, msgspec.MsgspecError) as error:
        raise unreadable_record(stored.id) from error
    return ErrorRecord(
        id=parts.id,
        key=parts.key,
        kind=parts.kind,
        data=parts.body,
        published_at=parts.published_at / 1000,
        failed_at=stored.failed_us / 1_000_000,
        details=details,
    )
