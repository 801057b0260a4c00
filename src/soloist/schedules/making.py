"""Makes schedules of what somebody wrote, and says what is wrong with it."""

import re
from datetime import UTC, datetime
from typing import Any, get_args
from zoneinfo import ZoneInfo

import msgspec
from cronsim import CronSim, CronSimError

from soloist.errors import UsageError, is_number
from soloist.schedules.schedule import Missed, Origin, Overlap, Schedule
from soloist.schedules.times import shortest_distance
from soloist.store.envelope import NAME

SHORTEST, LONGEST = 0.01, 366 * 86400.0
"""Seconds between two ticks."""

LONGEST_JITTER = 86400.0
ANY_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,256}")
MOST_BODY = 2**20
FIELDS = (5, 6)


def make_schedule(
    where: str,
    *,
    name: Any,
    kind: Any,
    cron: Any = None,
    every: Any = None,
    tz: Any = "UTC",
    jitter: Any = 0.0,
    missed: Any = "once",
    overlap: Any = "allow",
    body: str = "",
    origin: Origin = "data",
    any_name: bool = False,
) -> Schedule:
    """Check all that can be checked.

    Args:
        where: it was written, for the sentence that refuses it.
        any_name: as others call theirs (entries of Celery), on one line.
    """
    for what, given in (("name", name), ("kind", kind)):
        allowed = ANY_NAME if any_name and what == "name" else NAME
        if not isinstance(given, str) or not allowed.fullmatch(given):
            raise UsageError(f"{where}: a {what} is 1 to 128 of the characters A–Z a–z 0–9 _ . : / -, not {given!r}.")
    if (cron is None) == (every is None):
        raise UsageError(f'{where}: say when in one way: a cron expression ("0 3 * * *"), or every=… seconds.')
    if every is not None and not (is_number(every) and SHORTEST <= every <= LONGEST):
        raise UsageError(f"{where}: every={every!r} is not possible; write {SHORTEST} to {LONGEST:,.0f} seconds.")
    if cron is not None:
        _check_cron(where, cron)
    _check_zone(where, tz)
    if not (is_number(jitter) and 0 <= jitter <= LONGEST_JITTER):
        raise UsageError(f"{where}: jitter={jitter!r} is not possible; write 0 to {LONGEST_JITTER:,.0f} seconds.")
    for what, given, words in (("missed", missed, get_args(Missed)), ("overlap", overlap, get_args(Overlap))):
        if given not in words:
            raise UsageError(f"{where}: {what}={given!r} is not possible; write {', '.join(words)}.")
    if len(body.encode(errors="replace")) > MOST_BODY:
        raise UsageError(f"{where}: a body of more than {MOST_BODY:,} bytes is too large for a schedule.")
    made = Schedule(
        name=name,
        kind=kind,
        cron=" ".join(cron.split()) if cron is not None else "",
        every_ms=round(every * 1000) if every is not None else 0,
        tz=tz,
        jitter_ms=round(jitter * 1000),
        missed=missed,
        overlap=overlap,
        body=body,
        origin=origin,
    )
    if made.jitter_ms and made.jitter_ms > (distance := shortest_distance(made)):
        raise UsageError(
            f"{where}: jitter={jitter!r} is longer than the {distance / 1000:g} s between two ticks: they would change places."
        )
    return made


def to_json(schedule: Schedule) -> bytes:
    return msgspec.json.encode(schedule)


def from_json(stored: str) -> Schedule:
    """One that is stored.

    Raises:
        UsageError: somebody else wrote it, or a newer version did.
    """
    try:
        schedule = msgspec.json.decode(stored, type=Schedule)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise UsageError(f"the stored schedule {stored[:200]!r} cannot be read: {error}") from error
    return make_schedule(
        f"the stored schedule {schedule.name!r}",
        name=schedule.name,
        kind=schedule.kind,
        cron=schedule.cron or None,
        every=schedule.every_ms / 1000 or None,
        tz=schedule.tz,
        jitter=schedule.jitter_ms / 1000,
        missed=schedule.missed,
        overlap=schedule.overlap,
        body=schedule.body,
        origin=schedule.origin,
        any_name=True,
    )


def is_of_code(stored: str) -> bool:
    """Whether the App's code declares it; of one that nobody can read, no."""
    try:
        return msgspec.json.decode(stored, type=Schedule).origin == "code"
    except (msgspec.MsgspecError, UnicodeError):
        return False


def _check_cron(where: str, cron: Any) -> None:
    if not isinstance(cron, str) or len(cron.split()) not in FIELDS:
        raise UsageError(
            f"{where}: {cron!r} is no cron expression: write minute, hour, day of month, month, day of week "
            f'("0 3 * * *"), with seconds in front of them if you need them ("*/10 * * * * *").'
        )
    try:
        if next(CronSim(cron, datetime.now(UTC)), None) is None:
            raise UsageError(f"{where}: {cron!r} never comes.")
    except CronSimError as error:
        raise UsageError(f"{where}: {cron!r} is no cron expression: {error}.") from None


def _check_zone(where: str, tz: Any) -> None:
    try:
        ZoneInfo(tz)
    except Exception:  # noqa: BLE001 - it says no in many ways
        raise UsageError(f'{where}: tz={tz!r} is no time zone; write one as "Europe/Berlin" or "UTC".') from None
