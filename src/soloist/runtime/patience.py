"""Trying again: short waits that grow a little, and one line when the server goes and one when it is back."""

import logging
import threading
import time

from soloist.errors import Unavailable

FIRST, LONGEST = 0.02, 0.5

log = logging.getLogger("soloist")


class Outage:
    """What all actors of an instance know of the server being away, so that it is said once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since: float | None = None
        self._failing: set[str] = set()

    def failed(self, actor: str, error: Unavailable) -> None:
        with self._lock:
            self._failing.add(actor)
            if self._since is None:
                self._since = time.monotonic()
                log.warning("server.lost reason=%r; trying again until it is back", str(error))

    def well(self, actor: str) -> None:
        with self._lock:
            self._failing.discard(actor)
            if self._since is not None and not self._failing:
                log.warning("server.back after=%.1fs", time.monotonic() - self._since)
                self._since = None


class Patience:
    """One actor's attempts at one call."""

    def __init__(self, actor: str, outage: Outage) -> None:
        self._actor = actor
        self._outage = outage
        self._wait = 0.0

    def failed(self, error: Unavailable) -> float:
        """Note a failure; answers how long to wait before the next attempt. The first repeat is immediate."""
        if self._wait > 0 or error.refused:
            self._outage.failed(self._actor, error)
        wait = self._wait if not error.refused else max(self._wait, FIRST)
        self._wait = min(max(wait * 2, FIRST), LONGEST)
        return wait

    def well(self) -> None:
        if self._wait:
            self._wait = 0.0
            self._outage.well(self._actor)

    def ended(self) -> None:
        """It is not tried any more, for reasons other than the server."""
        self.well()
