"""The recorder: steps in when a message takes longer than 10 ms. It records what was done before it and gives back what
waits behind it, so that a slow message holds up nothing else.
"""

import threading
import time
from typing import TYPE_CHECKING

from soloist.runtime.batching import FLUSH
from soloist.runtime.claims import Claims
from soloist.runtime.desk import Tray

if TYPE_CHECKING:
    from soloist.runtime.instance import Instance


class Recorder:
    """Watches the lanes that handle on the thread that calls."""

    def __init__(self, instance: "Instance", claims: Claims) -> None:
        self._claims = claims
        self._awake = threading.Event()
        self._ended = threading.Event()
        self.is_wanted = True
        """False: the instance is to handle no more; what waits is given back at once."""
        self.thread = threading.Thread(target=instance.guard(self._record), name="recorder", daemon=True)

    def start(self) -> None:
        self.thread.start()

    def wake(self) -> None:
        """A lane begins to work."""
        self._awake.set()

    def stop(self) -> None:
        self._ended.set()
        self._awake.set()

    def _record(self) -> None:
        while not self._ended.is_set():
            desk = self._claims.last_desk
            if not any(tray.waiting or tray.in_hand is not None for tray in desk.trays.values()):
                self._awake.wait()
                self._awake.clear()
                desk = self._claims.last_desk
            self._ended.wait(FLUSH)
            held_up = [tray for tray in desk.trays.values() if self._is_held_up(tray)]
            if held_up and not desk.incarnation.over:
                # kill point: the recorder steps in
                self._claims.turn(desk, {}, back=held_up)

    def _is_held_up(self, tray: Tray) -> bool:
        """By itself: other lanes may call as often as they like."""
        is_slow = time.monotonic() - tray.begun_at > FLUSH or not self.is_wanted
        return is_slow and tray.in_hand is not None and bool(tray.outcomes or tray.waiting)
