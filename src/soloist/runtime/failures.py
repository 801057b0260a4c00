"""What is written down about a message that failed."""

import logging
import time
import traceback
from collections.abc import Callable

import msgspec

from soloist.errors import Reject
from soloist.message import Details
from soloist.runtime.telling import text

TRACEBACK_LENGTH, REASON_LENGTH = 8192, 2048

SAY_FAILING = 10.0
"""Seconds between log lines about a handler that raises; every case is in the error store."""

log = logging.getLogger("soloist")


class Failures:
    """Writes it down, and says so in the log now and then.

    Args:
        handler: answers the present id of the instance.
    """

    def __init__(self, handler: Callable[[], str]) -> None:
        self._handler = handler
        self._said_at = -SAY_FAILING

    def details(self, error: BaseException, attempt: int) -> bytes:
        """Of what the user's code raised."""
        rejected = isinstance(error, Reject)
        if not rejected and time.monotonic() - self._said_at > SAY_FAILING:
            self._said_at = time.monotonic()
            log.error(
                "handler.failed error=%r; it is in the error store (getErrors --json)",
                type(error).__name__,
                exc_info=error,
            )
        trace = None if rejected else text(lambda: "".join(traceback.format_exception(error)))[-TRACEBACK_LENGTH:]
        return self.written(text(lambda: str(error)) or type(error).__name__, type(error).__name__, attempt, trace)

    def written(self, reason: str, kind_of_error: str, attempt: int, trace: str | None = None) -> bytes:
        """Of what we found ourselves."""
        details = Details(
            reason=reason[:REASON_LENGTH],
            type=kind_of_error,
            handler=self._handler(),
            attempts=attempt,
            traceback=trace,
        )
        return msgspec.json.encode(details)
