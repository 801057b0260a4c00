"""`app.errors`: the error records of an App, for programs. Each call connects, and lets its connection go."""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from functools import partial
from types import TracebackType
from typing import Any, Self

from soloist.error_filter import EVERYTHING, ErrorFilter, Moment, error_filter
from soloist.error_store import ErrorStore, record_of
from soloist.errors import UsageError
from soloist.message import ErrorRecord
from soloist.runtime.drainer import Drainer
from soloist.store.guard import EmptyNamespace
from soloist.store.records import Failure
from soloist.target import Purpose, Target

SERVER = "errors.at"
"""The call with which a server is named, for sentences about it."""


class AppErrors:
    """The error records of an App, or those of them that `filter` asks for.

        for record in app.errors.filter(kind="mail", since="1h"):
            print(record.id, record.details.reason)

    They are read in pages, however many there are; those that come while one iterates are not among them.
    """

    def __init__(self, reach: Callable[..., Target], only: ErrorFilter = EVERYTHING) -> None:
        self._reach = reach
        self._only = only

    def at(self, url: str | None = None, *, namespace: str | None = None, embedded: bool = False) -> "AppErrors":
        """The same of another server or namespace than that of the App; the arguments are those of `app.inspect`."""
        return AppErrors(partial(self._reach, url=url, namespace=namespace, embedded=embedded), self._only)

    def filter(
        self,
        *,
        kind: str | None = None,
        reason: str | None = None,
        type: str | None = None,  # noqa: A002 - it reads as `filter(type="ValueError")`
        since: Moment | None = None,
        until: Moment | None = None,
    ) -> "AppErrors":
        """Those of which all of this is true.

        Args:
            kind: of the message.
            reason: a part of the reason, in whatever case.
            type: name of the class that was raised, the whole of it; "Reject", "Poison".
            since: they failed then or later: a datetime (a naive one is local time), seconds since the epoch, how long ago
                ("15m", "2h", a timedelta), or text as in ISO 8601. How long ago is counted back by the server's clock from
                each call.
            until: they failed then or before.
        """
        if self._only is not EVERYTHING:
            raise UsageError("app.errors.filter(…) is filtered already: name all conditions in one call.")
        return AppErrors(
            self._reach,
            error_filter(kind, reason, type, since, until, spelling=lambda name: f"app.errors.filter({name}=…)"),
        )

    def __iter__(self) -> Iterator[ErrorRecord]:
        return self.oldest()

    def __reversed__(self) -> Iterator[ErrorRecord]:
        return self.newest()

    def oldest(self, most: int | None = None) -> Iterator[ErrorRecord]:
        """So many at most, the one that failed first is the first."""
        with self._store(Purpose.LOOK) as store:
            yield from store.oldest(_checked(most))

    def newest(self, most: int | None = None) -> Iterator[ErrorRecord]:
        """So many at most, the one that failed last is the first."""
        with self._store(Purpose.LOOK) as store:
            yield from store.newest(_checked(most))

    def count(self) -> int:
        with self._store(Purpose.LOOK) as store:
            return store.count()

    def get(self, ident: str) -> ErrorRecord | None:
        """The record of this message; None if there is none. No filter is asked."""
        with self._store(Purpose.LOOK) as store:
            return store.get(ident)

    def requeue(self, *of: ErrorRecord | str, everything: bool = False) -> int:
        """Put messages back: they wait again as if they had not failed. Answers how many were there.

        Args:
            of: records, or ids of messages. A record is passed over if its message has failed once more since.
            everything: all that are in the error store; of a `filter`, all that it asks for are meant without a word.
        """
        return self._each("requeue", of, everything)

    def delete(self, *of: ErrorRecord | str, everything: bool = False) -> int:
        """Remove records; their messages stay counted as failed. The arguments and the answer are those of `requeue`."""
        return self._each("delete", of, everything)

    def drain(self, most: int | None = None) -> "Drain":
        """Take records out, oldest first: each is removed when the next one is asked for, so when it was dealt with.

            for record in app.errors.drain():
                ticket(record)

        Whoever leaves the loop before that (`break`, an exception, a kill) leaves the record at hand and all behind it in
        the error store. Two that drain at the same time get each record once.

        Args:
            most: so many at most.
        """
        if self._only is not EVERYTHING:
            raise UsageError(
                "app.errors.drain() takes whatever is there: of those that a filter asks for, iterate over them and call "
                "app.errors.delete(record)."
            )
        return Drain(partial(self._reach, SERVER, Purpose.CHANGE), _checked(most))

    def _each(self, what: str, of: tuple[ErrorRecord | str, ...], everything: bool) -> int:
        is_filtered = self._only is not EVERYTHING
        if of and (everything or is_filtered):
            raise UsageError(f"app.errors.{what}(…): name records or say which by a filter, not both.")
        if not of and not everything and self._only.lets_all_pass:
            raise UsageError(f"app.errors.{what}(): say which: records, ids, a filter, or everything=True.")
        for each in of:
            if not isinstance(each, ErrorRecord | str):
                raise UsageError(f"app.errors.{what}({each!r}): that is neither a record nor the id of a message.")
        with self._store(Purpose.CHANGE) as store:
            if not of:
                return store.requeue_all() if what == "requeue" else store.delete_all()
            ids = [each for each in of if isinstance(each, str)]
            seen = [_failure(each) for each in of if isinstance(each, ErrorRecord)]
            if what == "requeue":
                return store.requeue(ids) + store.requeue_failures(seen)
            return store.delete(ids) + store.delete_failures(seen)

    @contextmanager
    def _store(self, purpose: Purpose) -> Iterator[ErrorStore]:
        goal = self._reach(SERVER, purpose)
        with closing(ErrorStore(goal.server, goal.namespace, self._only)) as store:
            yield store


class Drain:
    """What `app.errors.drain()` answers: an iterator; as a context it leaves at its end, at the latest."""

    def __init__(self, reach: Callable[[], Target], most: int | None) -> None:
        self._records = _taken_out(reach, most)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ErrorRecord:
        return next(self._records)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Leave; the record at hand stays in the error store."""
        self._records.close()


def _taken_out(reach: Callable[[], Target], most: int | None) -> Generator[ErrorRecord, None, None]:
    goal = reach()
    try:
        with Drainer(goal.server, goal.namespace, goal.settings) as drainer:
            for batch in drainer.batches(most):
                for record in batch:
                    yield record_of(record)
                    if not drainer.confirm([record]):
                        break  # it was taken for dead: what it held rests in the error store again
    except EmptyNamespace:
        return


def _failure(record: ErrorRecord) -> Failure:
    return record.id, round(record.failed_at * 1_000_000)  # exact: a float has room for µs until the year 2200


def _checked(most: Any) -> int | None:
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 0):
        raise UsageError(f"app.errors: {most!r} is no number of records.")
    return most
