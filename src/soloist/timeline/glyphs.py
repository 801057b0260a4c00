"""The signs for what happened, drawn around a point."""

from collections.abc import Callable
from html import escape

RANKS = (
    "reclaimed",
    "superseded",
    "left",
    "resigned",
    "asked",
    "joined",
    "paused",
    "resumed",
    "requeued",
    "discarded",
    "failed",
)
"""Where several lie upon each other, the first of these is shown."""

HALF = 5.0
"""Half the width of a sign."""


def rank(what: str) -> int:
    return RANKS.index(what) if what in RANKS else len(RANKS)


def glyph(what: str, x: float, y: float, size: float = 1.0) -> str:
    """The sign for an event of the log; smaller where there are many."""
    return _GLYPHS.get(what, _dot)(x, y, size)


def fault(x: float, top: float, bottom: float, size: float = 1.0) -> str:
    """Something that was done on purpose: an arrow that strikes the lane, through its whole height."""
    half, tip = 4.5 * size, 4 * size
    points = f"{x - half:.1f},{top - tip:.1f} {x + half:.1f},{top - tip:.1f} {x:.1f},{top + tip:.1f}"
    return f'<path class="fault-line" d="M{x:.1f} {top:.1f}V{bottom:.1f}"/><polygon class="fault" points="{points}"/>'


def titled(inner: str, told: str, anchor: str = "") -> str:
    """With a sentence that is shown when one points at it, and a way to its row in the table."""
    group = f"<g><title>{escape(told)}</title>{inner}</g>"
    return f'<a href="#{escape(anchor)}">{group}</a>' if anchor else group


def _circle(tone: str, radius: float) -> Callable[[float, float, float], str]:
    return lambda x, y, size: f'<circle class="{tone}" cx="{x:.1f}" cy="{y:.1f}" r="{radius * size:.1f}"/>'


def _cross(x: float, y: float, size: float) -> str:
    half = 4 * size
    path = f"M{x - half:.1f} {y - half:.1f}L{x + half:.1f} {y + half:.1f}M{x + half:.1f} {y - half:.1f}L{x - half:.1f} {y + half:.1f}"
    return f'<path class="halo" d="{path}"/><path class="cross" d="{path}"/>'


def _diamond(x: float, y: float, size: float) -> str:
    half = HALF * size
    points = f"{x:.1f},{y - half:.1f} {x + half:.1f},{y:.1f} {x:.1f},{y + half:.1f} {x - half:.1f},{y:.1f}"
    return f'<polygon class="refused" points="{points}"/>'


def _arrival(x: float, y: float, size: float) -> str:
    half = 4.5 * size
    points = f"{x - half:.1f},{y - half:.1f} {x + half:.1f},{y:.1f} {x - half:.1f},{y + half:.1f}"
    return f'<polygon class="came" points="{points}"/>'


def _departure(x: float, y: float, size: float) -> str:
    half = 3.5 * size
    return f'<rect class="went" x="{x - half:.1f}" y="{y - half:.1f}" width="{2 * half:.1f}" height="{2 * half:.1f}"/>'


def _bars(x: float, y: float, size: float) -> str:
    half = 4 * size
    return f'<path class="paused" d="M{x - 2:.1f} {y - half:.1f}V{y + half:.1f}M{x + 2:.1f} {y - half:.1f}V{y + half:.1f}"/>'


_dot = _circle("dot", 2.5)

_GLYPHS: dict[str, Callable[[float, float, float], str]] = {
    "elected": _circle("elected", HALF),
    "resigned": _circle("ring", 3.5),
    "asked": _circle("ring", 3.5),
    "reclaimed": _cross,
    "superseded": _diamond,
    "joined": _arrival,
    "resumed": _arrival,
    "left": _departure,
    "paused": _bars,
    "failed": _circle("failed", 2.5),
}
