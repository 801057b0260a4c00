"""Who generated when: the row above all lanes, and the lines along which the generator's part went from one to the other."""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise

from soloist.timeline.model import Lane, Role, Stretch, Timeline
from soloist.timeline.scale import Scale
from soloist.timeline.words import clock, span

STRIP, WORDS = 14.0, 15.0
"""Heights of the row itself, and of the words above it."""
LETTER = 6.9


def generator_stretches(timeline: Timeline) -> list[Stretch]:
    """All of them, in order."""
    found = [each for lane in timeline.lanes for each in lane.stretches if each.role is Role.GENERATOR]
    return sorted(found, key=lambda each: (each.begun_ms, each.term))


def vacancies(stretches: Sequence[Stretch], begun_ms: int) -> list[tuple[int, int]]:
    """From when to when no generator was heard: before each that took over, as far as it is on the page."""
    return [
        (max(begun_ms, each.begun_ms - each.takeover_ms), each.begun_ms)
        for each in stretches
        if each.takeover_ms and each.begun_ms > begun_ms
    ]


def generator_row(stretches: Sequence[Stretch], scale: Scale, top: float) -> tuple[str, float]:
    """Blue while somebody generated, red while nobody was heard, with the time that it took; and where the row ends."""
    strip = top + WORDS
    parts = [f'<text class="strong" x="0" y="{strip + 11:.1f}">generator</text>']
    for each in stretches:
        x, end = scale.x(each.begun_ms), scale.x(each.ended_ms)
        who = escape(each.who)
        word = _fitting([f"{who} term {each.term}", who], end - x)
        parts.append(
            f"<g><title>{who} generated, term {each.term}: {clock(each.begun_ms)}, {span(each.ended_ms - each.begun_ms)}"
            f'</title><rect class="generator" x="{x:.1f}" y="{strip:.1f}" width="{max(0.5, end - x):.1f}" height="{STRIP}"/>'
            + (f'<text class="on" x="{x + 6:.1f}" y="{strip + 11:.1f}">{word}</text>' if word else "")
            + "</g>"
        )
    gaps = vacancies(stretches, scale.begun_ms)
    for begun_ms, ended_ms in gaps:
        x, end = scale.x(begun_ms), scale.x(ended_ms)
        width = max(2.0, end - x)
        parts.append(
            f"<g><title>no generator was heard for {span(ended_ms - begun_ms)}, until {clock(ended_ms, exact=True)}</title>"
            f'<rect class="vacant" x="{end - width:.1f}" y="{strip:.1f}" width="{width:.1f}" height="{STRIP}"/></g>'
        )
    return "".join(parts) + _lengths(gaps, scale, top + WORDS - 4), strip + STRIP + 8


def _lengths(gaps: Sequence[tuple[int, int]], scale: Scale, y: float) -> str:
    """How long each took, the longest first: what has no room left is told when one points at it."""
    taken: list[tuple[float, float]] = []
    parts = []
    for begun_ms, ended_ms in sorted(gaps, key=lambda gap: gap[0] - gap[1]):
        word = span(ended_ms - begun_ms)
        half = len(word) * LETTER / 2 + 3
        middle = (scale.x(begun_ms) + scale.x(ended_ms)) / 2
        middle = min(max(middle, scale.left + half), scale.right - half)
        if all(middle + half <= left or middle - half >= right for left, right in taken):
            taken.append((middle - half, middle + half))
            parts.append(f'<text class="bad small" x="{middle:.1f}" y="{y:.1f}" text-anchor="middle">{word}</text>')
    return "".join(parts)


def batons(lanes: Sequence[Lane], stretches: Sequence[Stretch], middles: Mapping[str, float], scale: Scale) -> str:
    """From the lane of each generator to that of the next one, at the moment of its election."""
    lane_of = {each: lane.name for lane in lanes for each in lane.stretches}
    parts = []
    for before, after in pairwise(stretches):
        start, end, x = middles[lane_of[before]], middles[lane_of[after]], scale.x(after.begun_ms)
        if start != end and after.term != before.term:
            parts.append(f'<path class="baton" d="M{x:.1f} {start:.1f}V{end:.1f}"/>')
    return "".join(parts)


def _fitting(words: Sequence[str], width: float) -> str:
    return next((word for word in words if len(word) * LETTER + 10 <= width), "")
