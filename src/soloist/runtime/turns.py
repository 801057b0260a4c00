"""The numbered `next` calls of one incarnation, and what it holds between them.

Two threads come here: the one that handles, and the one that records what is done while a message takes long. The
queue and the list of outcomes are deques whose single operations are atomic, so handling a message takes no lock; a
call does, since calls go strictly one after another. A call whose outcome is unknown is repeated unchanged until it is
known, or the incarnation is over.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from soloist.errors import Unavailable
from soloist.runtime.incarnation import Incarnation
from soloist.runtime.patience import Patience
from soloist.settings import Settings
from soloist.store.envelope import id_of
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.messages import Done, TurnCall, next_turn
from soloist.store.replies import Superseded


class Outcome(NamedTuple):
    """What became of a message: its kind, its id, and the details if it failed."""

    kind: str
    id: bytes
    details: bytes | None


class Desk:
    """What one incarnation holds.

    Attributes:
        waiting: kind and envelope of what was claimed and not begun, oldest first. The handler takes from the left,
            giving back takes from the right.
        outcomes: what was done and not recorded.
        in_hand: the id of the message that is being handled.
        recorded_at: when outcomes were last recorded (monotonic).
    """

    def __init__(self, incarnation: Incarnation) -> None:
        self.incarnation = incarnation
        self.waiting: deque[tuple[str, bytes]] = deque()
        self.outcomes: deque[Outcome] = deque()
        self.attempts: dict[bytes, tuple[int, int]] = {}
        self.in_hand: bytes | None = None
        self.recorded_at = time.monotonic()
        self.hold = False
        self._turn = 0
        self._stamp = incarnation.stamp

    @property
    def is_empty(self) -> bool:
        return not self.waiting and not self.outcomes and self.in_hand is None

    def collect(self, kinds: Sequence[str], want: int, *, give_back: bool) -> TurnCall:
        """Make the next call of what is done by now. The caller holds the lock."""
        done = {kind: Done(want=want) for kind in kinds}
        while self.outcomes:
            outcome = self.outcomes.popleft()
            if outcome.details is None:
                done[outcome.kind].completed.append(outcome.id)
            else:
                done[outcome.kind].failed.append((outcome.id, outcome.details))
        while give_back:
            try:
                kind, envelope = self.waiting.pop()
            except IndexError:
                break
            done[kind].back.insert(0, id_of(envelope))
        return TurnCall(self._turn + 1, self._stamp, done)

    def accept(self, call: TurnCall, stamp: str, envelopes: Sequence[bytes]) -> None:
        """The call was applied: these are new, unless we hold them already (an answer that was lost the first time)."""
        self._turn, self._stamp = call.turn, stamp
        known = {id_of(envelope) for _, envelope in self.waiting}
        known.update(outcome.id for outcome in list(self.outcomes))
        known.add(self.in_hand or b"")
        for envelope in envelopes:
            message_id, kind, _ = envelope.split(b" ", 2)
            if message_id not in known:
                self.waiting.append((kind.decode(), envelope))


class Turns:
    """Makes the calls."""

    def __init__(self, link: Link, keys: Keys, settings: Settings, kinds: Sequence[str], patience: Patience) -> None:
        self._link = link
        self._keys = keys
        self._settings = settings
        self._kinds = kinds
        self._patience = patience
        self._lock = threading.Lock()

    def take(self, desk: Desk, want: int, *, give_back: bool = False, is_hopeless: Callable[[], bool]) -> tuple[int, int]:
        """Record what is done, give back what will not be done, claim up to `want`; answers what was recorded.

        Raises:
            Superseded: this incarnation is over.
        """
        with self._lock:
            call = desk.collect(self._kinds, 0 if desk.hold and not desk.is_empty else want, give_back=give_back)
            while True:
                if desk.incarnation.over:
                    raise Superseded("next")
                try:
                    claimed = next_turn(self._link, self._keys, desk.incarnation.id, self._settings, call)
                    break
                except Unavailable as error:
                    wait = self._patience.failed(error)
                    if is_hopeless():
                        raise
                    time.sleep(wait)
            self._patience.well()
            desk.accept(call, claimed.stamp, claimed.envelopes)
            desk.attempts.update(claimed.attempts)
            desk.hold = claimed.hold
            desk.recorded_at = time.monotonic()
            failed = sum(len(done.failed) for done in call.done.values())
            return sum(len(done.completed) for done in call.done.values()) + failed, failed
