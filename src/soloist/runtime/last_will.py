"""The last will that Redis does not have: a subscription whose end tells the others that this process is gone.

The kernel closes the socket of a process however it dies, the server drops the subscription, and a script of anybody
else counts 0 listeners on our channel. The will only speeds a takeover up: safety comes from the scripts.
"""

import logging
import threading
import time
from typing import TYPE_CHECKING

from soloist.errors import Denied, SoloistError, Unavailable
from soloist.store.link import Link

if TYPE_CHECKING:
    from soloist.runtime.heartbeat import Body, Guard, Heart

LOOK = 0.25
"""Seconds between looks at whether the incarnation is still the same; a broken connection is noticed at once."""

PING = 2.0
"""Seconds between questions whether the other end is still there."""

log = logging.getLogger("soloist")


class LastWill:
    """Keeps the subscription.

    Attributes:
        number: which subscription this is. Another number tells the others' scripts that it was interrupted.
    """

    def __init__(self, heart: "Heart", body: "Body", guard: "Guard") -> None:
        self._heart = heart
        self._body = body
        self._link = Link(body.server, body.settings.call_timeout)
        self._stopped = threading.Event()
        self._subscriptions = 0
        self.number = 0
        self.threads = [threading.Thread(target=guard(self._keep), name="last-will", daemon=True)]

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def hang_up(self, until: float) -> None:
        """Keep it no more, and leave no connection behind.

        Args:
            until: when to give up (monotonic).
        """
        self._stopped.set()
        for thread in self.threads:
            self._link.hang_up(thread, until)

    def _keep(self) -> None:
        try:
            self._keep_until_stopped()
        finally:
            self._link.close()

    def _keep_until_stopped(self) -> None:
        wait = 0.0
        while not self._stopped.wait(wait):
            subscribed = self._subscriptions
            try:
                self._subscribe_and_watch()
                wait = 0.0
            except Denied as error:
                log.warning("last_will.missing reason=%r; the lease alone decides", str(error))
                wait = 60.0
            except Unavailable:
                wait = 0.02 if self._subscriptions > subscribed else min(wait * 2 + 0.02, 0.5)
                self._heart.hurry()
            except SoloistError as error:
                log.warning("last_will.missing reason=%r; the lease alone decides", str(error))
                wait = 60.0

    def _subscribe_and_watch(self) -> None:
        incarnation = self._body.incarnation
        self._link.close()
        self.number += 1
        self._link.command("SSUBSCRIBE", self._body.keys.alive + incarnation.id)
        # kill point: a will that nobody knows of
        self._subscriptions += 1
        self._heart.hurry()
        asked = time.monotonic()
        while self._body.incarnation is incarnation and not self._stopped.is_set():
            if self._link.readable(LOOK):
                self._link.read()
            if time.monotonic() - asked > PING:
                self._link.command("PING")
                asked = time.monotonic()
