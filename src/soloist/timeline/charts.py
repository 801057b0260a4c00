"""Rates and backlog below the lanes, on the same axis."""

import math
from collections.abc import Sequence

from soloist.timeline.model import Point
from soloist.timeline.scale import Scale
from soloist.timeline.words import figure

RATES, BACKLOG, GAP = 84, 56, 34
"""Heights."""
LEAST_RATE, LEAST_BACKLOG = 1.0, 10.0
"""Scales are at least this high: a backlog of two messages is none."""
MANY = 700
"""Points with more of which a line is drawn thin."""
LABELS = 96.0
"""Where the words before a chart end."""


def charts(points: Sequence[Point], scale: Scale, top: float) -> tuple[str, float]:
    """Both charts, and where they end."""
    if not points:
        told = (
            f'<text class="dim" x="{scale.left:.0f}" y="{top + 22:.0f}">No rates: nobody generated in this time.</text>'
        )
        return told, top + 34
    published = [(point.at_ms, point.published_per_s) for point in points]
    handled = [(point.at_ms, point.handled_per_s) for point in points]
    backlog = [(point.at_ms, float(point.backlog)) for point in points]
    most_rate = _round_up(max(value for _, value in published + handled), LEAST_RATE)
    most_backlog = _round_up(max(value for _, value in backlog), LEAST_BACKLOG)
    below = top + RATES + GAP
    parts = [
        _frame("messages", "a second", most_rate, scale, top, RATES),
        f'<text class="small key-published" x="0" y="{top + 46:.0f}">published</text>',
        f'<text class="small key-handled" x="0" y="{top + 61:.0f}">handled</text>',
        _line(handled, "handled-line", most_rate, scale, top),
        _line(published, "published-line", most_rate, scale, top),
        _frame("backlog", "pending", most_backlog, scale, below, BACKLOG),
        _area(backlog, most_backlog, scale, below),
    ]
    return "".join(parts), below + BACKLOG


def _round_up(value: float, least: float) -> float:
    """A round number that is not below it."""
    if value <= least:
        return least
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 1.5, 2, 3, 4, 5, 7.5, 10) if step * power >= value)


def _frame(title: str, unit: str, most: float, scale: Scale, top: float, height: float) -> str:
    bottom = top + height
    return (
        f'<text class="strong" x="0" y="{top + 10:.0f}">{title}</text><text class="dim small" x="0" y="{top + 25:.0f}">{unit}</text>'
        f'<text class="dim small" x="{LABELS}" y="{top + 5:.0f}" text-anchor="end">{figure(most)}</text>'
        f'<text class="dim small" x="{LABELS}" y="{bottom + 3:.0f}" text-anchor="end">0</text>'
        f'<path class="grid" d="M{scale.left:.1f} {top:.1f}H{scale.right:.1f}"/>'
        f'<path class="base" d="M{scale.left:.1f} {bottom:.1f}H{scale.right:.1f}"/>'
    )


def _at(moment: tuple[int, float], most: float, scale: Scale, top: float, height: float) -> str:
    at_ms, value = moment
    return f"{scale.x(at_ms):.1f} {top + height * (1 - value / most):.1f}"


def _line(moments: Sequence[tuple[int, float]], tone: str, most: float, scale: Scale, top: float) -> str:
    path = "L".join(_at(each, most, scale, top, RATES) for each in moments)
    return f'<path class="line {tone}{" fine" if len(moments) > MANY else ""}" d="M{path}"/>'


def _area(moments: Sequence[tuple[int, float]], most: float, scale: Scale, top: float) -> str:
    bottom, path = top + BACKLOG, "L".join(_at(each, most, scale, top, BACKLOG) for each in moments)
    first, last = scale.x(moments[0][0]), scale.x(moments[-1][0])
    return f'<path class="backlog" d="M{first:.1f} {bottom:.1f}L{path}L{last:.1f} {bottom:.1f}z"/>'
