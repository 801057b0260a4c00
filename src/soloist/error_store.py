"""The error store: look at records, put their messages back, delete them. Draining is the drainer's."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice

import msgspec

from soloist.error_filter import EVERYTHING, ErrorFilter
from soloist.message import Details, ErrorRecord
from soloist.store import records
from soloist.store.envelope import kind_of, unpack
from soloist.store.foreign import unreadable_record
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.records import Failure, Record
from soloist.store.server import Server

TIMEOUT = 5.0


class ErrorStore:
    """The error records of one namespace, or those of them that are asked for.

    Whatever the size of the store, it is read in pages, so nobody needs memory for all of it.

    Args:
        only: what must be true of them. Times are looked up in the index of the server; kind, reason and type are looked at
            here, without the messages' bodies where these are not needed.
    """

    def __init__(self, server: Server, namespace: str, only: ErrorFilter = EVERYTHING) -> None:
        self._link = Link(server, TIMEOUT)
        self._keys = Keys(namespace)
        self._only = only

    def close(self) -> None:
        """Let the connection go; the next call makes a new one."""
        self._link.close()

    def count(self) -> int:
        if self._only.lets_all_pass:
            return records.count(self._link, self._keys)
        if self._only.asks_for_time_alone:
            return records.count_of(self._link, self._keys, self._span())
        return sum(map(len, self._pages(bodies=False)))

    def newest(self, most: int | None = None) -> Iterator[ErrorRecord]:
        """So many at most, newest first, of those that are there when it begins."""
        return map(record_of, islice(chain.from_iterable(self._pages(newest=True)), most))

    def oldest(self, most: int | None = None) -> Iterator[ErrorRecord]:
        """So many at most, oldest first, of those that are there when it begins."""
        return map(record_of, islice(chain.from_iterable(self._pages()), most))

    def ids(self) -> Iterator[list[str]]:
        """The ids of all that are there when it begins, oldest first, in pages."""
        return ([record.id for record in page] for page in self._pages(bodies=False))

    def get(self, ident: str) -> ErrorRecord | None:
        found = records.read(self._link, self._keys, [ident])
        return record_of(found[0]) if found else None

    def requeue(self, ids: Sequence[str]) -> int:
        """Their messages wait again; answers how many were there."""
        return self.requeue_failures(self._failures(ids))

    def delete(self, ids: Sequence[str]) -> int:
        """Remove them unprinted; answers how many were there."""
        return self.delete_failures(self._failures(ids))

    def requeue_failures(self, failures: Sequence[Failure]) -> int:
        """The same of records that were seen: one that has failed once more since is passed over."""
        return self._in_pages(records.requeue, failures)

    def delete_failures(self, failures: Sequence[Failure]) -> int:
        return self._in_pages(records.discard, failures)

    def requeue_all(self) -> int:
        """All that are there now; what fails once more meanwhile is passed over."""
        return sum(self.requeue_failures(_named(page)) for page in self._pages(bodies=False))

    def delete_all(self) -> int:
        return sum(self.delete_failures(_named(page)) for page in self._pages(bodies=False))

    def _in_pages(self, act: Callable[[Link, Keys, Sequence[Failure]], int], failures: Sequence[Failure]) -> int:
        firsts = range(0, len(failures), records.PAGE)
        return sum(act(self._link, self._keys, failures[first : first + records.PAGE]) for first in firsts)

    def _failures(self, ids: Sequence[str]) -> list[Failure]:
        return _named(
            chain.from_iterable(records.read(self._link, self._keys, [ident]) for ident in dict.fromkeys(ids))
        )

    def _pages(self, *, newest: bool = False, bodies: bool = True) -> Iterator[list[Record]]:
        for page in records.pages(self._link, self._keys, self._span(), newest=newest, bodies=bodies):
            yield page if self._only.asks_for_time_alone else [record for record in page if self._lets_pass(record)]

    def _span(self) -> tuple[int | None, int | None]:
        asks_for_time = self._only.since or self._only.until
        return self._only.span(records.server_us(self._link)) if asks_for_time else (None, None)

    def _lets_pass(self, record: Record) -> bool:
        try:
            kind = kind_of(record.envelope)
        except ValueError as error:
            raise unreadable_record(record.id) from error
        details = _details_of(record)
        return self._only.lets_pass(kind, details.reason, details.type)


def _named(found: Iterable[Record]) -> list[Failure]:
    return [(record.id, record.failed_us) for record in found]


def _details_of(stored: Record) -> Details:
    try:
        return msgspec.json.decode(stored.details, type=Details)
    except (ValueError, msgspec.MsgspecError) as error:
        raise unreadable_record(stored.id) from error


def record_of(stored: Record) -> ErrorRecord:
    """A stored record with its message taken apart."""
    try:
        parts = unpack(stored.envelope)
    except ValueError as error:
        raise unreadable_record(stored.id) from error
    return ErrorRecord(
        id=parts.id,
        key=parts.key,
        kind=parts.kind,
        data=parts.body,
        published_at=parts.published_at / 1000,
        failed_at=stored.failed_us / 1_000_000,
        details=_details_of(stored),
    )
