"""The drawing: one SVG with everything on one time axis. It has its colours in it, and can stand alone."""

from collections.abc import Mapping, Sequence
from html import escape

from soloist.timeline import style
from soloist.timeline.charts import GAP, LABELS, charts
from soloist.timeline.glyphs import HALF
from soloist.timeline.marks import lane_marks, words_beside
from soloist.timeline.model import Lane, Mark, Role, Stretch, Timeline
from soloist.timeline.scale import Scale
from soloist.timeline.terms import batons, generator_row, generator_stretches
from soloist.timeline.words import clock, span

WIDTH, LEFT, RIGHT = 1200.0, 108.0, 1188.0
AXIS, ROW = 26.0, 26.0
LETTER = 5.9
"""About the width of a letter in a stretch, in pixels."""
THINNEST = 1.5
"""Pixels: what lasted for a moment is still seen."""

CLASSES = {
    Role.GENERATOR: "generator",
    Role.HANDLER: "handler",
    Role.SILENT: "silent",
    Role.FROZEN: "frozen",
    Role.CUT_OFF: "cut-off",
}

HATCHED = (Role.SILENT, Role.FROZEN, Role.CUT_OFF)
HATCHES = "".join(
    f'<pattern id="hatch-{name}" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate({turn})">'
    f'<path class="hatch hatch-{name}" d="M0 0V7"/></pattern>'
    for name, turn in (("silent", 45), ("frozen", 90), ("cut", -45), ("unknown", 45))
)


def drawing(timeline: Timeline, anchors: Mapping[Mark, str] | None = None) -> str:
    """All of it.

    Args:
        anchors: where each mark leads to on the page, if anywhere.
    """
    anchors = anchors or {}
    scale = Scale(timeline.begun_ms, timeline.ended_ms, LEFT, RIGHT)
    top, parts = AXIS, []
    if timeline.server:
        parts.append(_common_row(timeline.server, scale, top, anchors))
        top += ROW
    generators = generator_stretches(timeline)
    row, top = generator_row(generators, scale, top)
    parts.append(row)
    height = lane_height(len(timeline.lanes))
    middles = {lane.name: top + height * (at + 0.5) for at, lane in enumerate(timeline.lanes)}
    bottom = top + height * len(timeline.lanes)
    if timeline.known_since_ms:
        parts.append(_unknown(scale, timeline.known_since_ms, top, bottom))
    with_host = len({_host(lane) for lane in timeline.lanes}) > 1
    parts += [_lane(lane, scale, middles[lane.name], height, with_host=with_host) for lane in timeline.lanes]
    parts.append(batons(timeline.lanes, generators, middles, scale))
    parts += [lane_marks(lane.marks, scale, middles[lane.name], height, anchors) for lane in timeline.lanes]
    below, end = charts(timeline.points, scale, bottom + GAP)
    parts.append(below)
    ground = _axis(scale, end) + _bands(timeline.server, scale, end)
    return (
        f'<svg class="timeline" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {end + AXIS:.0f}" role="img" '
        f'aria-label="{escape(timeline.title)}"><style>{style.STYLE}</style><defs>{HATCHES}</defs>{ground}{"".join(parts)}</svg>'
    )


def lane_height(lanes: int) -> float:
    """Wide lanes while there are few; never so narrow that a sign does not fit."""
    return max(17.0, min(30.0, 540 / max(1, lanes)))


def _axis(scale: Scale, end: float) -> str:
    """The times of day above and below, and a line through everything at each."""
    parts = []
    for at_ms, word in scale.ticks():
        x = scale.x(at_ms)
        parts.append(f'<path class="grid" d="M{x:.1f} {AXIS - 6:.0f}V{end:.1f}"/>')
        side = "start" if x < LEFT + 30 else "end" if x > RIGHT - 30 else "middle"
        parts += [
            f'<text class="dim small" x="{x:.1f}" y="{y:.1f}" text-anchor="{side}">{word}</text>'
            for y in (13.0, end + 17)
        ]
    return "".join(parts)


def _bands(marks: Sequence[Mark], scale: Scale, end: float) -> str:
    """What was wrong with the server was wrong for everybody."""
    parts = []
    for mark in marks:
        if mark.is_fault:
            x = scale.x(mark.at_ms)
            width = max(THINNEST, scale.x(mark.ended_ms or mark.at_ms) - x)
            parts.append(
                f'<rect class="band" x="{x:.1f}" y="{AXIS:.0f}" width="{width:.1f}" height="{end - AXIS:.1f}"/>'
            )
    return "".join(parts)


def _unknown(scale: Scale, known_ms: int, top: float, bottom: float) -> str:
    width = scale.x(known_ms) - scale.left
    told = f"the log reaches back to {clock(known_ms)}"
    word = f'<text class="dim small" x="{scale.left + 8:.1f}" y="{top + 14:.1f}">{told}</text>'
    return (
        f'<rect class="unknown" x="{scale.left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{bottom - top:.1f}">'
        f"<title>{told}</title></rect>" + (word if width > len(told) * LETTER + 16 else "")
    )


def _common_row(marks: Sequence[Mark], scale: Scale, top: float, anchors: Mapping[Mark, str]) -> str:
    middle = top + ROW / 2
    label = f'<text class="dim" x="0" y="{middle + 4:.1f}">system</text>'
    return label + lane_marks(marks, scale, middle, ROW, anchors) + words_beside(marks, scale, middle)


def _lane(lane: Lane, scale: Scale, middle: float, height: float, *, with_host: bool) -> str:
    """Its name, and what it was when."""
    thick = height - (8 if height > 22 else 5)
    told = f"{lane.name}: {lane.about}" if lane.about else lane.name
    ids = f" ({', '.join(lane.ids[:6])}{', …' if len(lane.ids) > 6 else ''})" if lane.ids else ""
    label = f'<text class="strong" x="0" y="{middle + 4:.1f}">{escape(lane.name)}</text>'
    host = _host(lane)[: int((LABELS - 9 * len(lane.name)) / LETTER)] if with_host else ""
    if host:
        label += f'<text class="dim small" x="{LABELS}" y="{middle + 4:.1f}" text-anchor="end">{escape(host)}</text>'
    parts = [f"<g><title>{escape(told + ids)}</title>{label}</g>"]
    is_shared = len({each.who for each in lane.stretches}) > 1
    parts += [_stretch(each, scale, middle, thick, is_shared=is_shared) for each in lane.stretches]
    return "".join(parts)


def _host(lane: Lane) -> str:
    """Without its domain; empty if it is not known."""
    name = lane.about.partition(", process ")[0] if ", process " in lane.about else ""
    return name if name.replace(".", "").isdigit() else name.partition(".")[0]


def _stretch(stretch: Stretch, scale: Scale, middle: float, thick: float, *, is_shared: bool) -> str:
    x, end = scale.x(stretch.begun_ms), scale.x(stretch.ended_ms)
    if stretch.role is Role.GONE:
        return _gone(stretch, x + HALF + 3, end, middle)
    x = min(x, scale.right - THINNEST)
    width = max(THINNEST, end - x)
    lasted = span(stretch.ended_ms - stretch.begun_ms)
    term = f", term {stretch.term}" if stretch.term else ""
    told = f"{stretch.who} {stretch.role}{term}: {clock(stretch.begun_ms)}, {lasted}"
    word = _fitting(_words(stretch, is_shared=is_shared), width)
    return (
        f'<g><title>{escape(told)}</title><rect class="{CLASSES[stretch.role]}" x="{x:.1f}" y="{middle - thick / 2:.1f}" '
        f'width="{width:.1f}" height="{thick:.1f}" rx="2"/>{_text(word, stretch.role, x + 9, middle)}</g>'
    )


def _gone(stretch: Stretch, x: float, end: float, middle: float) -> str:
    """A thin line, and why."""
    if end - x < HALF:
        return ""
    word = _fitting([stretch.why], end - x)
    start = x + (len(word) * LETTER + 6 if word else 0)
    return f'{_text(word, stretch.role, x + 1, middle)}<path class="gone" d="M{start:.1f} {middle:.1f}H{end:.1f}"/>'


def _words(stretch: Stretch, *, is_shared: bool) -> list[str]:
    """Who, which term, how long; in fewer and fewer words."""
    if stretch.role is Role.GENERATOR:
        words = [f"term {stretch.term}", str(stretch.term)] if stretch.term else []
    elif stretch.role is Role.HANDLER:
        words = []
    else:
        lasted = span(stretch.ended_ms - stretch.begun_ms)
        words = [f"{stretch.role} {lasted}", lasted]
    return [*(f"{stretch.who} {word}" for word in words[:1]), stretch.who] if is_shared else words


def _fitting(words: Sequence[str], width: float) -> str:
    """The first for which there is room, behind the sign at the beginning."""
    return next((word for word in words if len(word) * LETTER + 13 <= width), "")


def _text(word: str, role: Role, x: float, middle: float) -> str:
    tone = "on" if role is Role.GENERATOR else "small on-hatch" if role in HATCHED else "small dim"
    return f'<text class="{tone}" x="{x:.1f}" y="{middle + 4:.1f}">{escape(word)}</text>' if word else ""
