"""From the common log, the history and (in a chaos run) the faults to a `Timeline`."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from soloist.inspector import Snapshot
from soloist.store.history import Sample
from soloist.store.log import KEPT, LogEntry
from soloist.timeline.faults import put_in
from soloist.timeline.lives import Lives
from soloist.timeline.model import FaultShown, Point, Timeline
from soloist.timeline.sharing import shared
from soloist.timeline.words import clock

GAP_MS = 3000
"""Without a sample for so long, nobody generated; else a sample came late."""


def known_since(entries: Sequence[LogEntry]) -> int:
    """From when on the log tells everything: 0 if nothing was dropped from it yet."""
    return entries[0].at_ms if len(entries) >= KEPT else 0


def window(entries: Sequence[LogEntry], ended_ms: int, age_ms: int) -> tuple[int, int]:
    """What to show: so long a time up to the end, but not what was before anything began."""
    begun_ms = max(0, ended_ms - age_ms)
    if entries and not known_since(entries):
        begun_ms = max(begun_ms, entries[0].at_ms)
    return min(begun_ms, ended_ms - 1000), ended_ms


def timeline_of(
    entries: Sequence[LogEntry],
    samples: Sequence[Sample],
    *,
    title: str,
    begun_ms: int,
    ended_ms: int,
    known_since_ms: int = 0,
    now: Snapshot | None = None,
    faults: Sequence[FaultShown] = (),
) -> Timeline:
    """What happened between these.

    Args:
        entries: of the common log, oldest first. The more there are from before the beginning, the better it is known
            who was what at the beginning.
        samples: of the history, oldest first.
        known_since_ms: the log is whole only from then on (see `known_since`).
        now: the system at the end, if somebody looked.
        faults: what a chaos run did.
    """
    lives = Lives(entries, now)
    lives.end(ended_ms)
    found = [life.lane(begun_ms, ended_ms) for _, life in sorted(lives.lives.items())]
    common = [mark for mark in lives.common if mark.at_ms <= ended_ms and (mark.ended_ms or mark.at_ms) >= begun_ms]
    lanes, everybody = put_in([lane for lane in found if lane], faults, _processes(entries), ended_ms)
    lanes, remark = shared(lanes)
    points = tuple(point for point in _points(samples) if begun_ms <= point.at_ms <= ended_ms)
    notes = [remark] if remark else []
    if known_since_ms > begun_ms:
        notes.append(
            f"The log keeps about the last {KEPT:,} transitions, and reaches back to {clock(known_since_ms)} only: "
            "what happened before is not known."
        )
    if points and points[0].at_ms - begun_ms > GAP_MS and samples[0].at_ms > begun_ms and len(samples) > 1:
        notes.append(f"Rates and backlog are known since {clock(points[0].at_ms)}.")
    return Timeline(
        title,
        begun_ms,
        ended_ms,
        tuple(lanes),
        tuple(sorted([*common, *everybody], key=lambda mark: mark.at_ms)),
        points,
        known_since_ms if known_since_ms > begun_ms else 0,
        tuple(notes),
    )


def _processes(entries: Sequence[LogEntry]) -> list[tuple[int, str, str]]:
    """When, which process, which id: process numbers come again, ids do not."""
    joined = [each for each in entries if each.event == "joined"]
    return [(each.at_ms, each.fields.get("pid", ""), each.fields.get("instance", "")) for each in joined]


def _points(samples: Sequence[Sample]) -> Iterator[Point]:
    for first, last in pairwise(samples):
        ms = last.at_ms - first.at_ms
        if ms <= 0:
            continue
        published = max(0, last.published - first.published)  # it may have been purged
        handled = max(0, last.completed + last.failed - first.completed - first.failed) * 1000 / ms
        if ms < GAP_MS:
            yield Point(last.at_ms, published * 1000 / ms, handled, last.pending)
        else:  # nobody generated, so what was published came at the beginning
            yield Point(first.at_ms + 1000, published, handled, first.pending)
            yield Point(first.at_ms + 1001, 0, handled, first.pending)
            yield Point(last.at_ms, 0, handled, last.pending)
