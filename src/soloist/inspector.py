"""The Inspector: frozen snapshots of a namespace. Status, monitor and measurements only render them."""

from dataclasses import asdict, dataclass, field
from typing import Any

from soloist.store import foreign
from soloist.store.fitness import evicts, info
from soloist.store.history import SECONDS, Sample, read_history
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.log import LogEntry, read_end_of_log, read_log
from soloist.store.report import from_text
from soloist.store.server import Server
from soloist.store.snapshot import Found, InstanceSeen, Seen, namespaces, snapshot

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
class DoingSnapshot:
    """A message that an instance has worked on for more than a second, and where its code is after five."""

    message: str
    for_ms: int
    stack: str


@dataclass(frozen=True)
class SourceSnapshot:
    """A source that fails (with what it raised last), or (empty) has not returned for long."""

    for_ms: int
    error: str


@dataclass(frozen=True)
class InstanceSnapshot:
    """One instance whose lease is not over. `role` is derived from the term, so at most one generates.

    Attributes:
        claimed: how many messages it holds.
        heard_ms: since its last beat.
        turn_ms: since it last recorded or asked for messages.
        late_ms: how late its heart beat at worst in the last minute, if it was late at all.
        sources: those in trouble.
    """

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
    heard_ms: int
    turn_ms: int
    late_ms: int
    kinds: list[str]
    doing: DoingSnapshot | None
    sources: dict[str, SourceSnapshot]


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
    vacant_ms: int
    """Since the last sign of a generator, if there is none now."""
    instances: list[InstanceSnapshot]
    line: list[str]
    paused: list[str] = field(default_factory=list)
    """Sources and schedules that are: source:NAME, schedule:NAME. Of kinds see there."""

    @property
    def adds_up(self) -> bool:
        """Whether every message is in exactly one place (guarantee G3)."""
        return self.published == self.pending + self.claimed + self.completed + self.failed

    @property
    def rests(self) -> list[str]:
        """All that is paused, for people: kinds by their names, sources and schedules with the word before it."""
        kinds = [name for name, kind in self.kinds.items() if kind.paused]
        return [*kinds, *(each.replace(":", " ", 1) for each in self.paused)]

    @property
    def exists(self) -> bool:
        return bool(self.app)


@dataclass(frozen=True)
class ServerSnapshot:
    """What matters of the server itself.

    Attributes:
        max_memory: bytes, 0 for no limit.
        evicts: it would throw keys of ours away when memory is full.
        evicted: how many keys it has thrown away since its start, whosever they were.
        persists: it writes an append-only file; True too where it does not tell.
        persistence_fails: its last attempt to write a file failed.
    """

    used_memory: int = 0
    max_memory: int = 0
    policy: str = ""
    evicts: bool = False
    evicted: int = 0
    persists: bool = True
    persistence_fails: bool = False


class Inspector:
    """Looks at a namespace."""

    def __init__(self, server: Server, namespace: str) -> None:
        self._link = Link(server, TIMEOUT)
        self._keys = Keys(namespace)
        self._found: Found | None = None

    def close(self) -> None:
        """Let the connection go; the next look makes a new one."""
        self._link.close()

    def snapshot(self) -> Snapshot:
        seen = snapshot(self._link, self._keys, self._found)
        self._found = seen.found
        try:
            return _render(self._keys.namespace, seen)
        except (ValueError, KeyError) as error:
            raise foreign.unreadable(self._keys, error) from error

    def silent(self, longer_than: float) -> list[str]:
        """Instances and drainers that have not been heard for so many seconds."""
        seen = snapshot(self._link, self._keys, self._found)
        self._found = seen.found
        everyone = [*seen.instances, *seen.drainers]
        return [each.id for each in everyone if seen.now_ms - each.heard_ms > longer_than * 1000]

    def server(self) -> ServerSnapshot:
        """What INFO tells; nothing where it is forbidden."""
        about = info(self._link)
        return _server(about) if about else ServerSnapshot()

    def now_ms(self) -> int:
        """The server's time."""
        seconds, us = self._link.command("TIME")
        return int(seconds) * 1000 + int(us) // 1000

    def log(self, *, since_ms: int = 0, after: str = "") -> list[LogEntry]:
        """Entries of the common log, oldest first: since that time (server ms), or after that id. Ask until none comes."""
        return read_log(self._link, self._keys, since_ms=since_ms, after=after)

    def end_of_log(self, most: int) -> list[LogEntry]:
        """Its last so many entries, oldest first."""
        return read_end_of_log(self._link, self._keys, most)

    def history(self, seconds: int = SECONDS) -> list[Sample]:
        """The last so many samples, one a second, oldest first."""
        return read_history(self._link, self._keys, seconds)

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
        superseded={
            what: totals.get(f"superseded:{what}", 0)
            for what in ("publish", "next", "beat", "send")
            if what != "send" or "superseded:send" in totals  # only beats of Celery send
        },
        oldest_pending_ms=max(0, seen.now_ms - min(oldest)) if oldest else 0,
        kinds={kind.name: _kind(kind.name, kind.waiting, kind.paused, totals) for kind in seen.kinds},
        term=TermSnapshot(int(term["term"]), holder, max(0, seen.now_ms - int(term["since"]))) if term_is_on else None,
        vacant_ms=0 if term_is_on else max(0, seen.now_ms - _last_generated(seen)),
        instances=sorted(
            (
                _instance(each, seen.now_ms, holder if term_is_on else "")
                for each in seen.instances
                if each.deadline_ms >= seen.now_ms
            ),
            key=lambda each: each.number,
        ),
        line=[entry.split(" ", 1)[0] for _, entry in sorted(seen.line.items())],
        paused=sorted(each for each in seen.paused if not each.startswith("kind:")),
    )


def _last_generated(seen: Seen) -> int:
    """When there was last a sign of a generator, server ms; when the first of those present came, if there never was."""
    came = [int(each.fields.get("started", seen.now_ms)) for each in seen.instances]
    return int(seen.term.get("renewed", min(came, default=seen.now_ms)))


def _server(about: dict[str, str]) -> ServerSnapshot:
    written = ("aof_last_write_status", "rdb_last_bgsave_status", "aof_last_bgrewrite_status")
    return ServerSnapshot(
        used_memory=int(about.get("used_memory", 0)),
        max_memory=int(about.get("maxmemory", 0)),
        policy=about.get("maxmemory_policy", ""),
        evicts=evicts(about),
        evicted=int(about.get("evicted_keys", 0)),
        persists=about.get("aof_enabled", "1") == "1",
        persistence_fails=any(about.get(name, "ok") != "ok" for name in written),
    )


def _kind(name: str, waiting: int, paused: bool, totals: dict[str, int]) -> KindSnapshot:
    completed, failed = totals.get(f"completed:{name}", 0), totals.get(f"failed:{name}", 0)
    # Claimed of one kind is what is left over: a script would have to read every envelope to count it.
    claimed = totals.get(f"published:{name}", 0) - waiting - completed - failed
    return KindSnapshot(waiting, claimed, completed, failed, paused)


def _instance(seen: InstanceSeen, now_ms: int, holder: str) -> InstanceSnapshot:
    fields = seen.fields

    def number(name: str) -> int:
        return int(fields.get(name, 0))

    said = from_text(fields.get("report", ""))
    return InstanceSnapshot(
        id=seen.id,
        number=number("number"),
        role="generator" if seen.id == holder else "handler",
        host=fields.get("host", ""),
        pid=number("pid"),
        generated=number("generated"),
        completed=number("completed"),
        failed=number("failed"),
        claimed=seen.holds,
        lease_ms=round(seen.deadline_ms - now_ms),
        heard_ms=max(0, now_ms - seen.heard_ms),
        turn_ms=max(0, now_ms - number("stamp") // 1000),
        late_ms=said.late_ms,
        kinds=fields.get("kinds", "").split(),
        doing=DoingSnapshot(said.doing.message, max(0, now_ms - said.doing.since_ms), said.doing.stack)
        if said.doing
        else None,
        sources={
            name: SourceSnapshot(max(0, now_ms - each.since_ms), each.error) for name, each in said.sources.items()
        },
    )


def to_json(snapshot: Snapshot) -> dict[str, Any]:
    """A snapshot as `status --json` prints it."""
    return asdict(snapshot)
