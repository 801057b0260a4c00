"""When there are too many instances for a lane each: those that followed one another share one."""

from collections.abc import Sequence

from soloist.timeline.model import Lane, Role
from soloist.timeline.words import count

MOST_LANES = 40


def shared(lanes: Sequence[Lane]) -> tuple[list[Lane], str]:
    """The lanes, and what there is to say about them.

    Whoever comes takes the place of the one that has been gone the longest, as after a restart.
    """
    if len(lanes) <= MOST_LANES:
        return list(lanes), ""
    rows: list[list[Lane]] = []
    for lane in sorted(lanes, key=_begun):
        free = [row for row in rows if _over(row[-1]) <= _begun(lane)]
        if free:
            min(free, key=lambda row: _over(row[-1])).append(lane)
        else:
            rows.append([lane])
    together = [_together(row) for row in rows]
    return (
        together,
        f"{count(len(lanes), 'instance')} in {count(len(rows), 'lane')}: those that followed one another share one.",
    )


def _begun(lane: Lane) -> int:
    return min([each.begun_ms for each in lane.stretches] + [each.at_ms for each in lane.marks])


def _over(lane: Lane) -> int:
    """When there was the last of it."""
    there = [each.ended_ms for each in lane.stretches if each.role is not Role.GONE]
    return max(there + [each.at_ms for each in lane.marks])


def _together(row: Sequence[Lane]) -> Lane:
    if len(row) == 1:
        return row[0]
    stretches = [each for lane in row for each in lane.stretches if each.role is not Role.GONE]
    return Lane(
        f"{row[0].name} … {row[-1].name}",
        tuple(ident for lane in row for ident in lane.ids),
        tuple(stretches),
        tuple(sorted((mark for lane in row for mark in lane.marks), key=lambda mark: mark.at_ms)),
        ", ".join(lane.name for lane in row),
    )
