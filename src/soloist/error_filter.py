"""Which error records are meant: by kind, by reason and type of the failure, and by its time."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from soloist.durations import seconds_in
from soloist.errors import UsageError, is_number
from soloist.store.envelope import NAME

Moment: TypeAlias = datetime | timedelta | float | str
"""A point in time: a datetime (a naive one is local time), seconds since the epoch, or how long ago ("15m", a timedelta);
as text also a date and time in the form of ISO 8601."""

LATEST = 253_402_300_799
"""The last second of the year 9999. What lies behind it was probably meant in milliseconds."""

US = 1_000_000


@dataclass(frozen=True)
class Instant:
    """A moment as it was understood: so many µs since the epoch, or before now.

    Attributes:
        ago: it is counted back from whatever time it is when one looks.
    """

    us: int
    ago: bool = False

    def at(self, now_us: int) -> int:
        return now_us - self.us if self.ago else self.us


@dataclass(frozen=True)
class ErrorFilter:
    """What must be true of a record. Made by `error_filter`, which checks what it is given.

    Attributes:
        reason: a part of it, in whatever case.
        type: the whole class name: ValueError, Reject, Poison, …
    """

    kind: str | None = None
    reason: str | None = None
    type: str | None = None
    since: Instant | None = None
    until: Instant | None = None

    @property
    def lets_all_pass(self) -> bool:
        return self == EVERYTHING

    @property
    def asks_for_time_alone(self) -> bool:
        return self.kind is None and self.reason is None and self.type is None

    def span(self, now_us: int) -> tuple[int | None, int | None]:
        """From when to when, both included; None is no limit."""
        first = None if self.since is None else max(0, self.since.at(now_us))
        last = None if self.until is None else max(0, self.until.at(now_us))
        if first is not None and last is not None and first > last:
            raise UsageError("since is later than until: nothing can have failed in between.")
        return first, last

    def lets_pass(self, kind: str, reason: str, of_type: str) -> bool:
        """Whether it is what was asked for, its time aside."""
        return (
            (self.kind is None or kind == self.kind)
            and (self.type is None or of_type == self.type)
            and (self.reason is None or self.reason in reason.casefold())
        )


EVERYTHING = ErrorFilter()


def error_filter(
    kind: Any = None,
    reason: Any = None,
    type: Any = None,  # noqa: A002 - it reads as `filter(type="ValueError")`
    since: Any = None,
    until: Any = None,
    *,
    spelling: Callable[[str], str] = str,
) -> ErrorFilter:
    """Check what somebody asked for.

    Args:
        spelling: how a condition is written there, for the sentence that refuses it.
    """
    for name, given in (("kind", kind), ("reason", reason), ("type", type)):
        if given is not None and (not isinstance(given, str) or not given):
            raise UsageError(f"{spelling(name)}: {given!r} is not possible; write text that is not empty.")
    if kind is not None and not re.fullmatch(NAME, kind):
        raise UsageError(f"{spelling('kind')}: {kind!r} is no kind: 1 to 128 of the characters A–Z a–z 0–9 _ . : / -")
    return ErrorFilter(
        kind=kind,
        reason=None if reason is None else reason.casefold(),
        type=type,
        since=None if since is None else instant(since, spelling("since")),
        until=None if until is None else instant(until, spelling("until")),
    )


def instant(moment: Any, where: str) -> Instant:
    """Understand a moment.

    Args:
        where: it is written, for the sentence that refuses it.
    """
    if isinstance(moment, timedelta) and moment >= timedelta(0):
        return Instant(round(moment.total_seconds() * US), ago=True)
    if isinstance(moment, str):
        ago = seconds_in(moment)
        if ago is not None:
            return Instant(round(ago * US), ago=True)
        moment = _from_text(moment)
    if isinstance(moment, datetime):
        moment = moment.timestamp()
    if not is_number(moment) or not 0 <= moment <= LATEST:
        raise UsageError(
            f"{where}: that is no time; write how long ago (90s, 15m, 2h, 1d), a date and time (2026-11-16T10:43), or "
            f"seconds since the epoch."
        )
    return Instant(round(moment * US))


def _from_text(text: str) -> datetime | float | None:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
