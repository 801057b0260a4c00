"""The numbered `next` calls of one incarnation, and what it holds between them.

Two threads come here: the one that handles, and the one that records what is done while a message takes long. The
queue and the list of outcomes are deques whose single operations are atomic, so handling a message takes no lock; a
call does, since calls go strictly one after another. A call whose outcome is unknown is repeated unchanged until it is
known, or the incarnation is over.
"""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from soloist.errors import Unavailable
from soloist.runtime.incarnation import Incarnation
from soloist.runtime.patience import Patience
from soloist.settings import Settings
from soloist.store.envelope import id_of, kind_of
from soloist.store.foreign import in_the_way
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.messages import Claimed, FailedMessage, Run, Tally, TurnCall, begin_turn
from soloist.store.replies import Superseded

Outcome: TypeAlias = tuple[str, bytes, bytes | None]
"""What became of a message: its kind, its envelope, and the details if it failed."""


class Desk:
    """What one incarnation holds, in the order in which it was claimed: outcomes, then what is in hand, then waiting.

    The server knows the same order, and is told places in it. Since one thread handles, what is done stands at its head,
    and what is given back at its end.

    Attributes:
        waiting: kind and envelope of what was claimed and not begun, oldest first. The handler takes from the left,
            giving back takes from the right.
        outcomes: what was done and not recorded.
        in_hand: the envelope of the message that is being handled. Set before it is taken from `waiting` and cleared
            after it is in `outcomes`: a message is always in one of the three.
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
        self._held = 0
        """How many it holds by the last answer."""
        self._turn = 0
        self._stamp = incarnation.stamp

    @property
    def is_empty(self) -> bool:
        return not self.waiting and not self.outcomes and self.in_hand is None

    def collect(self, kinds: Sequence[str], want: int, *, give_back: bool) -> TurnCall:
        """Make the next call of what is done by now. The caller holds the lock."""
        finished = [self.outcomes.popleft() for _ in range(len(self.outcomes))]
        failures = [
            FailedMessage(place, id_of(envelope), details)
            for place, (_, envelope, details) in enumerate(finished)
            if details is not None
        ]
        runs = [Run(0, len(finished), id_of(finished[0][1]), failures)] if finished else []
        back = self._give_back() if give_back else []
        if back:
            runs.append(Run(self._held - len(back), len(back), back[-1], is_back=True))
        total = Counter([kind for kind, _, _ in finished])
        failed = Counter([finished[place][0] for place, _, _ in failures])
        tallies = {kind: Tally(want, total[kind] - failed[kind], failed[kind]) for kind in kinds}
        return TurnCall(self._turn + 1, self._stamp, tallies, runs)

    def _give_back(self) -> list[bytes]:
        """Take out what waits, the last first; answers the ids."""
        ids: list[bytes] = []
        while True:
            try:
                _, envelope = self.waiting.pop()
            except IndexError:
                return ids
            ids.append(id_of(envelope))
            self.attempts.pop(ids[-1], None)

    def accept(self, call: TurnCall, claimed: Claimed) -> None:
        """The call was applied: what was claimed waits here now."""
        self._turn, self._stamp = call.turn, claimed.stamp
        envelopes = claimed.envelopes
        if claimed.again:
            self._held = len(envelopes)
            known = self._known()
            envelopes = [envelope for envelope in envelopes if id_of(envelope) not in known]
        else:
            self._held += len(envelopes) - sum(run.length for run in call.runs)
        self.attempts.update(claimed.attempts)
        if len(call.kinds) == 1:
            (kind,) = call.kinds
            self.waiting.extend([(kind, envelope) for envelope in envelopes])
        else:
            self.waiting.extend([(kind_of(envelope), envelope) for envelope in envelopes])
        self.hold = claimed.hold or (self.hold and not self.is_empty)
        self.recorded_at = time.monotonic()

    def _known(self) -> frozenset[bytes]:
        """What we hold, read in the direction in which messages move, so that none is missed on its way."""
        waiting = [envelope for _, envelope in self.waiting.copy()]
        in_hand = self.in_hand  # once: the handler may be done with it now
        done = [envelope for _, envelope, _ in self.outcomes.copy()]
        return frozenset(map(id_of, [*waiting, *([] if in_hand is None else [in_hand]), *done]))


class Turns:
    """Makes the calls, one after another. One that was asked for and not answered yet is awaited before the next."""

    def __init__(self, link: Link, keys: Keys, settings: Settings, kinds: Sequence[str], patience: Patience) -> None:
        self._link = link
        self._keys = keys
        self._settings = settings
        self._kinds = kinds
        self._patience = patience
        self._lock = threading.Lock()
        self._asked: _Asked | None = None

    @property
    def is_asked(self) -> bool:
        """Whether a call is under way whose answer nobody waits for."""
        return self._asked is not None

    def take(
        self, desk: Desk, want: int, *, give_back: bool = False, is_hopeless: Callable[[], bool]
    ) -> tuple[int, int]:
        """Record what is done, give back what will not be done, claim up to `want`; answers what was recorded.

        Raises:
            Superseded: this incarnation is over.
            ForeignData: what comes next in a list is no message. What was done is recorded.
        """
        with self._lock:
            before = self._await_asked(desk, is_hopeless)
            call = desk.collect(self._kinds, 0 if desk.hold and not desk.is_empty else want, give_back=give_back)
            recorded = self._await(_Asked(desk, call, None), is_hopeless)
            return before[0] + recorded[0], before[1] + recorded[1]

    def ask(self, desk: Desk, want: int) -> None:
        """Send the next call, which claims up to `want`, and do not wait: there is work to do meanwhile."""
        with self._lock:
            if self._asked is not None or desk.given_up or desk.incarnation.over:
                return
            call = desk.collect(self._kinds, want, give_back=False)
            try:
                answer = begin_turn(self._link, self._keys, desk.incarnation.id, self._settings, call)
            except Unavailable as error:
                self._patience.failed(error)
                self._asked = _Asked(desk, call, None)
            except BaseException:
                desk.given_up = True  # its outcomes are in a call that will never be repeated
                raise
            else:
                self._asked = _Asked(desk, call, answer)

    def await_asked(self, desk: Desk, is_hopeless: Callable[[], bool]) -> tuple[int, int]:
        """Wait for the answer to what was asked for; answers what it recorded.

        Raises:
            Superseded: this incarnation is over.
            ForeignData: what comes next in a list is no message. What was done is recorded.
        """
        with self._lock:
            return self._await_asked(desk, is_hopeless)

    def _await_asked(self, desk: Desk, is_hopeless: Callable[[], bool]) -> tuple[int, int]:
        asked = self._asked
        if asked is None:
            return 0, 0
        if asked.desk is not desk and desk.incarnation.over:
            raise Superseded("next")  # we are late: the call under way is of the incarnation after ours
        self._asked = None
        if asked.desk is not desk:  # of the incarnation before
            self._link.close()  # or its answer would be taken for that of the next call
            return 0, 0
        return self._await(asked, is_hopeless)

    def _await(self, asked: "_Asked", is_hopeless: Callable[[], bool]) -> tuple[int, int]:
        """Repeat the call unchanged until its outcome is known."""
        desk, call, answer = asked
        while True:
            if desk.given_up:
                raise Unavailable("a call before this one was given up")
            if desk.incarnation.over:
                if answer is not None:
                    self._link.close()  # or its answer would be taken for that of the next call
                self._patience.ended()
                raise Superseded("next")
            try:
                if answer is None:
                    answer = begin_turn(self._link, self._keys, desk.incarnation.id, self._settings, call)
                claimed = answer()
                break
            except Superseded:
                self._patience.ended()
                raise
            except Unavailable as error:
                answer = None
                wait = self._patience.failed(error)
                if is_hopeless():
                    desk.given_up = True
                    raise
                time.sleep(wait)
            except BaseException:
                desk.given_up = True  # another call with its turn and stamp would be taken for its repeat
                raise
        self._patience.well()
        desk.accept(call, claimed)
        if claimed.foreign is not None:
            raise in_the_way(self._keys, claimed.foreign)
        failed = sum(tally.failed for tally in call.kinds.values())
        return sum(tally.completed for tally in call.kinds.values()) + failed, failed


class _Asked(NamedTuple):
    """A call, and what waits for its answer; None if it was not sent, or nobody knows."""

    desk: Desk
    call: TurnCall
    answer: Callable[[], Claimed] | None
