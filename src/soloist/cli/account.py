"""What a person sees of a running instance: a line per transition, and the totals.

On a terminal the totals are one line that is kept up to date; in a pipe they are plain lines, every few seconds.
"""

import json
import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from soloist.cli.output import ClosedPipe, write
from soloist.durations import duration
from soloist.errors import OutputError
from soloist.events import Event, Listener

TOTALS = ("generated", "handled")
"""Events whose newer ones make older ones superfluous."""

FINISH = 2.0
"""Seconds for which a leaving instance waits for a reader that does not read."""

OFTEN = 5.0
"""Seconds between lines of totals where they cannot be rewritten."""


def json_lines(event: Event) -> None:
    """`--events`: one JSON object per line."""
    write(json.dumps(event.as_dict()) + "\n")


class Account:
    """The calm account."""

    def __init__(self) -> None:
        self._live = sys.stdout.isatty()
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
        elif event.event in ("superseded", "joined", "unfit"):
            self._role = "handler"
        if event.event == "left" and self._totals:
            self._line(self._summary())
        self._line(f"{time.strftime('%H:%M:%S')}  #{event.number}  {sentence(event.event, fields)}")
        if self._live and event.event != "left":
            self._show()

    def _summary(self) -> str:
        return f"{self._role}: {'; '.join(self._totals.values())}" if self._totals else self._role

    def _show(self) -> None:
        text = self._summary()[: shutil.get_terminal_size().columns - 1]
        write("\r" + text.ljust(self._width))
        self._width = len(text)

    def _line(self, text: str) -> None:
        wipe = "\r" + " " * self._width + "\r" if self._width else ""
        self._width = 0
        write(wipe + text + "\n")


def sentence(event: str, fields: dict[str, Any]) -> str:
    """What happened, for people."""
    if event == "joined":
        return "joined"
    if event == "elected":
        since = fields["takeover_ms"]
        took = f"; the generator before it was last heard {duration(since)} ago" if since else ""
        return f"is the generator now (term {fields['term']}){took}"
    if event == "superseded":
        what = {"publish": "its publication", "next": "its completion", "beat": "its heartbeat"}.get(fields["what"], "")
        if "term" in fields:
            return f"another instance took over term {fields['term']}: {what} was refused; goes on as a handler"
        return f"was taken for gone: {what} was refused; joins again"
    if event == "reclaimed" and not fields["messages"]:
        return f"found that {fields['from']} is gone; it held nothing"
    if event == "reclaimed":
        many = f"{fields['messages']:,} messages" if fields["messages"] > 1 else "a message"
        return f"found that {fields['from']} is gone, and took back {many} that it held"
    if event == "unfit":
        return f"leaves the generator's part to another instance: {fields['reason']}"
    if event == "quiet":
        return "takes no more work and finishes what it has in hand (asked again, it ends at once)"
    if event == "stuck":
        return f"{fields['reason']}: leaves, to be started anew"
    if event == "left":
        return "left in order"
    return event


class Told:
    """Hands events on to a listener that may block, on a thread of its own: a full pipe must not stop the heart.

    Totals that wait to be told are replaced by newer ones. When the output cannot be written any more, the instance is
    asked to stop, once.

    Attributes:
        failure: why it could not be written; None as long as it can, or when the reader has closed the pipe.
    """

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._waiting: list[Event] = []
        self._changed = threading.Condition()
        self._telling = False
        self._closed = False
        self.on_closed: Callable[[], None] = lambda: None
        self.failure: OutputError | None = None
        threading.Thread(target=self._tell, name="told", daemon=True).start()

    def __call__(self, event: Event) -> None:
        with self._changed:
            if event.event in TOTALS:
                self._waiting = [each for each in self._waiting if each.event != event.event]
            self._waiting.append(event)
            self._changed.notify_all()

    def finish(self) -> None:
        """Wait until everything is told; not for ever, if the reader has stopped reading."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or not (self._waiting or self._telling), timeout=FINISH)

    def _tell(self) -> None:
        while not self._closed:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting))
                event = self._waiting.pop(0)
                self._telling = True
            try:
                self._listener(event)
            except (ClosedPipe, OutputError) as error:
                self._closed = True
                self.failure = error if isinstance(error, OutputError) else None
                self.on_closed()
            with self._changed:
                self._telling = False
                self._changed.notify_all()


def told(as_events: bool) -> Told:
    return Told(json_lines if as_events else Account())
