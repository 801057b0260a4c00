"""The marks in a lane: faults and elections each by itself, all others grouped where they lie upon each other."""

from collections.abc import Mapping, Sequence
from html import escape

from soloist.timeline.glyphs import fault, glyph, rank, titled
from soloist.timeline.model import Mark
from soloist.timeline.scale import Scale
from soloist.timeline.words import clock

NEAR = 9.0
"""Pixels: marks that are closer together would cover each other."""
FEW = 2
"""So many are still drawn beside each other."""
MANY = 40
"""With more marks than this in a lane, the signs are small."""
BELOW = 7.0
"""Pixels by which the signs of failed messages lie below the others: there are many, and words need room."""
MOST_TOLD = 12
"""So many sentences of a group are told when one points at it."""
LETTER = 6.5


def lane_marks(marks: Sequence[Mark], scale: Scale, middle: float, height: float, anchors: Mapping[Mark, str]) -> str:
    """All marks of one lane; the more important ones lie above."""
    size = 1.0 if len(marks) <= MANY else 0.75
    parts = [_lasting(mark, scale, middle + height / 2 - 2) for mark in marks if mark.ended_ms is not None]
    parts += [_group(group, scale, middle, size, anchors) for group in _groups(marks, scale)]
    parts += [
        titled(glyph("elected", scale.x(mark.at_ms), middle, size), told(mark), anchors.get(mark, ""))
        for mark in marks
        if mark.what == "elected" and not mark.is_fault
    ]
    top, bottom = middle - height / 2 + 3, middle + height / 2 - 2
    parts += [
        titled(fault(scale.x(mark.at_ms), top, bottom, size), told(mark), anchors.get(mark, ""))
        for mark in marks
        if mark.is_fault
    ]
    return "".join(parts)


def words_beside(marks: Sequence[Mark], scale: Scale, middle: float) -> str:
    """What a fault or a pause is called, where there is room for it up to the next mark."""
    rare = [mark for mark in marks if mark.what != "failed"]
    ends = [*(scale.x(mark.at_ms) for mark in rare), scale.right][1:]
    return "".join(
        f'<text class="small count" x="{scale.x(mark.at_ms) + 7:.1f}" y="{middle + 2:.1f}">{escape(mark.what)}</text>'
        for mark, end in zip(rare, ends, strict=True)
        if (mark.is_fault or mark.what == "paused") and end - scale.x(mark.at_ms) > len(mark.what) * LETTER + 12
    )


def grouped(marks: Sequence[Mark], scale: Scale) -> list[list[Mark]]:
    """In order of time; a group is never wider than a sign, so that it stands where it happened."""
    groups: list[list[Mark]] = []
    for mark in sorted(marks, key=lambda each: each.at_ms):
        if groups and scale.x(mark.at_ms) - scale.x(groups[-1][0].at_ms) < NEAR:
            groups[-1].append(mark)
        else:
            groups.append([mark])
    return groups


def told(mark: Mark) -> str:
    return f"{clock(mark.at_ms, exact=True)}  {mark.told}"


def _groups(marks: Sequence[Mark], scale: Scale) -> list[list[Mark]]:
    """Of all but faults and elections. That messages failed is by itself: it would hide what is rare."""
    others = [mark for mark in marks if mark.what != "elected" and not mark.is_fault]
    swarm = [mark for mark in others if mark.what == "failed"]
    return grouped(swarm, scale) + grouped([mark for mark in others if mark.what != "failed"], scale)


def _group(group: Sequence[Mark], scale: Scale, middle: float, size: float, anchors: Mapping[Mark, str]) -> str:
    """One or two signs; of more the most important one, and how many there are."""
    first = min(group, key=lambda mark: rank(mark.what))
    x = scale.x(group[0].at_ms)
    if len(group) <= FEW and first.what != "failed":
        shift = min(0.0, scale.right - x - NEAR * (len(group) - 1))
        signs = [
            titled(glyph(mark.what, x + shift + NEAR * at, middle, size), told(mark), anchors.get(mark, ""))
            for at, mark in enumerate(group)
        ]
        return "".join(reversed(signs))
    sentences = [told(mark) for mark in group[:MOST_TOLD]]
    if len(group) > MOST_TOLD:
        sentences.append(f"and {len(group) - MOST_TOLD:,} more")
    x = scale.x(first.at_ms)
    is_last = scale.right - x < NEAR * 2
    number = (
        f'<text class="small count" x="{x + (-6 if is_last else 6):.1f}" y="{middle - 2:.1f}" '
        f'text-anchor="{"end" if is_last else "start"}">{len(group)}</text>'
    )
    inner = (
        glyph("failed", x, middle + BELOW, size)
        if first.what == "failed"
        else glyph(first.what, x, middle, size) + number
    )
    return titled(inner, "\n".join(sentences), anchors.get(first, ""))


def _lasting(mark: Mark, scale: Scale, y: float) -> str:
    """How long it lasted, as a line at the lane's lower edge."""
    x, end = scale.x(mark.at_ms), scale.x(mark.ended_ms or mark.at_ms)
    return f'<path class="{"fault-span" if mark.is_fault else "lasting"}" d="M{x:.1f} {y:.1f}H{max(end, x + 1):.1f}"/>'
