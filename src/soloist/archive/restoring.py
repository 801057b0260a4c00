"""Writes what a file says into an empty namespace: whole, or, if it is interrupted, to be gone on with.

Lines are numbered, and go in their order, some in each step; how many are there stands beside them. Until the last of them
is there nobody can join or publish: the namespace speaks a protocol that nobody knows.
"""

from typing import BinaryIO

import msgspec

from soloist.archive.checking import Checked, numbered
from soloist.archive.lines import AnyLine, Error, Message, Schedule, Source, State, envelope_of
from soloist.store.archive import Lines, prepare, restore
from soloist.store.guard import PROTOCOL
from soloist.store.keys import Keys
from soloist.store.link import Link

MOST_LINES, MOST_BYTES = 1000, 2**20
"""Of one step: so that the server does other work in between."""


def import_into(link: Link, keys: Keys, file: BinaryIO, name: str, checked: Checked) -> None:
    """Write all of it that is not there already.

    Args:
        file: at its beginning.
        name: of the file, for sentences about it.
    """
    done = prepare(link, keys, checked.digest, checked.state.kinds)
    lines = Lines(first=done + 1)
    for number, line in numbered(file, name, done, checked):
        is_last = number == checked.lines
        _add(lines, keys, line)
        lines.count += 1
        if is_last:
            _open(lines, keys, checked)
        if is_last or lines.count >= MOST_LINES or lines.size >= MOST_BYTES:
            restore(link, keys, checked.digest, lines, is_last=is_last)
            lines = Lines(first=number + 1)


def _add(lines: Lines, keys: Keys, line: AnyLine) -> None:
    if isinstance(line, Message):
        _add_message(lines, keys, line)
    elif isinstance(line, Error):
        details = msgspec.json.encode(line.details)
        lines.put(
            keys.errors, "hash", line.id, b"%d %d %b%b" % (line.failed_us, len(details), details, envelope_of(line))
        )
        lines.put(keys.errors_by_time, "zset", line.failed_us, line.id)
    elif isinstance(line, State):
        _add_state(lines, keys, line)
    elif isinstance(line, Source):
        if line.cursor is not None:
            lines.put(keys.term, "hash", f"cursor:{line.name}", line.cursor)
        if line.tick is not None:
            lines.put(keys.term, "hash", f"tick:{line.name}", line.tick)
    elif isinstance(line, Schedule):
        if line.schedule is not None:
            lines.put(keys.schedules, "hash", line.name, msgspec.json.encode(line.schedule))
        for what, value in line.runs.items():
            lines.put(keys.runs, "hash", f"{what} {line.name}", value)


def _add_message(lines: Lines, keys: Keys, line: Message) -> None:
    key, envelope = f"{keys.base}{line.place}:{line.kind}", envelope_of(line)
    if line.place == "delayed":
        lines.put(key, "zset", line.due, envelope)
    else:
        lines.put(key, "list", envelope)
    if line.attempts is not None:
        of = line.attempts
        lines.put(keys.attempts, "hash", line.id, f"{of.deaths} {of.retries} {of.suspect_since} {of.hold_until}")
    if line.waits:
        lines.put(keys.tracked, "hash", line.id, line.waits)
        what, _, unique = line.waits.partition(" ")
        if what == "unique":
            lines.put(keys.unique, "hash", unique, line.id)


def _add_state(lines: Lines, keys: Keys, line: State) -> None:
    lines.put(keys.term, "hash", "term", line.term, "seq", line.sequence)
    for name, value in line.totals.items():
        lines.put(keys.totals, "hash", name, value)
    if line.kinds:
        lines.put(keys.kinds, "set", *line.kinds)
    for name in line.paused:
        lines.put(keys.paused, "hash", name, 1)


def _open(lines: Lines, keys: Keys, checked: Checked) -> None:
    """From now on it speaks our protocol, so whoever wants to may join."""
    state = checked.state
    lines.put(keys.meta, "hash", "protocol", PROTOCOL, "app", checked.header.app, "imported", checked.digest)
    if state.instances:
        lines.put(keys.meta, "hash", "numbers", state.instances)
    if state.agenda:
        lines.put(keys.meta, "hash", "agenda", state.agenda)
