"""What was found, in words and as JSON. Pure, but for the lines of the source code that it quotes."""

import linecache
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from soloist.prove.crash_points import Point, When
from soloist.prove.outcome import COMPLETED

MOST_LETTERS = 60
MOST_GROUPS = 10
"""Findings that are told in words: a loop may have many, and they say the same."""

WORDS = {
    When.BEFORE: "before {line}",
    When.AFTER: "after {line}",
    When.WAITS: "while {line} waited",
    When.YIELDS: "when {line} had yielded",
}
SHORT = {When.BEFORE: "before", When.AFTER: "after", When.WAITS: "while waiting in", When.YIELDS: "at the yield of"}


@dataclass(frozen=True)
class Finding:
    """A crash point after which the world is not the same.

    Attributes:
        text: the line.
        differences: `charges 2, want 1`.
        by_text: the line that has called what the first is in.
    """

    point: Point
    text: str
    differences: tuple[str, ...]
    by_text: str = ""


@dataclass(frozen=True)
class Verdict:
    """Whether a handler or a source is safe to repeat.

    Attributes:
        what: `the handler pay (shop.py, line 12)`.
        file: where it is.
        end: what comes last: `the message was completed`, `the last page was accepted`.
        many: how many crash points there are.
        tried: how many of them were.
        missed: how many were not reached the second time: it does not take the same way each time.
        seconds: how long that took.
        fate: what became of the message without a crash.
        has_world: whether a function showed the outside world.
        is_blind: that function shows the same before and after a run without a crash, and nothing else came of it.
    """

    what: str
    file: str
    end: str
    many: int
    tried: int
    missed: int
    seconds: float
    fate: str
    has_world: bool
    is_blind: bool
    findings: tuple[Finding, ...] = ()

    @property
    def is_safe(self) -> bool:
        return not self.findings

    def __str__(self) -> str:
        return "\n".join([*self.finding_lines(), *self.remarks(), self.summary()])

    def finding_lines(self) -> Iterator[str]:
        """One for each finding; what follows it with the same differences is told by the numbers of its lines."""
        groups = [(told, list(group)) for told, group in groupby(self.findings, key=lambda each: each.differences)]
        for told, (first, *others) in groups[:MOST_GROUPS]:
            yield f"{self._where(first)}: {'; '.join(told)}"
            if others:
                yield f"  the same {self._others([each.point for each in others])}"
        left = sum(len(group) for _, group in groups[MOST_GROUPS:])
        if left:
            yield f"and at {_counted(left, 'more crash point')}, which --json names"

    def remarks(self) -> Iterator[str]:
        """What a reader must know to make something of the summary."""
        if self.fate != COMPLETED:
            yield f"without a crash: {self.fate}"
        if self.is_blind:
            yield "a run without a crash changes nothing that the world function shows: does it look at the right thing?"
        if self.tried < self.many:
            yield (
                f"{self.tried:,} of {self.many:,} crash points were tried, of every line its first and last times; "
                f"for all of them: --most {self.many}"
            )
        if self.missed:
            yield f"{_counted(self.missed, 'crash point')} not reached again: it does not take the same way each time"

    def summary(self) -> str:
        """The last line."""
        took = f"{_counted(self.tried, 'crash point')}, {self.seconds:.1f} s"
        if not self.is_safe:
            return f"not safe to repeat: {self.what}, {len(self.findings):,} of {took}"
        if not self.has_world:
            return (
                f"safe to repeat at every line as far as Redis goes ({took}); without a world nothing else is compared"
            )
        return f"safe to repeat at every line ({took})"

    def as_json(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "verdict": "safe" if self.is_safe else "not safe",
            "what": self.what,
            "crash_points": self.many,
            "tried": self.tried,
            "missed": self.missed,
            "seconds": round(self.seconds, 3),
            "fate": self.fate,
            "has_world": self.has_world,
            "is_blind": self.is_blind,
            "findings": [
                {
                    "file": each.point.place.file,
                    "line": each.point.place.line,
                    "when": each.point.place.when.value,
                    "text": each.text,
                    "by_file": each.point.place.by_file,
                    "by_line": each.point.place.by_line,
                    "by_text": each.by_text,
                    "attempt": each.point.process + 1,
                    "time": each.point.time or 1,
                    "differences": list(each.differences),
                }
                for each in self.findings
            ],
        }

    def _where(self, finding: Finding) -> str:
        point = finding.point
        if point.place.when is When.END:
            return f"killed after {self.end}"
        place = point.place
        attempt = f" in attempt {point.process + 1}," if point.process else ""
        within = f" in {self._line(place.by_file, place.by_line)}{_quoted(finding.by_text)}" if place.by_line else ""
        moment = WORDS[place.when].format(line=self._line(place.file, place.line) + _quoted(finding.text))
        return f"killed{attempt}{within} {moment}{_time(point)}"

    def _line(self, file: str, line: int) -> str:
        elsewhere = "" if file == self.file else f" of {Path(file).name}"
        return f"line {line}{elsewhere}"

    def _others(self, points: Sequence[Point]) -> str:
        told: dict[str, None] = {}
        for point in points:
            place = point.place
            if place.when is When.END:
                told[f"after {self.end}"] = None
            elif place.by_line:
                told[f"in {self._line(place.by_file, place.by_line)}"] = None
            else:
                told[f"{SHORT[place.when]} {self._line(place.file, place.line)}"] = None
        return _shortened(list(told))


def _quoted(text: str) -> str:
    return f" `{text}`" if text else ""


def _counted(many: int, what: str) -> str:
    return f"{many:,} {what}" if many == 1 else f"{many:,} {what}s"


def _shortened(told: Sequence[str]) -> str:
    """`after line 3, after line 4` as `after line 3, 4`."""
    parts: list[str] = []
    before = ""
    for each in told:
        begins, _, number = each.rpartition(" ")
        parts.append(number if begins == before and number.isdigit() else each)
        before = begins
    return ", ".join(parts)


def _time(point: Point) -> str:
    if not point.time:
        return ""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(point.time % 10 if point.time % 100 not in (11, 12, 13) else 0, "th")
    return f" ({point.time}{ending} time)"


def text_of(file: str, line: int) -> str:
    """The line as it is written, without what it begins with; a call whose arguments are below it is closed."""
    text = linecache.getline(file, line).strip()
    if text.endswith(("(", "[", "{")):
        text += "…" + {"(": ")", "[": "]", "{": "}"}[text[-1]]
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"
