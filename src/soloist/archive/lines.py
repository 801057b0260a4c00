"""The lines of the file, each with its own fields; `line` says which it is."""

import base64
import json
import re
from typing import Annotated, Any, TypeAlias

import msgspec

from soloist.message import Details
from soloist.store.archive import Place
from soloist.store.envelope import NAME, pack, unpack

FORMAT = 1
"""The version of this file. It has nothing to do with that of the protocol: a namespace may be moved to a newer soloist."""

IDENT = re.compile(r"\d{1,19}-[!-~]{1,200}")
"""SEQ-TAG: it begins an envelope, and a space ends it there."""

WAITS = re.compile(r"unique [^ ]+ .+|run \d+ .+", re.DOTALL)

OF_RUNS = ("running", "began", "ended", "took", "result", "failures", "skipped", "tick", "since", "waits", "dropped")
"""What is known of the runs of a schedule; see lib/agenda.lua. All but the result are numbers."""

Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""As large as a number may be that the server's scripts count with."""


class Line(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="line"):
    """One line. What is not there has its default."""


class Header(Line, tag="header"):
    """The first: what it is, and of what.

    Attributes:
        protocol: which the namespace spoke; for people.
        exported_at: seconds since the epoch, by the server's clock.
    """

    format: int
    namespace: str
    app: str
    protocol: str
    exported_at: float
    messages: Number
    errors: Number


class State(Line, tag="state"):
    """The second: the numbers of the whole namespace.

    Attributes:
        instances: how many numbers of instances were given.
        agenda: version of the agenda.
        term: the last one.
        sequence: the last number of a message of the generator.
        kinds: all that are known.
        paused: kind:NAME, source:NAME, schedule:NAME.
    """

    instances: Number
    agenda: Number
    term: Number
    sequence: Number
    totals: dict[str, Number]
    kinds: list[str]
    paused: list[str]


class Source(Line, tag="source"):
    """A source, or as schedule:NAME a schedule: how far it is.

    Attributes:
        cursor: as it is stored, JSON as text.
        tick: its last one, server ms.
    """

    name: str
    cursor: str | None = None
    tick: Number | None = None


class Schedule(Line, tag="schedule"):
    """A schedule, and how its runs went."""

    name: str
    schedule: dict[str, Any] | None = None
    runs: dict[str, str] = {}


class Attempts(msgspec.Struct, forbid_unknown_fields=True):
    """What is known of a message that was attempted before; the last two in server ms, 0 for never."""

    deaths: Number
    retries: Number
    suspect_since: Number
    hold_until: Number


class OfMessage(Line):
    """What stands in an envelope.

    Attributes:
        published_at: server ms.
        body: as text, or `body_base64`, if it is none.
        key: empty: it is the id.
        headers: JSON as text.
    """

    id: str
    kind: str
    published_at: Number
    key: str = ""
    headers: str = ""
    body: str | None = None
    body_base64: str | None = None


class Message(OfMessage, tag="message", kw_only=True):
    """A message that waits, in the order in which it does.

    Attributes:
        due: delayed until then, server ms.
        waits: who waits for its end: unique KIND KEY, or run BEGAN SCHEDULE.
    """

    place: Place
    due: Number = 0
    attempts: Attempts | None = None
    waits: str = ""


class Error(OfMessage, tag="error", kw_only=True):
    """A record of the error store, oldest first.

    Attributes:
        failed_us: server µs.
        details: why it failed.
    """

    failed_us: Number
    details: Details


class End(Line, tag="end"):
    """The last: how many lines stand before it, and what they are."""

    lines: Number
    messages: Number
    errors: Number


AnyLine: TypeAlias = Header | State | Source | Schedule | Message | Error | End

_DECODER = msgspec.json.Decoder(AnyLine)


class Unreadable(Exception):
    """What is wrong with a line."""


def encoded(line: AnyLine) -> str:
    """ASCII alone, whatever is in the messages: it may come to a terminal, or through one that knows no other letters."""
    return json.dumps(msgspec.to_builtins(line), separators=(",", ":")) + "\n"


def decoded(text: bytes) -> AnyLine:
    """The line, with all that can be checked without the others.

    Raises:
        Unreadable: it is none.
    """
    try:
        line: AnyLine = _DECODER.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(str(error)) from None
    if isinstance(line, Message | Error):
        _check(line)
    if isinstance(line, Schedule):
        for what, value in line.runs.items():
            if what not in OF_RUNS or (what != "result" and not re.fullmatch(r"-?\d{1,16}", value, re.ASCII)):
                raise Unreadable(f"{what}: {value!r} is nothing that is known of runs")
    return line


def _check(line: Message | Error) -> None:
    if not IDENT.fullmatch(line.id):
        raise Unreadable(f"{line.id!r} is no id of a message")
    if not re.fullmatch(NAME, line.kind):
        raise Unreadable(f"{line.kind!r} is no kind")
    if (line.body is None) == (line.body_base64 is None):
        raise Unreadable("it has not one of body and body_base64")
    if isinstance(line, Message) and (line.place == "delayed") != (line.due > 0):
        raise Unreadable("what is delayed, and only that, is due at some time")
    if isinstance(line, Message) and line.waits and not WAITS.fullmatch(line.waits):
        raise Unreadable(f"nobody waits for its end in this way: {line.waits!r}")
    envelope_of(line)


def of_envelope(envelope: bytes) -> dict[str, Any]:
    """The fields of a message that stand in its envelope.

    Raises:
        ValueError: it is none.
    """
    parts = unpack(envelope)
    fields: dict[str, Any] = {"id": parts.id, "kind": parts.kind, "published_at": parts.published_at}
    if parts.key != parts.id:
        fields["key"] = parts.key
    if parts.headers:
        fields["headers"] = parts.headers.decode()
    try:
        fields["body"] = parts.body.decode()
    except UnicodeDecodeError:
        fields["body_base64"] = base64.b64encode(parts.body).decode()
    return fields


def envelope_of(line: OfMessage) -> bytes:
    """The envelope again.

    Raises:
        Unreadable: the body is no base64.
    """
    try:
        body = base64.b64decode(line.body_base64 or "", validate=True) if line.body is None else line.body.encode()
        return pack(line.id, line.kind, line.published_at, body, line.key.encode(), line.headers.encode())
    except ValueError as error:
        raise Unreadable(f"body_base64: {error}") from None
