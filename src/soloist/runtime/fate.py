"""What becomes of a message when its handler is done with it: completed, with or without something along; failed; or once
more later.
"""

import logging
import time
import traceback
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from soloist.declared import DeclaredHandler
from soloist.errors import Reject, Retry
from soloist.message import Details, Message
from soloist.runtime.telling import text
from soloist.store.specials import Followup, Write

TRACEBACK_LENGTH, REASON_LENGTH = 8192, 2048

SAY_FAILING = 10.0
"""Seconds between log lines about a handler that raises; every case is in the error store."""

LONGEST_BACKOFF = 3600.0
"""Seconds: the wait between two attempts doubles up to this."""

log = logging.getLogger("soloist")


class Again(NamedTuple):
    """Once more, not before so many ms are over."""

    after_ms: int


class Along(NamedTuple):
    """Completed, and these along with it."""

    writes: Sequence[Write]
    messages: Sequence[Followup]


Fate: TypeAlias = bytes | Again | Along | None
"""None: completed. Bytes: failed, with these details."""


class Fates:
    """Decides, and says so in the log now and then.

    Args:
        handler: answers the present id of the instance.
        retries: how often a message is tried again after an exception.
    """

    def __init__(self, declared: DeclaredHandler, retries: int, handler: Callable[[], str]) -> None:
        self._declared = declared
        self._retries = retries
        self._handler = handler
        self._said_at = -SAY_FAILING

    def completed(self, message: Message) -> Fate:
        """Its handler returned."""
        asked = message.asked
        if asked is None:
            return None
        writes, messages = asked
        return Along(tuple(writes), tuple(messages))  # its own: the user may keep the message

    def raised(self, error: BaseException, attempt: int, retried: int) -> Fate:
        """Its handler raised this.

        Args:
            attempt: which one it was.
            retried: how often it was tried again before.
        """
        if isinstance(error, Reject):
            return self._failed(error, attempt, None)
        if retried < self._retries:
            self._say("handler.retried error=%r; the message is handled once more later", error)
            if isinstance(error, Retry):
                return Again(error.after_ms)
            return Again(round(min(self._declared.backoff * 2**retried, LONGEST_BACKOFF) * 1000))
        self._say("handler.failed error=%r; it is in the error store (getErrors --json)", error)
        trace = text(lambda: "".join(traceback.format_exception(error)))[-TRACEBACK_LENGTH:]
        return self._failed(error, attempt, trace)

    def too_late(self, timeout: float, attempt: int) -> bytes:
        """Its handler did not return in time, and nothing can end it."""
        return self._written(f"the handler did not return within {timeout:g} s", "Timeout", attempt)

    def _failed(self, error: BaseException, attempt: int, trace: str | None) -> bytes:
        reason = text(lambda: str(error)) or type(error).__name__
        if isinstance(error, Retry) and not self._retries:
            reason = f"{reason}: Retry was raised, but the handler has no retries; declare it with retries=…"
        return self._written(reason, type(error).__name__, attempt, trace)

    def _written(self, reason: str, kind_of_error: str, attempt: int, trace: str | None = None) -> bytes:
        details = Details(
            reason=reason[:REASON_LENGTH],
            type=kind_of_error,
            handler=self._handler(),
            attempts=attempt,
            traceback=trace,
        )
        return msgspec.json.encode(details)

    def _say(self, what: str, error: BaseException) -> None:
        if time.monotonic() - self._said_at > SAY_FAILING:
            self._said_at = time.monotonic()
            log.error(what, type(error).__name__, exc_info=error)
