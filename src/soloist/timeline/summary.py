"""The timeline in figures: what one looks for first."""

from collections.abc import Sequence
from itertools import pairwise

from soloist.timeline.model import Mark, Point, Role, Timeline
from soloist.timeline.terms import generator_stretches, vacancies
from soloist.timeline.words import clock, figure, span


def marks_of(timeline: Timeline) -> list[Mark]:
    """All of them, in order of time."""
    found = [*timeline.server, *(mark for lane in timeline.lanes for mark in lane.marks)]
    return sorted(found, key=lambda mark: (mark.at_ms, not mark.is_fault))


def instances(timeline: Timeline) -> int:
    """How many there were, in whichever lanes."""
    return len({each.who for lane in timeline.lanes for each in lane.stretches})


def figures(timeline: Timeline) -> list[tuple[str, str]]:
    """Each with what it is."""
    marks = marks_of(timeline)
    present = [each for lane in timeline.lanes for each in lane.stretches[-1:] if each.ended_ms >= timeline.ended_ms]
    alive = sum(each.role is not Role.GONE for each in present)
    gaps = vacancies(generator_stretches(timeline), timeline.begun_ms)
    longest = max(gaps, key=lambda gap: gap[1] - gap[0], default=None)
    faults = sum(mark.is_fault for mark in marks)
    return [
        (str(instances(timeline)), f"instances, {alive} at the end"),
        (figure(_times(marks, "elected")), "elections"),
        *(
            [(span(longest[1] - longest[0]), f"longest without a generator, until {clock(longest[1])}")]
            if longest
            else []
        ),
        (figure(_times(marks, "reclaimed")), "died or fell silent, and were reclaimed"),
        (figure(_times(marks, "superseded")), "calls that came too late, and were refused"),
        *([(figure(faults), "faults")] if faults else []),
        *(_flow(timeline.points) if timeline.points else []),
    ]


def _times(marks: Sequence[Mark], what: str) -> int:
    return sum(mark.what == what and not mark.is_fault for mark in marks)


def _flow(points: Sequence[Point]) -> list[tuple[str, str]]:
    published = sum(after.published_per_s * (after.at_ms - before.at_ms) / 1000 for before, after in pairwise(points))
    highest = max(point.backlog for point in points)
    return [(figure(round(published)), "messages published"), (figure(highest), "highest backlog")]
