"""A drainer: takes error records in hand, has them printed, confirms. Also what `clean` is: somebody who only judges.

It is present like an instance (a heart, a will, a lease), but in a list of its own: never counted, never elected.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self, TypeVar

from soloist.errors import Defect, Unavailable
from soloist.runtime.clock import ServerClock
from soloist.runtime.heartbeat import Heart
from soloist.runtime.incarnation import Incarnation, introduce
from soloist.runtime.patience import Outage
from soloist.settings import Settings
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.presence import Heard, join, leave
from soloist.store.records import Drained, Record, confirm, drain
from soloist.store.replies import Superseded
from soloist.store.server import Server

BATCH = 500
PATIENCE = 30.0
"""Seconds for which a call is repeated before the drainer gives up; nothing is lost then."""

Answer = TypeVar("Answer")


class Drainer:
    """Use it as a context: it joins, and leaves at the end, giving back what was not confirmed."""

    def __init__(
        self, server: Server, namespace: str, settings: Settings, on_reclaimed: Callable[[str, int], None] | None = None
    ) -> None:
        self.server = server
        self.keys = Keys(namespace)
        self.settings = settings
        self.outage = Outage()
        self.clock = ServerClock()
        self.played = 0
        self.may_generate = False
        self.is_busy = False
        self.is_sound = True
        self.failure: BaseException | None = None
        self._on_reclaimed = on_reclaimed
        self._looked = threading.Event()
        self._birth = threading.Lock()
        self._link = Link(server, settings.call_timeout)
        self._control = Link(server, settings.call_timeout)

    def __enter__(self) -> Self:
        try:
            self.incarnation = self._drained_by = self._join()
        except BaseException:
            self._control.close()
            raise
        self.heart = Heart(self, self.guard)
        self.heart.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.heart.stop()
        self.incarnation.over = True
        self._leave(self.incarnation)
        self.heart.hang_up(self.settings.call_timeout)
        self._link.close()
        self._control.close()

    def batches(self, limit: int | None = None) -> Iterator[list[Record]]:
        """Records to print, oldest first. Whoever has printed and flushed some calls `confirm`."""
        left = limit
        while left is None or left > 0:
            looked = self._looked.is_set()  # before that, one that died a moment ago does not seem silent yet
            drained = self._drain(min(left or BATCH, BATCH))
            if drained is None:
                continue
            records, silent = drained.records[:left], drained.silent
            if records:
                yield records
                left = None if left is None else left - len(records)
            elif silent:
                time.sleep(0.05)  # the heart takes back what dead drainers hold, as soon as it may
            elif not looked:
                self._looked.wait(self.settings.call_timeout)
            else:
                return

    def confirm(self, records: Sequence[Record]) -> bool:
        """These, of the last batch, were printed and flushed: remove them. False if all of the batch is in other hands now."""
        incarnation = self._drained_by
        ids = [record.id for record in records]
        return self._ask(incarnation, lambda: confirm(self._link, self.keys, incarnation.id, ids)) is not None

    def _drain(self, most: int) -> Drained | None:
        incarnation = self._drained_by = self.incarnation
        return self._ask(incarnation, lambda: drain(self._link, self.keys, incarnation.id, most))

    def _ask(self, incarnation: Incarnation, call: Callable[[], Answer]) -> Answer | None:
        """Repeat a call until its outcome is known; None if this incarnation is over."""
        until = time.monotonic() + PATIENCE
        while True:
            if self.failure is not None:
                raise self.failure
            try:
                return call()
            except Superseded as superseded:
                self.be_reborn(incarnation, superseded.what)
                return None
            except Unavailable:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)

    # what the heart asks

    def known(self, _incarnation: Incarnation) -> tuple[int, str]:
        """It claims nothing."""
        return 0, ""

    def heard(self, _heard: Heard, _incarnation: Incarnation, _played: int, _sent: float) -> None:
        """A drainer plays no role; but from now on the marks of the dead are set."""
        self._looked.set()

    def report(self) -> str:
        """Nothing: it handles no messages."""
        return ""

    def doubt_connections(self) -> None:
        """It has none on which it only waits."""

    def reclaimed(self, victim: str, messages: int) -> None:
        if self._on_reclaimed is not None:
            self._on_reclaimed(victim, messages)

    def be_reborn(self, incarnation: Incarnation, what: str) -> None:  # noqa: ARG002 - a drainer tells no events
        with self._birth:
            if self.incarnation is not incarnation or incarnation.over:
                return
            incarnation.over = True
            self._leave(incarnation)
            self.incarnation = self._join()

    def _join(self) -> Incarnation:
        who = introduce("", (), drains=True)
        return Incarnation.begin(who, join(self._control, self.keys, who, self.settings))

    def _leave(self, incarnation: Incarnation) -> None:
        for _ in range(2):
            try:
                leave(self._control, self.keys, incarnation.id, self.settings, ())
                return
            except Unavailable:
                continue  # a connection that the server had closed; or it is away, then the lease ends it

    def guard(self, function: Callable[[], None]) -> Callable[[], None]:
        def guarded() -> None:
            try:
                function()
            except BaseException as error:  # noqa: BLE001 - whatever ends the thread must be seen by the caller
                self.failure = error if isinstance(error, Exception) else Defect(str(error))

        return guarded
