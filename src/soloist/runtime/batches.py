"""A lane whose function is given many messages at once, as bulk interfaces like them."""

import time
from collections.abc import Sequence
from typing import Any

from soloist.errors import Reject
from soloist.fitting import Flavour
from soloist.message import Message
from soloist.runtime.desk import Desk, Tray
from soloist.runtime.fate import Fate
from soloist.runtime.lane import Lane


class BatchLane(Lane):
    """Claims until the batch is full or has waited long enough, then hands it over whole."""

    def _step(self, desk: Desk) -> None:
        if self._is_on_hold(desk):
            return
        tray, most = desk.trays[self.kind], self.declared.batch
        self._claims.turn(desk, {self.kind: most - len(tray.waiting)})
        if not tray.waiting:
            if tray.is_empty:
                self._wait_for_work(desk)
            return
        self._instance.heart.hurry_if_slow()
        until = time.monotonic() + self.declared.linger
        while len(tray.waiting) < most and self._may_linger(desk):
            left = until - time.monotonic()
            if left <= 0:
                break
            if self._wait_at_the_bell(desk, max(left, 0.001)):
                self._claims.turn(desk, {self.kind: most - len(tray.waiting)})
        if not self._interrupted and not desk.incarnation.over:
            self._work(desk, tray)

    def _may_linger(self, desk: Desk) -> bool:
        return self.is_wanted and not desk.incarnation.over and desk.may_claim(self.kind)

    def _work(self, desk: Desk, tray: Tray) -> None:
        now = tray.begun_at = time.monotonic()
        envelopes = [tray.waiting[at] for at in range(min(len(tray.waiting), self.declared.batch))]
        for envelope in envelopes:
            tray.in_hands[envelope] = now
            tray.waiting.popleft()
        # kill point: a batch in hand, not begun
        messages = [Message(envelope, desk.attempt(envelope), desk.home) for envelope in envelopes]
        raised: BaseException | None = None
        try:
            self._hand_over(messages)
        except BaseException as error:  # noqa: BLE001 - whatever the user's code raises, the batch failed
            raised = error
        together = zip(messages, envelopes, strict=True)
        tray.outcomes.extend(
            [(envelope, self._fate(desk, message, envelope, raised)) for message, envelope in together]
        )
        # kill point: a batch handled, not recorded
        tray.in_hands.clear()

    def _hand_over(self, messages: Sequence[Message]) -> Any:
        if self.declared.fit.flavour is Flavour.ASYNC:
            return self._instance.loop.run(lambda: self._call(messages), self.timeout)
        return self._call(messages)

    def _fate(self, desk: Desk, message: Message, envelope: bytes, raised: BaseException | None) -> Fate:
        """One that was rejected by itself failed by itself; the others share what became of the call."""
        error = Reject(message.rejected) if message.rejected is not None else raised
        if error is None:
            return self._fates.completed(message)
        return self._fates.raised(error, message.attempt, desk.retried(envelope))
