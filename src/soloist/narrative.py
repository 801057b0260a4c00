"""The common log in sentences, for people: `soloist log`, the monitor and the timeline."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

from soloist.durations import duration
from soloist.store.log import LogEntry

NO_NUMBER = ("0", "-1")
"""What stands in an entry for an instance whose number the script did not know, and for a drainer."""

BECAUSE = {"will": "its process ended", "lease": "it was not heard"}
WHAT = {"publish": "a publication", "next": "a completion", "beat": "a heartbeat"}


def who(fields: dict[str, str]) -> str:
    """The instance that an entry is about: by its number, or by its id where only that is known."""
    return f"#{fields['number']}" if fields.get("number", "0") not in NO_NUMBER else fields.get("instance", "?")


def numbered(entry: LogEntry, numbers: Mapping[str, int]) -> LogEntry:
    """The entry with the number of its instance, where the script knew only its id."""
    number = numbers.get(entry.fields.get("instance", ""))
    if number is None or entry.fields.get("number", "0") not in NO_NUMBER:
        return entry
    return replace(entry, fields={**entry.fields, "number": str(number)})


def sentence(entry: LogEntry) -> str:
    """What happened; the bare fields of an entry that is not ours."""
    told = _SENTENCES.get(entry.event)
    if told:
        with suppress(ValueError):  # somebody else wrote into the log
            return told(entry.fields)
    return " ".join([entry.event, *(f"{name}={value}" for name, value in entry.fields.items())])


def _messages(fields: dict[str, str]) -> str:
    count = int(fields.get("messages", 0))
    return "1 message" if count == 1 else f"{count:,} messages"


def _elected(fields: dict[str, str]) -> str:
    silent = int(fields.get("takeover_ms", 0))
    after = f"; the one before it was last heard {duration(silent)} before" if silent else ""
    return f"{who(fields)} is the generator now (term {fields.get('term')}){after}"


def _superseded(fields: dict[str, str]) -> str:
    what = WHAT.get(fields.get("what", ""), "a call")
    term = f" of term {fields['term']}" if "term" in fields else ""
    return f"{what}{term} by {who(fields)} came too late and was refused"


def _reclaimed(fields: dict[str, str]) -> str:
    why = BECAUSE.get(fields.get("because", ""), "")
    held = f"{_messages(fields)} wait again" if int(fields.get("messages", 0)) else "it held nothing"
    return f"{who(fields)} is gone{f' ({why})' if why else ''}; {held}"


def _switched(fields: dict[str, str]) -> str:
    what = next((each for each in ("kind", "source", "schedule") if each in fields), "kind")
    return f"the {what} {fields.get(what)!r}"


_SENTENCES: dict[str, Callable[[dict[str, str]], str]] = {
    "joined": lambda fields: f"{who(fields)} joined ({fields.get('host')}, process {fields.get('pid')})",
    "elected": _elected,
    "resigned": lambda fields: f"{who(fields)} resigned (term {fields.get('term')})",
    "superseded": _superseded,
    "reclaimed": _reclaimed,
    "left": lambda fields: (
        f"{who(fields)} left in order"
        + (f" and gave back {_messages(fields)}" if int(fields.get("messages", 0)) else "")
    ),
    "asked": lambda fields: f"{who(fields)} was asked to hand over (term {fields.get('term')})",
    "paused": lambda fields: f"{_switched(fields)} is paused",
    "resumed": lambda fields: f"{_switched(fields)} goes on",
    "scheduled": lambda fields: f"the schedule {fields.get('schedule')!r} was added or changed",
    "unscheduled": lambda fields: f"the schedule {fields.get('schedule')!r} was removed",
    "declared": lambda fields: f"the code's schedules are in place ({fields.get('schedules')} new, changed or gone)",
    "requeued": lambda fields: f"{_messages(fields)} were put back from the error store",
    "discarded": lambda fields: f"{_messages(fields)} were deleted from the error store",
    "failed": lambda fields: f"{_messages(fields)} failed",
}
