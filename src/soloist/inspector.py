"""The Inspector: frozen snapshots of a namespace. Status, monitor and measurements only render them."""

from dataclasses import asdict, dataclass
from typing import Any

from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server
from soloist.store.snapshot import Found, Seen, namespaces, snapshot

TIMEOUT = 5.0


@dataclass(frozen=True)
class KindSnapshot:
    """One kind of message."""

    pending: int
    claimed: int
    completed: int
    failed: int
    paused: bool


@dataclass(frozen=True)
class InstanceSnapshot:
    """One instance whose lease is not over. `role` is derived from the term, so at most one generates."""

    id: str
    number: int
    role: str
    host: str
    pid: int
    generated: int
    completed: int
    failed: int
    claimed: int
    lease_ms: int


@dataclass(frozen=True)
class TermSnapshot:
    """The present term."""

    number: int
    instance: str
    since_ms: int


@dataclass(frozen=True)
class Snapshot:
    """A namespace at one instant: one atomic read, so published = pending + claimed + completed + failed always."""

    namespace: str
    app: str
    published: int
    pending: int
    claimed: int
    completed: int
    failed: int
    errors: int
    reclaimed: int
    superseded: dict[str, int]
    oldest_pending_ms: int
    kinds: dict[str, KindSnapshot]
    term: TermSnapshot | None
    instances: list[InstanceSnapshot]
    line: list[str]

    @property
    def adds_up(self) -> bool:
        """Whether every message is in exactly one place (guarantee G3)."""
        return self.published == self.pending + self.claimed + self.completed + self.failed

    @property
    def exists(self) -> bool:
        return bool(self.app)


class Inspector:
    """Looks at a namespace."""

    def __init__(self, server: Server, namespace: str) -> None:
        self._link = Link(server, TIMEOUT)
        self._keys = Keys(namespace)
        self._found: Found | None = None

    def snapshot(self) -> Snapshot:
        seen = snapshot(self._link, self._keys, self._found)
        self._found = seen.found
        return _render(self._keys.namespace, seen)

    def silent(self, longer_than: float) -> list[str]:
        """Instances and drainers that have not been heard for so many seconds."""
        seen = snapshot(self._link, self._keys, self._found)
        self._found = seen.found
        everyone = [*seen.instances, *seen.drainers]
        return [each.id for each in everyone if seen.now_ms - each.heard_ms > longer_than * 1000]

    def namespaces(self) -> list[str]:
        return namespaces(self._link)


def _render(namespace: str, seen: Seen) -> Snapshot:
    totals = {name: int(value) for name, value in seen.totals.items()}
    term = seen.term
    holder = term.get("instance", "")
    term_is_on = bool(holder) and float(term["deadline"]) >= seen.now_ms
    oldest = [kind.oldest_ms for kind in seen.kinds if kind.oldest_ms is not None]
    return Snapshot(
        namespace=namespace,
        app=seen.meta.get("app", ""),
        published=totals.get("published", 0),
        pending=sum(kind.waiting for kind in seen.kinds),
        claimed=sum(instance.holds for instance in seen.instances),
        completed=totals.get("completed", 0),
        failed=totals.get("failed", 0),
        errors=seen.errors,
        reclaimed=totals.get("reclaimed", 0),
        superseded={what: totals.get(f"superseded:{what}", 0) for what in ("publish", "next", "beat")},
        oldest_pending_ms=max(0, seen.now_ms - min(oldest)) if oldest else 0,
        kinds={kind.name: _kind(kind.name, kind.waiting, kind.paused, totals) for kind in seen.kinds},
        term=TermSnapshot(int(term["term"]), holder, max(0, seen.now_ms - int(term["since"]))) if term_is_on else None,
        instances=sorted(
            (
                _instance(
                    each.id,
                    each.fields,
                    each.holds,
                    round(each.deadline_ms - seen.now_ms),
                    holder if term_is_on else "",
                )
                for each in seen.instances
                if each.deadline_ms >= seen.now_ms
            ),
            key=lambda each: each.number,
        ),
        line=[entry.split(" ", 1)[0] for _, entry in sorted(seen.line.items())],
    )


def _kind(name: str, waiting: int, paused: bool, totals: dict[str, int]) -> KindSnapshot:
    completed, failed = totals.get(f"completed:{name}", 0), totals.get(f"failed:{name}", 0)
    # Claimed of one kind is what is left over: a script would have to read every envelope to count it.
    claimed = totals.get(f"published:{name}", 0) - waiting - completed - failed
    return KindSnapshot(waiting, claimed, completed, failed, paused)


def _instance(ident: str, fields: dict[str, str], claimed: int, lease_ms: int, holder: str) -> InstanceSnapshot:
    def number(name: str) -> int:
        return int(fields.get(name, 0))

    return InstanceSnapshot(
        id=ident,
        number=number("number"),
        role="generator" if ident == holder else "handler",
        host=fields.get("host", ""),
        pid=number("pid"),
        generated=number("generated"),
        completed=number("completed"),
        failed=number("failed"),
        claimed=claimed,
        lease_ms=lease_ms,
    )


def to_json(snapshot: Snapshot) -> dict[str, Any]:
    """A snapshot as `status --json` prints it."""
    return asdict(snapshot)
