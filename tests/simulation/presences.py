"""Who had shown when that it lives: so that a reclaim without a reason is seen for what it is, though it loses nothing."""

from collections.abc import Callable
from typing import Any

from tests.simulation.trace import arguments

LEASE_AT = {"join": 6, "beat": 8}
"""Where in the words of a call that extends a presence the claim lease is (milliseconds); the first word is who."""

LIFE = frozenset({"join", "beat", "publish", "next"})
"""Calls by which the first word shows that it lives."""

GRACE_US = 300_000
"""So long a subscription that is gone is nothing but one that is renewed."""


class Presences:
    """The deadlines that were promised, kept apart from those that the scripts keep.

    Args:
        listens: whether somebody is subscribed to a channel now.
    """

    def __init__(self, listens: Callable[[bytes], bool]) -> None:
        self._listens = listens
        self._deadlines: dict[bytes, int] = {}
        self._heard: dict[bytes, int] = {}

    def watch(self, name: str, words: list[bytes], answer: list[Any], now_us: int) -> str | None:
        """A script was carried out; what is wrong with it, if anything is."""
        if answer[0] not in (b"OK", b"AGAIN"):
            return None
        given = arguments(words)
        if name in LEASE_AT:
            self._deadlines[given[0]] = now_us + int(given[LEASE_AT[name]]) * 1000
        if name == "reclaim":
            return self._without_reason(given[0], given[4] + given[0], now_us)
        if name in LIFE:
            self._heard[given[0]] = now_us
        return None

    def _without_reason(self, victim: bytes, channel: bytes, now_us: int) -> str | None:
        """Neither the lease nor the last will of the victim was over."""
        left = self._deadlines[victim] - now_us
        heard = now_us - self._heard[victim]
        if left <= 0 or (not self._listens(channel) and heard > GRACE_US):
            return None
        return f"{victim.decode()} was reclaimed without a reason: heard {heard} µs ago, its lease had {left} µs left"
