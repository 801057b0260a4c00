"""The reporter: what this instance says of itself, looked up with every beat and sent when it changes.

Handling a message costs nothing for it: what takes long is still in hand at the next beat.
"""

import sys
import time
import traceback
from typing import TYPE_CHECKING

from soloist.store.report import Doing, Report, SourceTrouble, to_text

if TYPE_CHECKING:
    import threading
    from types import FrameType

    from soloist.runtime.instance import Instance

SLOW = 1.0
"""Seconds after which a message is told to be in hand."""

VERY_SLOW = 5.0
"""Seconds after which it is told where the code is, and how often anew."""

SOURCE_SLOW = 5.0
"""Seconds after which a source is told not to have returned; twice its interval, if that is longer."""

STACK_LENGTH = 4096
HERE = "soloist/runtime/"


class Reporter:
    """Puts the report together."""

    def __init__(self, instance: "Instance") -> None:
        self._instance = instance
        self._in_hand: bytes | None = None
        self._since = 0.0
        self._since_ms = 0
        self._stack = ""
        self._stack_at = 0.0

    def text(self) -> str:
        """What there is to say now; empty if all is well."""
        instance = self._instance
        return to_text(Report(self._doing(), instance.heart.late_ms, self._sources()))

    def _doing(self) -> Doing | None:
        now = time.monotonic()
        oldest = self._instance.handler.oldest()
        in_hand, thread = oldest if oldest is not None else (None, None)
        if in_hand != self._in_hand:
            self._in_hand, self._since, self._stack = in_hand, now, ""
            self._since_ms = int(self._instance.clock.now_ms())
        if in_hand is None or now - self._since < SLOW:
            return None
        if now - self._since >= VERY_SLOW and (not self._stack or now - self._stack_at >= VERY_SLOW):
            self._stack, self._stack_at = _where(thread), now
        return Doing(in_hand.decode(), self._since_ms, self._stack)

    def _sources(self) -> dict[str, SourceTrouble]:
        troubles: dict[str, SourceTrouble] = {}
        if not self._instance.played:
            return troubles
        generator, clock = self._instance.generator, self._instance.clock
        for reader in generator.readers:
            failing, called_at = reader.failing, reader.called_at
            if failing is not None:
                since_ms = clock.now_ms() - (time.monotonic() - failing[0]) * 1000
                troubles[reader.name] = SourceTrouble(_whole_seconds(since_ms), failing[1])
            took = time.monotonic() - called_at if called_at is not None else 0.0
            if took > max(SOURCE_SLOW, 2 * reader.declared.every):
                troubles[reader.name] = SourceTrouble(_whole_seconds(clock.now_ms() - took * 1000))
        return troubles


def _where(thread: "threading.Thread | None") -> str:
    """Where the code of a thread is."""
    ident = thread.ident if thread is not None else None
    return stack_of(sys._current_frames().get(ident or 0))  # noqa: SLF001 - the only way


def _whole_seconds(ms: float) -> int:
    """So that a moment that is computed anew with every beat stays the same one."""
    return round(ms / 1000) * 1000


def stack_of(frame: "FrameType | None") -> str:
    """The calls of the user's code, innermost last, bounded."""
    entries = [each for each in traceback.extract_stack(frame) if HERE not in each.filename] if frame else []
    entries = [each for each in entries if "/threading.py" not in each.filename]
    return "".join(traceback.format_list(entries))[-STACK_LENGTH:]
