"""Reads a file to its end before anything of it is written: every line, that none is missing, and that the numbers agree."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import msgspec

from soloist.archive.lines import FORMAT, AnyLine, End, Error, Header, Message, State, Unreadable, decoded
from soloist.errors import UsageError

LONGEST_HEADER = 2**16


@dataclass(frozen=True)
class Checked:
    """A file that may be imported.

    Attributes:
        lines: how many there are, the last included.
        digest: of the whole file.
    """

    header: Header
    state: State
    lines: int
    digest: str


class Bad(UsageError):
    """A file that cannot be imported; nothing of it was."""


def read_header(file: BinaryIO, name: str) -> Header:
    """The first line alone.

    Raises:
        Bad: it is no file of ours, or of another format.
    """
    text = file.readline(LONGEST_HEADER)
    try:
        found = msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        found = {}
    if found.get("line") != "header":
        raise Bad(f"{name} is nothing that `soloist export` has written: it does not begin with a header.")
    if found.get("format") != FORMAT:
        raise Bad(
            f"{name} is of format {found.get('format')}, and this soloist reads {FORMAT}: import it with the soloist that has "
            f"written it, or a newer one."
        )
    line = _line(text, name, 1)
    assert isinstance(line, Header)
    return line


def check(file: BinaryIO, name: str) -> Checked:
    """Read all of it.

    Raises:
        Bad: something is wrong with it.
    """
    digest, lines, counts = hashlib.sha256(), 0, Counter[str]()
    header: Header | None = None
    state: State | None = None
    last: AnyLine | None = None
    for number, text in enumerate(file, start=1):
        if header is None:
            file.seek(0)
            header = read_header(file, name)
            line: AnyLine = header
        else:
            line = _line(text, name, number)
        if isinstance(last, End):
            raise Bad(f"{name}, line {number}: something follows behind its last line.")
        if isinstance(line, State) and number == 2:
            state = line
        elif isinstance(line, Header | State) and number != 1:
            raise Bad(f"{name}, line {number}: a {type(line).__name__.lower()} does not belong here.")
        _count(line, state, counts, name, number)
        digest.update(text)
        last, lines = line, number
    if header is None:
        raise Bad(f"{name} is empty.")
    if not isinstance(last, End):
        raise Bad(f"{name} is not whole: it ends with line {lines:,}, without the line that says that it is the last.")
    if state is None:
        raise Bad(f"{name}, line 2: here the state of the namespace should be.")
    _require_all(last, counts, lines, name)
    _require_that_it_adds_up(state, counts, name)
    return Checked(header, state, lines, digest.hexdigest())


def numbered(file: BinaryIO, name: str, after: int, checked: Checked) -> Iterator[tuple[int, AnyLine]]:
    """The lines behind so many. The last one comes only if the file is still the one that was checked."""
    digest, number = hashlib.sha256(), 0
    changed = Bad(f"{name} was changed while it was imported. Remove what is there (soloist purge), and begin anew.")
    for number, text in enumerate(file, start=1):
        digest.update(text)
        if number == checked.lines and digest.hexdigest() != checked.digest:
            raise changed
        if number > after:
            yield number, _line(text, name, number)
    if number != checked.lines:
        raise changed


def _line(text: bytes, name: str, number: int) -> AnyLine:
    try:
        return decoded(text)
    except Unreadable as error:
        whole = "" if text.endswith(b"\n") else " (it is not whole)"
        raise Bad(f"{name}, line {number}: {error}{whole}") from None


def _count(line: AnyLine, state: State | None, counts: "Counter[str]", name: str, number: int) -> None:
    if isinstance(line, Message | Error):
        if state is None or line.kind not in state.kinds:
            raise Bad(f"{name}, line {number}: the kind {line.kind!r} is not among those of line 2.")
        what = "messages" if isinstance(line, Message) else "errors"
        counts[what] += 1
        counts[f"{what}:{line.kind}"] += 1


def _require_all(end: End, counts: "Counter[str]", lines: int, name: str) -> None:
    for what, there, said in (
        ("lines", lines - 1, end.lines),
        ("messages", counts["messages"], end.messages),
        ("error records", counts["errors"], end.errors),
    ):
        if there != said:
            raise Bad(f"{name}: there are {there:,} {what}, but its last line says that there must be {said:,}.")


def _require_that_it_adds_up(state: State, counts: "Counter[str]", name: str) -> None:
    """In all and of each kind: published = pending + completed + failed; and each failure is at rest or was removed."""
    totals = state.totals
    for of in ("", *(f":{kind}" for kind in state.kinds)):
        published, done = (
            totals.get(f"published{of}", 0),
            totals.get(f"completed{of}", 0) + totals.get(f"failed{of}", 0),
        )
        if published != counts[f"messages{of}"] + done:
            raise Bad(
                f"{name} does not add up{f' for the kind {of[1:]!r}' if of else ''}: {published:,} published, but "
                f"{counts[f'messages{of}']:,} pending and {done:,} completed or failed."
            )
    removed = totals.get("drained", 0) + totals.get("discarded", 0)
    if totals.get("failed", 0) != counts["errors"] + removed:
        raise Bad(
            f"{name} does not add up: {totals.get('failed', 0):,} failed, but {counts['errors']:,} records are in it and "
            f"{removed:,} were removed."
        )
