"""Celery's entries and the schedules of soloist, one as the other.

Those of `beat_schedule` are listed among the namespace's schedules, so that they can be looked at and paused there; they are
sent by Celery's own objects all the same. Those that somebody added there at run time become entries.
"""

import logging
from typing import Any

import msgspec
from celery.schedules import crontab
from celery.schedules import schedule as Interval  # noqa: N812 - it is a class, whatever it is called

from soloist.celery.ticks import OnAgenda
from soloist.errors import UsageError
from soloist.schedules.making import from_json, to_json
from soloist.schedules.schedule import Schedule

log = logging.getLogger("soloist")


class Order(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a schedule whose kind is the name of a task."""

    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    options: dict[str, Any] = {}


def listed(entry: Any) -> bytes | None:
    """An entry of the configuration as it is shown; None if its times cannot be told so (solar, one's own class)."""
    when = entry.schedule
    times: dict[str, Any] = {}
    if type(when) is Interval and not when.relative:
        times["every_ms"] = round(when.run_every.total_seconds() * 1000)
    elif type(when) is crontab and (zone := getattr(when.tz, "key", None)) and not _differs_from_cron(when):
        times["cron"] = _cron(when)
        times["tz"] = str(zone)
    if not times.get("cron") and times.get("every_ms", 0) <= 0:
        return None
    order = Order(list(entry.args or ()), dict(entry.kwargs or {}), dict(entry.options or {}))
    body = msgspec.json.encode(order, enc_hook=lambda odd: f"<{type(odd).__name__}>").decode()
    json = to_json(Schedule(name=entry.name, kind=entry.task, body=body, origin="code", **times))
    try:
        from_json(json.decode())
    except UsageError:
        return None  # Celery reads more than others do
    return json


def _cron(when: Any) -> str:
    # Nothing else keeps what was written.
    names = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
    fields = [getattr(when, f"_orig_{name}") for name in names]
    return " ".join("".join(str(field).split()) if isinstance(field, str | int) else "?" for field in fields)


def _differs_from_cron(when: Any) -> bool:
    """Day of month and day of week: for Celery both must fit, for cron one of them."""
    days = range(1, 32), range(7)
    return set(when.day_of_month) != set(days[0]) and set(when.day_of_week) != set(days[1])


def entry_of(name: str, stored: str, scheduler: Any, grace_ms: int) -> Any | None:
    """A schedule that somebody added at run time as an entry; None, and a line in the log, if it cannot be one."""
    try:
        schedule = from_json(stored)
        order = msgspec.json.decode(schedule.body or "{}", type=Order)
        if schedule.overlap != "allow":
            raise UsageError(
                f"the schedule {schedule.name!r}: overlap={schedule.overlap} is not possible here: a beat does not learn when "
                f"a task has ended."
            )
    except (UsageError, msgspec.MsgspecError) as error:
        log.error("schedule.unreadable schedule=%s reason=%r; it is passed over", name, str(error))  # noqa: TRY400
        return None
    return scheduler.Entry(
        name=schedule.name,
        task=schedule.kind,
        schedule=OnAgenda(schedule, grace_ms, scheduler.app),
        args=tuple(order.args),
        kwargs=order.kwargs,
        options=order.options,
        app=scheduler.app,
    )
