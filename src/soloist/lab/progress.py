"""A line on the terminal that says how far it is: a bar, the rate, the time left."""

import shutil
import sys
import time
from typing import Protocol

from soloist.cli.output import is_terminal
from soloist.durations import duration

EVERY = 0.1
WIDTH = 30


class Progress(Protocol):
    """Whoever shows how far it is."""

    def begin(self, what: str, of: int) -> None:
        """Something with so many parts begins."""

    def at(self, done: int) -> None:
        """So many of them are done."""

    def end(self) -> None:
        """It is over."""


def bar() -> Progress:
    """A bar on stderr if that is a terminal; else nothing is shown."""
    return Bar() if is_terminal(sys.stderr) else Silence()


class Silence:
    """Shows nothing."""

    def begin(self, what: str, of: int) -> None: ...

    def at(self, done: int) -> None: ...

    def end(self) -> None: ...


class Bar:
    """Shows it, on a line of its own that is gone afterwards."""

    def __init__(self) -> None:
        self._what, self._of = "", 1
        self._begun = self._shown = 0.0
        self._has_moved = False

    def begin(self, what: str, of: int) -> None:
        self._what, self._of = what, of
        self._begun, self._shown, self._has_moved = time.monotonic(), 0.0, False
        self._draw(0)

    def at(self, done: int) -> None:
        if done and not self._has_moved:
            self._has_moved, self._begun = True, time.monotonic()  # what was before was getting ready
        if time.monotonic() - self._shown > EVERY:
            self._draw(done)

    def end(self) -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()

    def _draw(self, done: int) -> None:
        self._shown = time.monotonic()
        sys.stderr.write(f"\r\x1b[K{line(self._what, done, self._of, self._shown - self._begun)}"[: _columns()])
        sys.stderr.flush()


def line(what: str, done: int, of: int, seconds: float) -> str:
    """How far it is after so many seconds."""
    full = round(WIDTH * min(1.0, done / of))
    text = f"{what:<20} {'█' * full}{'░' * (WIDTH - full)} {done:>{len(f'{of:,}')},}/{of:,}"
    if done and seconds > 0:
        text += f"  {done / seconds:,.0f}/s  {duration(1000 * seconds * (of - done) / done)} left"
    return text


def _columns() -> int:
    return shutil.get_terminal_size().columns - 1 + len("\r\x1b[K")
