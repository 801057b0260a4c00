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
from soloist.store.messages import Claimed, Done, TurnCall, next_turn
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
        in_hand: the id of the message that is being handled. Set before it is taken from `waiting` and cleared after
            it is in `outcomes`: a message is always in one of the three.
        recorded_at: when outcomes were last recorded (monotonic).
        given_up: a call of it is unknown and will stay so: nothing else may be sent for it but leave.
    """

    def __init__(self, incarnation: Incarnation) -> None:
        self.incarnation = incarnation
        self.waiting: deque[tuple[str, bytes]] = deque()
        self.outcomes: deque[Outcome] = deque()
        self.attempts: dict[bytes, tuple[int, int]] = {}
        self.in_hand: bytes | None = None
        self.recorded_at = time.monotonic()
        self.hold = False
        self.given_up = False
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
            message_id = id_of(envelope)
            self.attempts.pop(message_id, None)
            done[kind].back.append(message_id)
        for each in done.values():
            each.back.reverse()  # oldest first
        return TurnCall(self._turn + 1, self._stamp, done)

    def accept(self, call: TurnCall, claimed: Claimed) -> None:
        """The call was applied: what was claimed waits here now."""
        self._turn, self._stamp = call.turn, claimed.stamp
        known = self._known() if claimed.again else frozenset[bytes]()
        for envelope in claimed.envelopes:
            message_id, kind, _ = envelope.split(b" ", 2)
            if message_id not in known:
                self.waiting.append((kind.decode(), envelope))
        self.attempts.update(claimed.attempts)
        self.hold = claimed.hold
        self.recorded_at = time.monotonic()

    def _known(self) -> frozenset[bytes]:
        """What we hold, read in the direction in which messages move, so that none is missed on its way."""
        waiting = [id_of(envelope) for _, envelope in self.waiting.copy()]
        in_hand = self.in_hand
        return frozenset([*waiting, in_hand or b"", *(outcome.id for outcome in self.outcomes.copy())])


class Turns:
    """Makes the calls."""

    def __init__(self, link: Link, keys: Keys, settings: Settings, kinds: Sequence[str], patience: Patience) -> None:
        self._link = link
        self._keys = keys
        self._settings = settings
        self._kinds = kinds
        self._patience = patience
        self._lock = threading.Lock()

    def take(
        self, desk: Desk, want: int, *, give_back: bool = False, is_hopeless: Callable[[], bool]
    ) -> tuple[int, int]:
        """Record what is done, give back what will not be done, claim up to `want`; answers what was recorded.

        Raises:
            Superseded: this incarnation is over.
        """
        with self._lock:
            call = desk.collect(self._kinds, 0 if desk.hold and not desk.is_empty else want, give_back=give_back)
            while True:
                if desk.given_up:
                    raise Unavailable("a call before this one was given up")
                if desk.incarnation.over:
                    self._patience.ended()
                    raise Superseded("next")
                try:
                    claimed = next_turn(self._link, self._keys, desk.incarnation.id, self._settings, call)
                    break
                except Superseded:
                    self._patience.ended()
                    raise
                except Unavailable as error:
                    wait = self._patience.failed(error)
                    if is_hopeless():
                        desk.given_up = True
                        raise
                    time.sleep(wait)
            self._patience.well()
            desk.accept(call, claimed)
            failed = sum(len(done.failed) for done in call.done.values())
            return sum(len(done.completed) for done in call.done.values()) + failed, failed
