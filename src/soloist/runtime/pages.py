"""What a source returned, as a page that can be published. No I/O."""

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from soloist.declared import LONGEST
from soloist.errors import UsageError
from soloist.message import DEFAULT_KIND, encode_body
from soloist.source import Msg, Page
from soloist.store.envelope import NAME, pack, pack_page

MOST_MESSAGES = 100_000
MOST_BYTES = 64 * 2**20
"""What one page may have at most: it is one step of the server, which does nothing else meanwhile."""

MOST_KINDS = 1000
"""Each brings four keys along, and a script can unpack only so many."""

MOST_KEY = 4096
MOST_CURSOR = 2**20
"""Bytes: every election reads all cursors."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A page in bytes: kind, key and body of each message, in order, and the cursor as JSON."""

    messages: Sequence[tuple[str, bytes, bytes]] = ()
    bodies: Sequence[bytes] = ()
    """Instead of messages: those of the default kind, without keys."""
    cursor: str | None = None
    more: bool = False
    wait: float = 0.0

    @property
    def many(self) -> int:
        return len(self.messages) or len(self.bodies)

    def envelopes(self, first: int, tag: str, at_ms: int) -> dict[str, list[bytes]]:
        """Numbered from the first, in the order of the page."""
        if self.bodies:
            return {DEFAULT_KIND: pack_page(first, tag, DEFAULT_KIND, at_ms, self.bodies)}
        packed: dict[str, list[bytes]] = {}
        for number, (kind, key, body) in enumerate(self.messages, first):
            packed.setdefault(kind, []).append(pack(f"{number}-{tag}", kind, at_ms, body, key))
        return packed


def sheet_of(returned: Any, max_body: int) -> Sheet:
    """Make one of whatever a source returned.

    Raises:
        UsageError: it cannot be published; says why, and what to return instead.
    """
    if returned is None:
        return Sheet()
    if not isinstance(returned, Page):
        return Sheet([_message(returned, max_body)])
    given: Any = returned.messages  # by whoever does not check types
    if not isinstance(given, Sequence) or isinstance(given, str | bytes | bytearray | memoryview):
        raise UsageError(f"the messages of a Page must be a list, not {_a(given)}; write Page([…])")
    messages = [_message(each, max_body) for each in given]
    _check_size(messages)
    wait: Any = returned.wait
    if not isinstance(wait, int | float) or isinstance(wait, bool) or not 0 <= wait <= LONGEST:
        raise UsageError(f"wait={wait!r} of a Page must be a number of seconds")
    return Sheet(messages, cursor=_cursor(returned.cursor), more=bool(returned.more), wait=wait)


def _check_size(messages: Sequence[tuple[str, bytes, bytes]]) -> None:
    size = sum(len(key) + len(body) for _, key, body in messages)
    if len(messages) > MOST_MESSAGES or size > MOST_BYTES:
        raise UsageError(
            f"a Page of {len(messages):,} messages with {size:,} bytes is too large; return at most source.room messages "
            f"and {MOST_BYTES:,} bytes, and more=True"
        )
    kinds = len({kind for kind, _, _ in messages})
    if kinds > MOST_KINDS:
        raise UsageError(
            f"a Page of {kinds:,} kinds is too large: at most {MOST_KINDS:,} are possible. What differs from message to "
            f"message belongs into key or body"
        )


def body_of(value: Any, max_body: int) -> bytes:
    """The body of a message of the default kind, in bytes."""
    try:
        body = value.encode() if isinstance(value, str) else _encoded(value)
    except UnicodeEncodeError as error:
        raise UsageError(f"the body {value!r} is no text that could be sent: {error}") from None
    if len(body) > max_body:
        raise UsageError(f"a body of {len(body):,} bytes is larger than max_body allows ({max_body:,})")
    return body


def _message(value: Any, max_body: int) -> tuple[str, bytes, bytes]:
    if not isinstance(value, Msg):
        return DEFAULT_KIND, b"", body_of(value, max_body)
    kind: Any = value.kind
    key: Any = value.key
    if not isinstance(kind, str) or not re.fullmatch(NAME, kind):
        raise UsageError(f"the kind of a Msg must be 1 to 128 of the characters A–Z a–z 0–9 _ . : / -, not {kind!r}")
    if not isinstance(key, str):
        raise UsageError(f"the key of a Msg must be text, not {_a(key)}; write key=str(…)")
    try:
        encoded = key.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"the key {key!r} is no text that could be sent: {error}") from None
    if len(encoded) > MOST_KEY:
        raise UsageError(f"a key of {len(encoded):,} bytes is too long; at most {MOST_KEY:,} are possible")
    return kind, encoded, body_of(value.body, max_body)


def _encoded(value: Any) -> bytes:
    if isinstance(value, Msg | Page) or (isinstance(value, list | tuple) and any(isinstance(e, Msg) for e in value)):
        raise UsageError("messages within a message; return Page([Msg(…), …])")
    if inspect.iscoroutine(value) or inspect.isgenerator(value) or inspect.isasyncgen(value):
        _refuse_unrun(value)
    try:
        return encode_body(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise UsageError(
            f"{_a(value)} can be no body: {error}. Return text, bytes, something that JSON can tell, Msg, Page or None"
        ) from None


def _refuse_unrun(value: Any) -> None:
    """A wrapper that is not async hides what it wraps."""
    if inspect.iscoroutine(value):
        value.close()  # else Python complains that nobody awaited it
    raise UsageError(
        f"the function answers {_a(value)}, which nobody has run: a decorator between it and ours hides what it is. "
        f"Put ours below the other one, or let the wrapper be of the same sort (async def, yield)"
    )


def _cursor(value: Any) -> str | None:
    if value is None:
        return None
    try:
        encoded = msgspec.json.encode(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise UsageError(
            f"the cursor {value!r} cannot be stored: {error}. It must be something that JSON can tell"
        ) from None
    if encoded == "null":
        raise UsageError(f"the cursor {value!r} cannot be stored: JSON knows no such number. None keeps the stored one")
    if len(encoded) > MOST_CURSOR:
        raise UsageError(f"a cursor of {len(encoded):,} bytes is too long; at most {MOST_CURSOR:,} are possible")
    return encoded


def cursor_from(stored: str | None, cursor_type: Any) -> Any:
    """A cursor as its source knows it.

    Raises:
        UsageError: it was stored by a function with another type.
    """
    if stored is None:
        return None
    try:
        return msgspec.json.decode(stored, type=cursor_type)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise UsageError(
            f"the cursor {stored} does not fit the annotation of the function: {error}. Mend the one or the other"
        ) from None


def _a(value: Any) -> str:
    return type(value).__name__
