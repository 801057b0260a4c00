"""Logs and histories, told by hand. Times are in seconds since the story began."""

from soloist.inspector import InstanceSnapshot, Snapshot, TermSnapshot
from soloist.store.history import Sample
from soloist.store.log import LogEntry
from soloist.timeline.model import FaultShown, Lane, Role, Timeline
from soloist.timeline.reading import timeline_of

BEGUN = 1_794_000_000_000
"""Server ms."""


def ms(at: float) -> int:
    return BEGUN + round(at * 1000)


class Story:
    """A log that grows: `story.at(2.5, "elected", 1, term=3)`. The id of #1 is i1; that of its rebirth must be said."""

    def __init__(self) -> None:
        self.entries: list[LogEntry] = []

    def at(self, at: float, event: str, number: int | None = None, **fields: object) -> "Story":
        told = {name: str(value) for name, value in fields.items()}
        if number is not None:
            told = {"number": str(number), "instance": f"i{number}", **told}
        self.entries.append(LogEntry(f"{ms(at)}-{len(self.entries)}", ms(at), event, told))
        return self

    def joined(self, at: float, number: int, *, host: str = "vm", pid: int = 0, **fields: object) -> "Story":
        return self.at(at, "joined", number, host=host, pid=pid or 1000 + number, **fields)

    def told(
        self,
        begun: float = 0.0,
        ended: float = 100.0,
        *,
        samples: list[Sample] | None = None,
        faults: list[FaultShown] | None = None,
        now: Snapshot | None = None,
        known_since_ms: int = 0,
    ) -> Timeline:
        """As a timeline."""
        return timeline_of(
            self.entries,
            samples or [],
            title="the story",
            begun_ms=ms(begun),
            ended_ms=ms(ended),
            faults=faults or [],
            now=now,
            known_since_ms=known_since_ms,
        )


def two() -> Story:
    """#1 generates, #2 handles."""
    return Story().joined(0, 1).at(1, "elected", 1, term=1, takeover_ms=0).joined(2, 2)


def lane(timeline: Timeline, name: str) -> Lane:
    return next(each for each in timeline.lanes if each.name == name)


def roles(timeline: Timeline, name: str) -> list[tuple[float, float, Role]]:
    """From when to when it was what, in seconds."""
    return [
        ((each.begun_ms - BEGUN) / 1000, (each.ended_ms - BEGUN) / 1000, each.role)
        for each in lane(timeline, name).stretches
    ]


def sample(at: float, published: int, handled: int, pending: int = 0) -> Sample:
    return Sample(ms(at), published, handled, 0, 0, 0, pending, 0, 1)


def fault(
    kind: str, begun: float, ended: float | None = None, instance: str | None = None, told: str = "it was broken"
) -> FaultShown:
    return FaultShown(kind, ms(begun), None if ended is None else ms(ended), instance, told)


def seen(*numbers: int, generator: int = 0, heard_ms: int = 50, term: int = 1, vacant_ms: int = 0) -> Snapshot:
    """The system as somebody saw it at the end."""
    instances = [
        InstanceSnapshot(
            id=f"i{number}",
            number=number,
            role="generator" if number == generator else "handler",
            host="vm",
            pid=1000 + number,
            generated=0,
            completed=0,
            failed=0,
            claimed=0,
            lease_ms=9000,
            heard_ms=heard_ms,
            turn_ms=0,
            late_ms=0,
            kinds=["default"],
            doing=None,
            sources={},
        )
        for number in numbers
    ]
    return Snapshot(
        namespace="story",
        app="story",
        published=0,
        pending=0,
        claimed=0,
        completed=0,
        failed=0,
        errors=0,
        reclaimed=0,
        superseded={},
        oldest_pending_ms=0,
        kinds={},
        term=TermSnapshot(term, f"i{generator}", 1000) if generator else None,
        vacant_ms=vacant_ms,
        instances=instances,
        line=[],
    )
