"""What happened, in sentences: the rows of the table below the drawing."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from soloist.timeline.model import Mark
from soloist.timeline.words import clock, count, day

FOLDED = ("failed", "superseded")
"""Of these, several in a row are one row: they come in swarms."""


@dataclass(frozen=True)
class Row:
    """Some marks that are told together; mostly one."""

    marks: tuple[Mark, ...]

    @property
    def sentence(self) -> str:
        first, rest = self.marks[0], len(self.marks) - 1
        until = clock(self.marks[-1].at_ms)
        return first.told + (f"; and {count(rest, 'more like it', 'more like it')} until {until}" if rest else "")


def rows(marks: Sequence[Mark]) -> list[Row]:
    """One for each mark; one for all of the same that follow one another."""
    folded: list[Row] = []
    for mark in marks:
        before = folded[-1].marks if folded else ()
        if before and mark.what in FOLDED and not mark.is_fault and _alike(before[0], mark):
            folded[-1] = Row((*before, mark))
        else:
            folded.append(Row((mark,)))
    return folded


def anchors(table: Sequence[Row]) -> dict[Mark, str]:
    """Where the row of each mark is found on the page."""
    return {mark: f"row{at}" for at, row in enumerate(table) for mark in row.marks}


def as_html(table: Sequence[Row]) -> str:
    """Time and sentence; faults and elections stand out."""
    if not table:
        return '<p class="dim">Nothing: nobody came, went or took over in this time.</p>'
    days = {day(row.marks[0].at_ms) for row in table}
    lines = []
    for at, row in enumerate(table):
        mark = row.marks[0]
        tone = "fault" if mark.is_fault else mark.what if mark.what in ("elected", "reclaimed", "failed") else ""
        moment = (f"{day(mark.at_ms)} " if len(days) > 1 else "") + clock(mark.at_ms, exact=True)
        tag = '<span class="tag">fault</span> ' if mark.is_fault else ""
        lines.append(f'<tr id="row{at}" class="{tone}"><td>{moment}</td><td>{tag}{escape(row.sentence)}</td></tr>')
    return f'<div class="wide"><table class="told"><tbody>{"".join(lines)}</tbody></table></div>'


def _alike(one: Mark, other: Mark) -> bool:
    """The same, said of the same: figures in the sentences may differ where nothing else does."""
    return one.what == other.what and _shape(one.told) == _shape(other.told)


def _shape(told: str) -> str:
    """A sentence without what counts the messages."""
    first, _, rest = told.partition(" ")
    return rest.replace("messages", "message") if first.replace(",", "").isdigit() else told
