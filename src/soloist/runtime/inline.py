"""A lane whose one thread claims, handles and records: the quickest way for a plain function, one message at a time."""

import time
from typing import TYPE_CHECKING

from soloist.declared import DeclaredHandler
from soloist.message import Message
from soloist.runtime.batching import FLUSH, Batching
from soloist.runtime.claims import Claims
from soloist.runtime.desk import Desk
from soloist.runtime.lane import Lane

if TYPE_CHECKING:
    from soloist.runtime.instance import Instance
    from soloist.runtime.recorder import Recorder


class InlineLane(Lane):
    """Handles on its own thread. The recorder steps in when a message takes long."""

    def __init__(self, instance: "Instance", declared: DeclaredHandler, claims: Claims, recorder: "Recorder") -> None:
        super().__init__(instance, declared, claims)
        self._batching = Batching(instance.settings.batch)
        self._recorder = recorder
        self._has_asked = False

    def _step(self, desk: Desk) -> None:
        tray = desk.trays[self.kind]
        if self._has_asked:
            self._has_asked = False
            self._claims.await_asked(desk)
        elif self._is_on_hold(desk):
            return
        else:
            self._claims.turn(desk, {self.kind: max(0, self._batching.size - len(tray.waiting))})
        if tray.waiting:
            if self._batching.reaches_ahead(len(tray.waiting)) and desk.may_claim(self.kind):
                self._claims.ask(desk, {self.kind: self._batching.size})
                self._has_asked = True
                # kill point: the next batch asked for, this one not begun
            self._work_through(desk)
        elif tray.is_empty:
            self._wait_for_work(desk)

    def _work_through(self, desk: Desk) -> None:
        tray, call, incarnation = desk.trays[self.kind], self._call, desk.incarnation
        waiting, outcomes, fates, home = tray.waiting, tray.outcomes, self._fates, desk.home
        self._recorder.wake()
        self._instance.heart.hurry_if_slow()
        begun = now = time.monotonic()
        until, count = begun + FLUSH, 0
        while now < until and not self._interrupted and not incarnation.over:
            tray.begun_at = now
            try:
                tray.in_hand = waiting[0]
                envelope = waiting.popleft()
            except IndexError:
                tray.in_hand = None
                break
            # kill point: in hand, not begun
            attempt = desk.attempt(envelope) if desk.attempts else 1
            message = Message(envelope, attempt, home)
            try:
                call(message)
                outcomes.append((envelope, None if message._commit is None else fates.completed(message)))  # noqa: SLF001 - quick
            except BaseException as error:  # noqa: BLE001 - whatever the user's code raises, the message failed
                outcomes.append((envelope, fates.raised(error, attempt, desk.retried(envelope))))
            # kill point: between handle and complete
            tray.in_hand = None
            count += 1
            now = time.monotonic()
        self._batching.worked(count, now - begun)
        if len(waiting) > self._batching.size and not self._interrupted:
            self._give_back(desk)
