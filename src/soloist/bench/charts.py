"""Bars, drawn as SVG: one row of the result beside the other, and within a row one figure beside the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, LABELS, VALUES = 736, 150, 120
BAR, GAP, BETWEEN = 16, 3, 12


@dataclass(frozen=True)
class Bars:
    """One figure of every row: its title, the values, and how each is written."""

    title: str
    values: Sequence[float | None]
    shown: Sequence[str]


STYLE = """<style>
text { font: 13px system-ui, sans-serif; fill: #1c2330; } .dim { fill: #667085; } .one { fill: #2f6fde; } .other { fill: #9aa7bd; }
@media (prefers-color-scheme: dark) { text { fill: #e6e9ef; } .dim { fill: #98a2b3; } .one { fill: #6ea0ff; } .other { fill: #566074; } }
</style>"""
"""What a chart needs that stands alone; on a page the page has it."""


def chart(labels: Sequence[str], figures: Sequence[Bars], *, alone: bool = False) -> str:
    """The figures have one scale: draw only those together that have one unit."""
    most = max((value for bars in figures for value in bars.values if value is not None), default=0) or 1
    room = WIDTH - LABELS - VALUES
    parts: list[str] = []
    y = 0
    for row, label in enumerate(labels):
        height = len(figures) * (BAR + GAP)
        parts.append(f'<text x="0" y="{y + height / 2 + 3:.0f}">{escape(label)}</text>')
        for at, bars in enumerate(figures):
            value = bars.values[row] or 0
            top, tone = y + at * (BAR + GAP), "one" if at == 0 else "other"
            width = max(1.0, room * value / most)
            parts.append(f'<rect class="{tone}" x="{LABELS}" y="{top}" width="{width:.1f}" height="{BAR}" rx="2"/>')
            parts.append(f'<text x="{LABELS + width + 6:.1f}" y="{top + 12.5}">{escape(bars.shown[row])}</text>')
        y += height + BETWEEN
    legend = "".join(
        f'<rect class="{"one" if at == 0 else "other"}" x="{LABELS + 230 * at}" y="{y}" width="10" height="10" rx="2"/>'
        f'<text class="dim" x="{LABELS + 230 * at + 16}" y="{y + 9.5}">{escape(bars.title)}</text>'
        for at, bars in enumerate(figures)
    )
    title = ", ".join(bars.title for bars in figures)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 16}" role="img" aria-label="{escape(title)}">'
        f"{STYLE if alone else ''}{''.join(parts)}{legend}</svg>"
    )
