"""What a screen is made of: lines of text in named tones, without a word about colours."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import NamedTuple

from rich.cells import cell_len, chop_cells, set_cell_size

from soloist.cli.output import harmless


class Tone(StrEnum):
    """What a text means."""

    PLAIN = auto()
    STRONG = auto()
    DIM = auto()
    GENERATOR = auto()
    HANDLER = auto()
    GOOD = auto()
    DOUBT = auto()
    BAD = auto()
    KEY = auto()
    """A key that can be pressed."""
    PUBLISHED = auto()
    """Bars, softer than text: so are the next two."""
    HANDLED = auto()
    WAITING = auto()


class Ground(StrEnum):
    """What a line lies on."""

    PLAIN = auto()
    BAR = auto()
    """The top and the bottom of the screen."""
    SELECTED = auto()
    NEWS = auto()
    """Somebody took over."""
    NOTICE = auto()
    """The answer to a key."""
    ALARM = auto()
    """The server is away."""


class Span(NamedTuple):
    """A piece of a line."""

    text: str
    tone: Tone = Tone.PLAIN

    @property
    def width(self) -> int:
        return cell_len(self.text)


@dataclass(frozen=True)
class Line:
    """One line of the screen."""

    spans: tuple[Span, ...] = ()
    ground: Ground = Ground.PLAIN

    @property
    def text(self) -> str:
        return "".join(span.text for span in self.spans)

    @property
    def width(self) -> int:
        return sum(span.width for span in self.spans)

    def on(self, ground: Ground) -> "Line":
        return Line(self.spans, ground)

    def dimmed(self) -> "Line":
        """The same as something that is over, or no longer known to be so."""
        return Line(tuple(Span(span.text, Tone.DIM) for span in self.spans), self.ground)

    def fitted(self, width: int) -> "Line":
        """Exactly so many columns wide: cut with an ellipsis, or filled up."""
        left = width
        spans: list[Span] = []
        for span in self.spans:
            if span.width > left:
                spans.append(Span(fit(span.text, left), span.tone))
                left = 0
                break
            spans.append(span)
            left -= span.width
        return Line((*spans, Span(" " * left)) if left else tuple(spans), self.ground)


BLANK = Line()


def line(*parts: Span | str, ground: Ground = Ground.PLAIN) -> Line:
    return Line(tuple(part if isinstance(part, Span) else Span(part) for part in parts), ground)


def fit(text: str, width: int) -> str:
    """At most so many columns, with an ellipsis where something is missing."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1) + "…" if width > 0 else ""


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Exactly so many columns."""
    text = fit(text, width)
    space = " " * (width - cell_len(text))
    return space + text if right else text + space


def between(left: Line, right: Line, width: int) -> Line:
    """Two lines on one, at its two ends; the right one goes if there is no room for both."""
    space = width - left.width - right.width
    if space < 2:
        return left.fitted(width)
    return Line((*left.spans, Span(" " * space), *right.spans), left.ground)


def beside(columns: Sequence[Sequence[Line]], widths: Sequence[int], gap: int) -> list[Line]:
    """Columns of lines beside each other, each of its width."""
    height = max((len(column) for column in columns), default=0)
    lines = []
    for at in range(height):
        spans: list[Span] = []
        for index, (column, width) in enumerate(zip(columns, widths, strict=True)):
            piece = (column[at] if at < len(column) else BLANK).fitted(width)
            spans += [Span(" " * gap), *piece.spans] if index else piece.spans
        lines.append(Line(tuple(spans)))
    return lines


def heading(title: str, width: int, more: str = "") -> Line:
    """A rule with a title on it."""
    words = f" {title} "
    extra = f" {more} " if more else ""
    rule = width - 2 - cell_len(words) - cell_len(extra) - (2 if extra else 0)
    if rule < 1:
        extra, rule = "", max(0, width - 2 - cell_len(words))
    return line(
        Span("──", Tone.DIM),
        Span(words, Tone.STRONG),
        Span("─" * rule, Tone.DIM),
        Span(extra, Tone.DIM),
        Span("──" if extra else "", Tone.DIM),
    ).fitted(width)


def wrapped(text: str, width: int, tone: Tone = Tone.PLAIN) -> list[Line]:
    """One long line in as many as it needs."""
    return [line(Span(piece, tone)) for piece in chop_cells(text, max(2, width)) or [""]]


def tame(text: str) -> str:
    """Text from outside on one line: nothing in it can move the cursor, colour the screen or reorder the line."""
    return harmless(text.encode(errors="surrogateescape"))
