"""What handlers raised, as exceptions of the test that called for it."""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from soloist.around import DeclaredAround
from soloist.message import ErrorRecord, Message
from soloist.store.plug import Plug

REJECT = "Reject"

at_work_for: ContextVar[Plug | None] = ContextVar("at_work_for", default=None)
"""The connections of the instance for which this code runs."""


class HandlerFailed(AssertionError):
    """Handlers raised something else than `Reject`. The cause is the first of these exceptions.

    Attributes:
        records: what is in the error store of them.
    """

    def __init__(self, records: Sequence[ErrorRecord], told: str) -> None:
        super().__init__(told)
        self.records = list(records)


class SourceFailed(AssertionError):
    """A source that was polled raised something."""


class Watch:
    """Keeps what was raised: in the error store only text is left of it."""

    def __init__(self) -> None:
        self._raised: dict[str, BaseException] = {}
        self._told: set[tuple[str, float]] = set()

    def arounds(self, plug: Plug) -> list[DeclaredAround]:
        """To be put around everything else, in one instance."""

        def watched(call: Callable[[Any], Any], message: Any) -> Any:
            token = at_work_for.set(plug)
            try:
                return call(message)
            except BaseException as error:
                self._note(message, error)
                raise
            finally:
                at_work_for.reset(token)

        async def watched_async(call: Callable[[Any], Any], message: Any) -> Any:
            at_work_for.set(plug)  # of the task, which is the message's own
            try:
                return await call(message)
            except BaseException as error:
                self._note(message, error)
                raise

        return [DeclaredAround(each, __name__, each is watched_async) for each in (watched, watched_async)]

    def seen(self, records: Sequence[ErrorRecord]) -> None:
        """The test knows of these."""
        self._told.update((record.id, record.failed_at) for record in records)

    def raise_new(self, records: Sequence[ErrorRecord]) -> None:
        """Raise for those of which the test does not know yet."""
        new = [
            record
            for record in records
            if record.details.type != REJECT and (record.id, record.failed_at) not in self._told
        ]
        self.seen(new)
        if new:
            raise HandlerFailed(new, self._telling(new)) from self._raised.get(new[0].id)

    def _note(self, message: Message | Sequence[Message], error: BaseException) -> None:
        for each in [message] if isinstance(message, Message) else message:
            self._raised[each.id] = error

    def _telling(self, records: Sequence[ErrorRecord]) -> str:
        """With the traceback of each, but of the first, if that is the cause: it is shown with it."""
        many = "a message" if len(records) == 1 else f"{len(records)} messages"
        lines = [f"{many} failed:"]
        for place, record in enumerate(records):
            lines.append(f"  {titled(record)}")
            if record.details.traceback and (place or record.id not in self._raised):
                lines += [f"    {line}" for line in record.details.traceback.rstrip().splitlines()]
        return "\n".join(lines)


def titled(record: ErrorRecord) -> str:
    """One line about a failed message."""
    details, attempt = record.details, f", attempt {record.details.attempts}" if record.details.attempts > 1 else ""
    return f"{record.kind} {record.key} (body {record.data[:80]!r}{attempt}): {details.type}: {details.reason}"
