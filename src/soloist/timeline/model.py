"""What a timeline shows. Frozen; all times are the server's, in ms since the epoch."""

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What an instance was during a stretch of time."""

    GENERATOR = "generator"
    HANDLER = "handler"
    SILENT = "not heard"
    """It gave no sign: it was killed, frozen or cut off, and the log does not know which."""
    FROZEN = "frozen"
    """Known only to a chaos run, which did it; so is the next one."""
    CUT_OFF = "cut off"
    GONE = "gone"
    """It left, or was reclaimed."""


@dataclass(frozen=True)
class Stretch:
    """A time in which nothing changed.

    Attributes:
        who: the instance, as it is called in sentences; lanes may be shared.
        term: of a generator.
        takeover_ms: how long before it the generator before was last heard, 0 if there was none.
        why: of one that is gone, in a word or two.
    """

    begun_ms: int
    ended_ms: int
    role: Role
    who: str = ""
    term: int = 0
    takeover_ms: int = 0
    why: str = ""


@dataclass(frozen=True)
class Mark:
    """A moment at which something happened.

    Attributes:
        what: an event of the common log (joined, elected, …), or the kind of a fault.
        told: the sentence about it.
        ended_ms: until when it lasted, if it did.
        is_fault: somebody did it on purpose.
    """

    at_ms: int
    what: str
    told: str
    ended_ms: int | None = None
    is_fault: bool = False


@dataclass(frozen=True)
class Lane:
    """One instance through all its ids; or several that followed one another, if there are too many for a lane each.

    Attributes:
        ids: of the instance, and of its rebirths.
        stretches: in order, without gaps from the first sign of it on.
        about: host and process.
    """

    name: str
    ids: tuple[str, ...]
    stretches: tuple[Stretch, ...]
    marks: tuple[Mark, ...]
    about: str = ""


@dataclass(frozen=True)
class Point:
    """Rates until this moment, since the point before it, and what was pending then."""

    at_ms: int
    published_per_s: float
    handled_per_s: float
    backlog: int


@dataclass(frozen=True)
class FaultShown:
    """A fault that somebody did on purpose, as a chaos run tells it.

    Attributes:
        kind: kill, freeze, cut, … : the first word decides how it is drawn (faults.py).
        ended_ms: None for what is over at once (kill), or was never mended.
        instance: "#3", an id, or the number of a process; None: the server, and so everybody.
        told: the sentence about it.
    """

    kind: str
    begun_ms: int
    ended_ms: int | None
    instance: str | None
    told: str


@dataclass(frozen=True)
class Timeline:
    """All of it.

    Attributes:
        server: what concerns everybody: faults of the server, paused kinds, failed messages.
        points: oldest first; none where nobody generated.
        known_since_ms: the log knows nothing of what was before; 0: it knows all.
        notes: sentences on what is missing or drawn in another way.
    """

    title: str
    begun_ms: int
    ended_ms: int
    lanes: tuple[Lane, ...]
    server: tuple[Mark, ...] = ()
    points: tuple[Point, ...] = ()
    known_since_ms: int = 0
    notes: tuple[str, ...] = ()
