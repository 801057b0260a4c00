"""As much of RESP2 and RESP3 as it takes to tell commands and replies apart, and to know which belong together.

A stream is cut into frames, each one whole command or one whole reply; what is in it is looked at only when somebody
asks. A frame is kept whole in memory. Not understood: `CLIENT REPLY` and `MONITOR`, after which the server no longer
answers each command once, and streamed replies of unknown length, which no server sends.
"""

import hashlib
from collections import deque
from collections.abc import Iterator
from functools import cached_property

END = b"\r\n"
WITH_LENGTH = frozenset(b"$!=")
"""Types whose header is a length, and whose value follows it."""

VALUES_PER_ENTRY = {ord("*"): 1, ord("~"): 1, ord(">"): 1, ord("%"): 2, ord("|"): 2}
"""Types whose header is a number of entries, and how many values make up each."""

ATTRIBUTE, PUSH = ord("|"), ord(">")

SUBSCRIBING = frozenset({"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE"})
CONFIRMED = frozenset({*SUBSCRIBING, "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"})
"""Commands that are not answered but confirmed: once for each channel."""

PUBLISHED = frozenset({"MESSAGE", "PMESSAGE", "SMESSAGE"})
"""What a subscriber is sent without having asked."""


class Frames:
    """Cuts one direction of a connection into frames, however the bytes arrive."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._at = 0
        self._missing = 1

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The frames that are complete with these bytes."""
        self._buffer += data
        while self._is_whole():
            with memoryview(self._buffer) as view:
                frame = bytes(view[: self._at])
            del self._buffer[: self._at]
            self._at, self._missing = 0, 1
            yield frame

    def _is_whole(self) -> bool:
        """Go on from where the bytes ended last time. Nesting needs no stack: a header adds to the values missing."""
        buffer = self._buffer
        while self._missing:
            end = buffer.find(END, self._at)
            if end < 0:
                return False
            kind, after = buffer[self._at], end + len(END)
            if kind in WITH_LENGTH:
                length = int(buffer[self._at + 1 : end])
                after += length + len(END) if length >= 0 else 0  # -1: null
                if len(buffer) < after:
                    return False
            elif kind in VALUES_PER_ENTRY:
                entries = int(buffer[self._at + 1 : end])
                self._missing += max(entries, 0) * VALUES_PER_ENTRY[kind]
                self._missing += kind == ATTRIBUTE  # stands before a value and is none itself
            self._at = after
            self._missing -= 1
        return True


class Command:
    """One command on its way.

    Attributes:
        frame: its bytes.
        reply: what the server answered, whether or not that was delivered; None as long as it has not.
    """

    def __init__(self, frame: bytes) -> None:
        self.frame = frame
        self.reply: bytes | None = None

    def __str__(self) -> str:
        return self.name

    @cached_property
    def words(self) -> list[bytes]:
        """Name and arguments."""
        return list(_strings(self.frame))

    @cached_property
    def name(self) -> str:
        """Its first word in capitals."""
        return _first_word(self.frame)

    @cached_property
    def script(self) -> str | None:
        """The digest of the script that it calls, whether by digest or by text; None if it calls none."""
        if self.name not in ("EVALSHA", "EVAL", "EVALSHA_RO", "EVAL_RO"):
            return None
        strings = _strings(self.frame)
        next(strings)
        script = next(strings, b"")
        if self.name.startswith("EVALSHA"):
            return script.decode(errors="replace").lower()
        return hashlib.sha1(script, usedforsecurity=False).hexdigest()

    def calls(self, what: str) -> bool:
        """Whether this is its name, or the digest of its script."""
        return self.name == what.upper() or (self.script is not None and self.script == what.lower())


class Pairing:
    """Which command a reply answers. A server answers in the order of the commands; a push answers none."""

    def __init__(self) -> None:
        self._unanswered: deque[Command] = deque()
        self._confirmations = 0
        self._is_subscriber = False

    def sent(self, command: Command) -> None:
        """It goes to the server now."""
        if not command.name:
            return  # an empty line, which no server answers
        self._unanswered.append(command)
        self._is_subscriber |= command.name in SUBSCRIBING

    def answered(self, frame: bytes) -> Command | None:
        """The command that this answers, or None."""
        command = self._unanswered[0] if self._unanswered else None
        if frame[0] == PUSH or self._is_subscriber:
            word = _first_word(frame)
            if word in CONFIRMED:
                return self._confirmed(command, frame) if command is not None and command.name == word else None
            if word in PUBLISHED or frame[0] == PUSH:
                return None
        if command is not None:
            self._unanswered.popleft()
            command.reply = frame
        return command

    def _confirmed(self, command: Command, frame: bytes) -> Command:
        self._confirmations += 1
        if self._confirmations >= len(command.words) - 1:
            self._confirmations = 0
            self._unanswered.popleft()
        command.reply = (command.reply or b"") + frame
        return command


def _first_word(frame: bytes) -> str:
    return next(_strings(frame), b"").decode(errors="replace").upper()


def _strings(frame: bytes) -> Iterator[bytes]:
    """The strings at the head of an array, up to the first value that is none; the words of a line."""
    if frame[0] not in VALUES_PER_ENTRY:
        yield from frame.split() if frame[0] not in WITH_LENGTH else ()
        return
    at = frame.index(END) + len(END)
    while at < len(frame) and frame[at] == ord("$"):
        begin = frame.index(END, at) + len(END)
        length = int(frame[at + 1 : begin])
        if length < 0:  # null
            return
        yield frame[begin : begin + length]
        at = begin + length + len(END)
