"""Names of all keys of a namespace. One hash tag, so that every script touches one slot."""

from collections.abc import Iterable

PREFIX = "soloist:"

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
        self.alive = base + "alive:"

    @property
    def single(self) -> list[str]:
        """The keys that there are once."""
        return [self.base + name for name in TYPES]

    def type_of(self, key: str) -> str | None:
        """The type that a key of this namespace has; None if it is none of ours."""
        name = key.removeprefix(self.base)
        return TYPES.get(name) or next((each for start, each in TYPES_PER.items() if name.startswith(start)), None)

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
        """Pending, again, suspect and bell of each kind: the tail of KEYS of every script that meets messages."""
        base = self.base
        return [f"{base}{what}:{kind}" for kind in kinds for what in ("pending", "again", "suspect", "bell")]
