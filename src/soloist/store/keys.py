"""Names of all keys of a namespace. One hash tag, so that every script touches one slot."""

from collections.abc import Iterable

PREFIX = "soloist:"

DATA = "data:"
"""What the keys begin with, behind the namespace, that users write along with messages: of any type, and not ours."""

OF_KIND = ("pending", "again", "suspect", "bell", "delayed")
"""What there is of each kind, in the order in which scripts get it."""

TYPES = {
    "meta": "hash",
    "kinds": "set",
    "paused": "hash",
    "instances": "zset",
    "drainers": "zset",
    "wills": "hash",
    "line": "hash",
    "term": "hash",
    "attempts": "hash",
    "errors": "hash",
    "errors:by_time": "zset",
    "totals": "hash",
    "log": "stream",
    "history": "stream",
    "tracked": "hash",
    "unique": "hash",
    "runs": "hash",
    "schedules": "hash",
    "alarm": "list",
    "producers": "zset",
    "submitted": "hash",
}
"""Every key that a namespace has once, without what all begin with, and its type."""

TYPES_PER = {
    "instance:": "hash",
    "claimed:": "list",
    "drained:": "hash",
    "pending:": "list",
    "again:": "list",
    "suspect:": "list",
    "bell:": "list",
    "delayed:": "zset",
}
"""What keys begin with that there are for each instance or kind, and their type."""


class Keys:
    """The keys of one namespace: `soloist:{NAMESPACE}:…`."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.base = base = f"{PREFIX}{{{namespace}}}:"
        self.meta = base + "meta"
        self.kinds = base + "kinds"
        self.paused = base + "paused"
        self.instances = base + "instances"
        self.drainers = base + "drainers"
        self.wills = base + "wills"
        self.line = base + "line"
        self.term = base + "term"
        self.attempts = base + "attempts"
        self.errors = base + "errors"
        self.errors_by_time = base + "errors:by_time"
        self.totals = base + "totals"
        self.log = base + "log"
        self.history = base + "history"
        self.tracked = base + "tracked"
        self.unique = base + "unique"
        self.runs = base + "runs"
        self.schedules = base + "schedules"
        self.alarm = base + "alarm"
        self.producers = base + "producers"
        self.submitted = base + "submitted"
        self.alive = base + "alive:"

    @property
    def single(self) -> list[str]:
        """The keys that there are once."""
        return [self.base + name for name in TYPES]

    def type_of(self, key: str) -> str | None:
        """The type that a key of this namespace has; None if it is none of ours."""
        name = key.removeprefix(self.base)
        return TYPES.get(name) or next((each for start, each in TYPES_PER.items() if name.startswith(start)), None)

    def is_data(self, key: bytes) -> bool:
        """Whether a user wrote it along with messages, or may have."""
        return key.startswith((self.base + DATA).encode())

    def instance(self, instance: str) -> str:
        return f"{self.base}instance:{instance}"

    def claimed(self, instance: str) -> str:
        return f"{self.base}claimed:{instance}"

    def drained(self, instance: str) -> str:
        return f"{self.base}drained:{instance}"

    def pending(self, kind: str) -> str:
        return f"{self.base}pending:{kind}"

    def bell(self, kind: str) -> str:
        return f"{self.base}bell:{kind}"

    def of_kinds(self, kinds: Iterable[str]) -> list[str]:
        """Pending, again, suspect, bell and delayed of each: the tail of KEYS of every script that meets messages."""
        base = self.base
        return [f"{base}{what}:{kind}" for kind in kinds for what in OF_KIND]
