"""A probe that knows when this machine was too busy for a figure: it sleeps 10 ms at a time and notes each late wake-up."""

import threading
import time

LATE = 0.030


class Probe:
    """Knows when this machine was too busy for a figure."""

    def __init__(self) -> None:
        self._late_at: list[float] = []
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            begun = time.monotonic()
            time.sleep(0.010)
            if time.monotonic() - begun > 0.010 + LATE:
                self._late_at.append(time.monotonic())

    def was_calm_since(self, since: float) -> bool:
        time.sleep(0.05)  # a late wake-up at the very end is seen only now
        return not any(at >= since for at in self._late_at)

    def was_calm_between(self, begun: float, ended: float) -> bool:
        """By the monotonic clock."""
        return not any(begun <= at <= ended + LATE for at in self._late_at)
