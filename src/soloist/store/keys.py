"""Names of all keys of a namespace. One hash tag, so that every script touches one slot."""

from collections.abc import Iterable

PREFIX = "soloist:"


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
        self.alive = base + "alive:"

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
