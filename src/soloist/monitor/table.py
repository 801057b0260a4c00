"""The table of instances: its rows, and how they are laid out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rich.cells import cell_len

from soloist.inspector import InstanceSnapshot
from soloist.monitor.lines import Ground, Line, Span, Tone, line, padded, tame
from soloist.monitor.model import Child, Phase, State, numbers_shown


class Condition(StrEnum):
    """How an instance is."""

    ALIVE = "alive"
    FROZEN = "frozen?"
    """Present but silent for longer than a few heartbeats; or stopped by our own hand."""
    GONE = "gone"
    STARTING = "starting"
    LEAVING = "leaving"


TONES = {
    Condition.ALIVE: Tone.GOOD,
    Condition.FROZEN: Tone.DOUBT,
    Condition.GONE: Tone.DIM,
    Condition.STARTING: Tone.DIM,
    Condition.LEAVING: Tone.DOUBT,
}


@dataclass(frozen=True)
class Row:
    """One instance, or a process that is not one yet.

    Attributes:
        key: its number, or minus its process number.
        own: it was started here.
        present: Redis knows it.
        place: in the line of successors; 0 if it is not in it.
    """

    key: int
    instance: InstanceSnapshot | None
    pid: int
    condition: Condition
    own: bool
    present: bool = True
    place: int = 0

    @property
    def role(self) -> str:
        if self.instance is None or not self.present or self.condition is Condition.GONE:
            return ""
        return self.instance.role


def rows(state: State) -> list[Row]:
    """Who is there, who is gone, who is about to come."""
    seen = state.snapshot
    present = {each.number: each for each in seen.instances} if seen else {}
    gone = {each.instance.number: each.instance for each in state.gone}
    line_of = seen.line if seen else []
    found = []
    for number in numbers_shown(state):
        child, instance = state.child(number), present.get(number) or gone.get(number)
        condition = _condition(child, present.get(number), state.scope.silent_ms)
        place = line_of.index(instance.id) + 1 if instance is not None and instance.id in line_of else 0
        pid = instance.pid if instance is not None else child.pid if child is not None else 0
        found.append(Row(number, instance, pid, condition, child is not None, number in present, place))
    return found


def _condition(child: Child | None, present: InstanceSnapshot | None, silent_ms: int) -> Condition:
    if child is not None and child.phase is Phase.ENDED:
        return Condition.GONE
    if child is not None and child.phase is Phase.LEAVING:
        return Condition.LEAVING
    if child is not None and child.phase is Phase.FROZEN:
        return Condition.FROZEN
    if present is not None:
        return Condition.ALIVE if present.heard_ms <= silent_ms else Condition.FROZEN
    if child is None:
        return Condition.GONE
    return Condition.FROZEN if child.number else Condition.STARTING


# ---- layout ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        usual: how wide it is at least, so that the table does not move with every new word.
        least: how narrow it may become where there is no room. 0: it is never cut.
        from_width: width of the screen from which on it is shown.
    """

    title: str
    text: Callable[[Row], str]
    right: bool = True
    usual: int = 0
    least: int = 0
    from_width: int = 0
    tone: Callable[[Row], Tone] = lambda _: Tone.PLAIN


def _of(count: Callable[[InstanceSnapshot], int]) -> Callable[[Row], str]:
    return lambda row: f"{count(row.instance):,}" if row.instance is not None else ""


def _role_tone(row: Row) -> Tone:
    return Tone.GENERATOR if row.role == "generator" else Tone.HANDLER


def _errors_tone(row: Row) -> Tone:
    return Tone.BAD if row.instance is not None and row.instance.failed else Tone.DIM


def _lease(row: Row) -> str:
    if row.instance is None or not row.present or row.condition is Condition.GONE:
        return ""
    return f"{max(0, -(-row.instance.lease_ms // 1000))} s"  # whole seconds, rounded up: a tenth would never be still


def _heard(row: Row) -> str:
    """Only what is worth a look: a beat comes every half second or sooner."""
    if row.instance is None or row.instance.heard_ms < 1000:
        return ""
    return f"{row.instance.heard_ms // 1000} s ago"


COLUMNS = (
    Column("#", lambda row: str(row.key) if row.key > 0 else "–", usual=2, tone=lambda _: Tone.STRONG),
    Column("role", lambda row: row.role, right=False, usual=9, tone=_role_tone),
    Column("host", lambda row: tame(row.instance.host) if row.instance else "", right=False, least=6),
    Column("pid", lambda row: str(row.pid), usual=5),
    Column("generated", _of(lambda each: each.generated)),
    Column("handled", _of(lambda each: each.completed + each.failed)),
    Column("errors", _of(lambda each: each.failed), tone=_errors_tone),
    Column("holding", _of(lambda each: each.claimed)),
    Column("lease", _lease),
    Column("state", lambda row: str(row.condition), right=False, usual=8, tone=lambda row: TONES[row.condition]),
    Column("in line", lambda row: {1: "1st", 2: "2nd"}.get(row.place, ""), right=False, from_width=100),
    Column("heard", _heard, from_width=110),
    Column("id", lambda row: tame(row.instance.id) if row.instance else "", right=False, from_width=130),
)
WIDEST_GAP = 4
MARKS = 3
"""Columns for the marks in front: selected, started here, a space."""


def layout(shown: Sequence[Row], selected: int, width: int) -> tuple[Line, list[Line]]:
    """The line of titles, and a line for each row."""
    columns = [column for column in COLUMNS if width >= column.from_width]
    cells = [[column.text(row) for row in shown] for column in columns]
    sizes, gaps = _fitted(columns, cells, width - MARKS - 1)  # a margin on the right
    title = "".join(
        " " * gap + padded(column.title, size, right=column.right)
        for column, size, gap in zip(columns, sizes, gaps, strict=True)
    )
    lines = []
    for index, row in enumerate(shown):
        is_selected = row.key == selected
        spans = [Span("▸" if is_selected else " ", Tone.KEY), Span("•" if row.own else " ", Tone.DIM), Span(" ")]
        for column, texts, size, gap in zip(columns, cells, sizes, gaps, strict=True):
            tone = Tone.DIM if row.condition is Condition.GONE else column.tone(row)
            spans.append(Span(" " * gap + padded(texts[index], size, right=column.right), tone))
        lines.append(Line(tuple(spans), Ground.SELECTED if is_selected else Ground.PLAIN))
    return line(" " * MARKS, Span(title, Tone.DIM)), lines


def _fitted(columns: Sequence[Column], cells: Sequence[Sequence[str]], room: int) -> tuple[list[int], list[int]]:
    """How wide each column is, and the gap before it: as wide as there is room, and the same from look to look."""
    sizes = [
        max(len(column.title), column.usual, *(cell_len(text) for text in texts))
        for column, texts in zip(columns, cells, strict=True)
    ]
    between = len(columns) - 1
    excess = sum(sizes) + between - room
    for at, column in enumerate(columns):
        if column.least and excess > 0:
            cut = min(excess, max(0, sizes[at] - column.least))
            sizes[at] -= cut
            excess -= cut
    spare = max(0, room - sum(sizes) - between)
    gaps = [1 + min(WIDEST_GAP - 1, spare // between + (at < spare % between)) for at in range(between)]
    return sizes, [0, *gaps]
