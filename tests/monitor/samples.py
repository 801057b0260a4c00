"""Snapshots, log entries and records to feed the monitor with, where no server is needed."""

from dataclasses import MISSING, fields, replace
from typing import Any, TypeVar

from soloist.inspector import InstanceSnapshot, KindSnapshot, Snapshot, TermSnapshot
from soloist.message import Details, ErrorRecord
from soloist.monitor.model import Scope, Seen, State, observe
from soloist.store.history import Sample
from soloist.store.log import LogEntry

SCOPE = Scope("demo", "the embedded server", silent_ms=2000)
WALL = 1_790_000_000.0
T = TypeVar("T")

EMPTY: dict[str, Any] = {"str": "", "int": 0, "bool": False}


def blank(of: type[T]) -> T:
    """One with nothing in it, whatever fields there are: snapshots grow."""

    def empty(kind: object) -> Any:
        name = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
        if "None" in str(kind):
            return None
        return {} if str(kind).startswith("dict") else [] if str(kind).startswith("list") else EMPTY[name]

    return of(**{each.name: empty(each.type) for each in fields(of) if each.default is MISSING})  # type: ignore[arg-type]


def instance(number: int, *, role: str = "handler", **values: Any) -> InstanceSnapshot:
    """A well one."""
    about = {"id": f"id{number}", "host": "box", "pid": 1000 + number, "lease_ms": 9800, "heard_ms": 100}
    return replace(blank(InstanceSnapshot), number=number, role=role, **{**about, **values})


def snapshot(*instances: InstanceSnapshot, **values: Any) -> Snapshot:
    """A namespace with these instances."""
    generator = next((each for each in instances if each.role == "generator"), None)
    term = TermSnapshot(3, generator.id, 41_000) if generator else None
    made = replace(
        blank(Snapshot),
        namespace="demo",
        app="demo",
        instances=list(instances),
        term=term,
        line=[each.id for each in instances if each is not generator][:2],
        superseded={"publish": 0, "next": 0, "beat": 0},
        kinds={"default": KindSnapshot(0, 0, 0, 0, paused=False)},
    )
    return replace(made, **values)


def crew(handlers: int = 3, **values: Any) -> Snapshot:
    """A generator and some handlers at work."""
    others = [
        instance(number, completed=40 * number, failed=number, claimed=number % 2) for number in range(2, handlers + 2)
    ]
    done, failed = sum(each.completed for each in others), sum(each.failed for each in others)
    claimed = sum(each.claimed for each in others)
    generator = instance(1, role="generator", generated=done + failed + claimed + 3)
    totals = {"published": done + failed + claimed + 3, "pending": 3, "claimed": claimed, "completed": done}
    return snapshot(generator, *others, **{**totals, "failed": failed, "errors": failed, **values})


def entry(event: str, at: float = 0.0, **values: Any) -> LogEntry:
    """One of the common log."""
    at_ms = round((WALL + at) * 1000)
    return LogEntry(f"{at_ms}-0", at_ms, event, {name: str(value) for name, value in values.items()})


def record(seq: int, body: bytes = b"a text", **values: Any) -> ErrorRecord:
    """One error record."""
    details = Details(**{"reason": "found erroneous", "type": "Reject", "handler": "id2", "attempts": 1, **values})
    return ErrorRecord(f"{seq}-tag", f"{seq}-tag", "default", body, WALL - 2, WALL - 1, details)


def history(seconds: int, per_second: int = 2, pending: int = 0) -> list[Sample]:
    """Samples of a steady past."""
    return [
        replace(
            blank(Sample),
            at_ms=round((WALL - seconds + at) * 1000),
            published=at * per_second,
            completed=at * per_second,
            pending=pending,
        )
        for at in range(seconds)
    ]


def seen(shot: Snapshot | None = None, at: float = 10.0, **values: Any) -> Seen:
    return Seen(at, WALL + at, shot or crew(), **values)


def state(*observed: Seen) -> State:
    """What is known after these."""
    known = State(SCOPE)
    for each in observed or (seen(),):
        known = observe(known, each)
    return known
