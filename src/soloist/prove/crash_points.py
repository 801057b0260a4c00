"""Crash points: the moments between two lines of the user's code, seen by a trace function.

Python calls it before each line and when a function returns, suspends or is left by an exception. So "after line 17" is the
moment before the next line of the same function, or its return; what line 17 called has come back by then.
"""

import inspect
import opcode
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from enum import StrEnum
from itertools import count
from types import FrameType
from typing import Any, NamedTuple

import msgspec

from soloist.prove.own_code import OwnCode

MOST_SEEN = 100_000
"""Crash points that are noted of one process: beyond them a loop is long, not interesting."""


class When(StrEnum):
    """What a crash point is to its line."""

    BEFORE = "before"
    """Nothing of the function has run yet."""
    AFTER = "after"
    WAITS = "waits"
    """An `await` in it waits."""
    YIELDS = "yields"
    """It has yielded; of a source: its page is not accepted yet."""
    END = "end"
    """Not at a line: the message is completed, or the page accepted, and recorded."""


class Place(msgspec.Struct, frozen=True, array_like=True):
    """A crash point in the source code.

    Attributes:
        by_file: and by_line: where the handler, or the source, has called what this line is in; 0 if it is its own.
    """

    file: str
    line: int
    when: When
    by_file: str = ""
    by_line: int = 0


END = Place("", 0, When.END)


class Point(NamedTuple):
    """One moment of one history.

    Attributes:
        process: the number of the process in it, from 0; a message that is tried again has several.
        number: of the crash point in that process, from 1; 0: its end.
        time: how often this place had come by then, this time included; 0 if it comes once.
    """

    process: int
    number: int
    place: Place
    time: int = 0


class Watch:
    """Sees the crash points of one process go by, in all of its threads.

    Args:
        at: the number of the one at which to crash; None: note them all.
        crash: called there, and does not come back.

    Attributes:
        places: what was seen, up to MOST_SEEN.
        seen: how many there were.
    """

    def __init__(self, own: OwnCode, at: int | None, crash: Callable[[Place], None]) -> None:
        self.places: list[Place] = []
        self.seen = 0
        self._own = own
        self._at = at
        self._crash = crash
        self._is_on = False
        self._ending = threading.RLock()
        self._is_suspended = False
        self._numbers = count(1)  # which may be asked from several threads
        self._lines: dict[FrameType, int] = {}
        """The line that a function is at. Its frame is let go of when it returns, so nothing lives longer for it."""

    def install(self) -> None:
        """For all threads to come; before any of the user's code begins one."""
        threading.settrace(self._called)

    def on(self) -> None:
        """From here on it counts."""
        self._is_on = True

    def off(self) -> None:
        """What runs now is beside the point: what the user's code left behind, the end of a lifespan."""
        with (
            self._ending
        ):  # a crash that has begun in another thread comes first: what follows is recorded, or it is not
            self._is_on = False

    def _called(self, frame: FrameType, _event: str, _arg: Any) -> Callable[[FrameType, str, Any], Any] | None:
        return self._moved if self._is_on and self._own.has(frame.f_code) else None

    def _moved(self, frame: FrameType, event: str, arg: Any) -> Callable[[FrameType, str, Any], Any] | None:
        if not self._is_on:
            return None
        if frame.f_code.co_name in _INLINED and frame.f_back is not None:
            if event == "return":
                return self._moved
            frame = frame.f_back
        if event == "line":
            self._is_suspended = False
            last = self._lines.get(frame)
            self._lines[frame] = frame.f_lineno
            if last is None:
                self._meet(frame, frame.f_lineno, When.BEFORE)
            else:
                self._meet(frame, last, When.AFTER)
        elif event == "return":
            self._leaves(frame, arg)
        return self._moved

    def _leaves(self, frame: FrameType, arg: Any) -> None:
        """The function returns, raises or suspends. Those that await it suspend with it: that is one moment, not many."""
        when = _how_it_leaves(frame, arg)
        line = self._lines.get(frame, frame.f_lineno)
        if when is When.AFTER:
            self._lines.pop(frame, None)
        is_suspended = when is When.WAITS
        if not (is_suspended and self._is_suspended):
            self._is_suspended = is_suspended
            self._meet(frame, line, when)

    def _meet(self, frame: FrameType, line: int, when: When) -> None:
        by = self._own.caller(frame)
        place = Place(
            frame.f_code.co_filename,
            line,
            when,
            by.f_code.co_filename if by is not None else "",
            by.f_lineno if by is not None else 0,
        )
        number = self.seen = next(self._numbers)
        if number == self._at:
            with self._ending:
                if self._is_on:
                    self._crash(place)
        if self._at is None and number <= MOST_SEEN:
            self.places.append(place)


_INLINED = {"<listcomp>", "<setcomp>", "<dictcomp>"}
"""Functions of their own up to Python 3.11; from then on lines of the function in which they stand, as readers see them."""

_SUSPENDS = {"YIELD_VALUE", "RESUME"}
"""Where a function stands that is to go on later; from Python 3.13 on it is the second."""


def _how_it_leaves(frame: FrameType, arg: Any) -> When:
    code = frame.f_code
    if opcode.opname[code.co_code[frame.f_lasti]] not in _SUSPENDS:
        return When.AFTER
    if code.co_flags & inspect.CO_GENERATOR or type(arg).__name__ == "async_generator_wrapped_value":
        return When.YIELDS
    return When.WAITS


def no_tracing() -> None:
    """In this thread and those to come: what the parent had there (a debugger, coverage) is not for its children."""
    sys.settrace(None)
    threading.settrace(None)


def numbered(places: Sequence[Place], process: int = 0) -> list[Point]:
    """The crash points of one process, each with how often its place had come."""
    many: dict[Place, int] = defaultdict(int)
    for place in places:
        many[place] += 1
    came: dict[Place, int] = defaultdict(int)
    points = []
    for number, place in enumerate(places, start=1):
        came[place] += 1
        points.append(Point(process, number, place, came[place] if many[place] > 1 else 0))
    return points


def chosen(points: Sequence[Point], most: int) -> list[Point]:
    """At most so many of them, in their order: of every place the first time and the last, then the second, and so on."""
    if len(points) <= most:
        return list(points)
    times: dict[tuple[int, Place], list[int]] = defaultdict(list)
    for index, point in enumerate(points):
        times[point.process, point.place].append(index)
    ranked = sorted(
        (0 if turn == 0 else 1 if turn == len(indexes) - 1 else turn + 1, index)
        for indexes in times.values()
        for turn, index in enumerate(indexes)
    )
    return [points[index] for index in sorted(index for _, index in ranked[:most])]
