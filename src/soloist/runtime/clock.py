"""What time it is on the server, by its answers."""

import threading
import time


class ServerClock:
    """The server's time, estimated from the answer that took the shortest way in a while.

    Unless another answer shows that this cannot be right any more: the server's clock was set, or ours stood still, since
    the machine was put to sleep.
    """

    FRESH = 30.0
    """Seconds for which the best answer counts; clocks are set right now and then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ahead_ms = time.time() * 1000 - time.monotonic() * 1000
        self._trip = float("inf")
        self._at = 0.0

    def heard(self, sent: float, received: float, server_ms: int) -> None:
        """Learn from an answer that carried the server's time."""
        trip = received - sent
        least, most = server_ms - received * 1000, server_ms + 1 - sent * 1000  # it was answered in between, in that ms
        with self._lock:
            is_possible = least <= self._ahead_ms <= most
            if trip <= self._trip or received - self._at > self.FRESH or not is_possible:
                self._trip, self._at = trip, received
                self._ahead_ms = server_ms - (sent + received) / 2 * 1000

    def now_ms(self) -> float:
        return time.monotonic() * 1000 + self._ahead_ms
