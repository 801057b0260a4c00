"""What a person sees of a running instance: a line per transition, and the totals.

On a terminal the totals are one line that is kept up to date; in a pipe they are plain lines, every few seconds.
"""

import json
import shutil
import sys
import time
from typing import Any, TextIO

from soloist.events import Event

OFTEN = 5.0
"""Seconds between lines of totals where they cannot be rewritten."""


class JsonLines:
    """`--events`: one JSON object per line."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def __call__(self, event: Event) -> None:
        self._out.write(json.dumps(event.as_dict()) + "\n")
        self._out.flush()

    def finish(self) -> None:
        self._out.flush()


class Account:
    """The calm account."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._live = out.isatty()
        self._role = "handler"
        self._totals: dict[str, str] = {}
        self._shown = 0.0
        self._width = 0

    def __call__(self, event: Event) -> None:
        fields = event.fields
        if event.event == "generated":
            self._role = f"generator, term {fields['term']}"
            self._count("generated", f"generated {fields['total']:,} (last: message {fields['seq']:,})")
        elif event.event == "handled":
            self._count("handled", f"handled {fields['total']:,}, of them {fields['errors']:,} erroneous")
        else:
            self._note(event)

    def _count(self, what: str, text: str) -> None:
        self._totals[what] = text
        if self._live:
            self._show()
        elif time.monotonic() - self._shown >= OFTEN:
            self._shown = time.monotonic()
            self._line(self._summary())

    def _note(self, event: Event) -> None:
        fields = event.fields
        if event.event == "elected":
            self._role = f"generator, term {fields['term']}"
        elif event.event in ("superseded", "joined"):
            self._role = "handler"
        if not self._live and event.event == "left" and self._totals:
            self._line(self._summary())
        self._line(f"{time.strftime('%H:%M:%S')}  #{event.number}  {_sentence(event.event, fields)}")
        if self._live and event.event != "left":
            self._show()

    def _summary(self) -> str:
        return f"{self._role}: {'; '.join(self._totals.values())}" if self._totals else self._role

    def _show(self) -> None:
        text = self._summary()[: shutil.get_terminal_size().columns - 1]
        self._out.write("\r" + text.ljust(self._width))
        self._out.flush()
        self._width = len(text)

    def _line(self, text: str) -> None:
        if self._width:
            self._out.write("\r" + " " * self._width + "\r")
            self._width = 0
        self._out.write(text + "\n")
        self._out.flush()

    def finish(self) -> None:
        if self._width:
            self._out.write("\n")
            self._width = 0
        self._out.flush()


def _sentence(event: str, fields: dict[str, Any]) -> str:
    if event == "joined":
        return "joined"
    if event == "elected":
        took = f"; the generator before it was last heard {fields['takeover_ms']:,} ms ago" if fields["takeover_ms"] else ""
        return f"is the generator now (term {fields['term']}){took}"
    if event == "superseded":
        what = {"publish": "its publication", "next": "its completion", "beat": "its heartbeat"}.get(fields["what"], "")
        if "term" in fields:
            return f"another instance took over term {fields['term']}: {what} was refused; goes on as a handler"
        return f"was taken for gone: {what} was refused; joins again"
    if event == "reclaimed":
        return f"took back {fields['messages']:,} message(s) that {fields['from']} held when it died"
    if event == "quiet":
        return "takes no more work, finishes what it has in hand"
    if event == "left":
        return "left in order"
    return event


def listener(as_events: bool) -> JsonLines | Account:
    return JsonLines(sys.stdout) if as_events else Account(sys.stdout)
