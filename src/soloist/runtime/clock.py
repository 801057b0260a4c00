"""What time it is on the server, by its answers."""

import threading
import time


class ServerClock:
    """The server's time, estimated from the answer that took the shortest way in a while.

    Another answer may show that this cannot be right any more: the server's clock was set, or ours stood still, since the
    machine was put to sleep. Then it is moved as far as it must be, and counts for no more than that answer. (Not to the
    middle of that answer's way: a long one may miss by less than a millisecond, since the server tells whole ones.)
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
            possible = min(max(self._ahead_ms, least), most)
            if trip <= self._trip or received - self._at > self.FRESH:
                self._trip, self._at = trip, received
                self._ahead_ms = server_ms - (sent + received) / 2 * 1000
            elif possible != self._ahead_ms:
                self._trip, self._at = trip, received
                self._ahead_ms = possible

    def now_ms(self) -> float:
        return time.monotonic() * 1000 + self._ahead_ms
