"""Bars made of letters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from soloist.monitor.lines import Line, Span, Tone, between, line
from soloist.monitor.rates import Point, Rates

EIGHTHS = " ▁▂▃▄▅▆▇█"
GAP = 3


@dataclass(frozen=True)
class Chart:
    """One of the three."""

    title: str
    value: float
    tone: Tone
    of: Callable[[Point], float]
    told: Callable[[float], str]


def charts(rates: Rates, pending: int) -> tuple[Chart, Chart, Chart]:
    return (
        Chart("published/s", rates.published, Tone.PUBLISHED, lambda point: point.published, rate),
        Chart("handled/s", rates.handled, Tone.HANDLED, lambda point: point.handled, rate),
        Chart("backlog", pending, Tone.WAITING, lambda point: point.pending, count),
    )


def bars(values: Sequence[float], width: int, height: int) -> list[str]:
    """The last so many values as bars, the newest at the right; the highest fills the height. Nothing is no bar."""
    values = values[-width:]
    highest = max(values, default=0)
    steps = height * 8
    levels = [0 if value <= 0 else max(1, round(value / highest * steps)) for value in values]
    return [
        "".join(EIGHTHS[min(8, max(0, level - 8 * row))] for level in levels).rjust(width)
        for row in reversed(range(height))
    ]


def drawn(chart: Chart, points: Sequence[Point], width: int, height: int) -> list[Line]:
    """A title with the value of now and the highest that is drawn, and the bars under it."""
    values = [chart.of(point) for point in points[-width:]]
    highest = max(values, default=0.0)
    title = line(Span(chart.title, Tone.DIM), " ", Span(chart.told(chart.value), Tone.STRONG))
    top = line(Span(f"↑{chart.told(highest)}", Tone.DIM)) if highest else line()
    return [between(title, top, width), *(line(Span(row, chart.tone)) for row in bars(values, width, height))]


def rate(value: float) -> str:
    """2.0, 12.5, 1,003, 12.3k, 4.5M."""
    return f"{value:.1f}" if value < 100 else count(value)


def count(value: float) -> str:
    """0, 12, 1,003, 12.3k, 4.5M."""
    if value < 10_000:
        return f"{value:,.0f}"
    return f"{value / 1e3:.1f}k" if value < 999_950 else f"{value / 1e6:.1f}M"
