"""What one incarnation holds between its numbered calls, in the order in which the server lists it. No I/O.

Whoever handles moves messages from `waiting` over its hands to `outcomes`, by single operations of deques, which are
atomic: handling a message takes no lock. Whoever calls takes outcomes out, under the lock of the calls.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, repeat, starmap
from typing import NamedTuple, TypeAlias

from soloist.commit import Home
from soloist.runtime.fate import Again, Along, Fate
from soloist.runtime.incarnation import Incarnation
from soloist.store.envelope import id_of, kind_of
from soloist.store.messages import Claimed, Run, Tally, TurnCall
from soloist.store.specials import CommittedMessage, FailedMessage, RetriedMessage, Special

Outcome: TypeAlias = tuple[bytes, Fate]
"""A message's envelope, and what became of it."""


class Tray:
    """What is held of one kind.

    Attributes:
        waiting: claimed and not begun, oldest first. The handler takes from the left, giving back takes from the right.
        in_hand: the message that the one thread of this kind handles now. Set before it is taken from `waiting` and
            cleared after it is in `outcomes`: a message is always in one of the three.
        begun_at: since when (monotonic).
        in_hands: the same where many are handled at a time: the envelope, and since when.
        outcomes: done and not recorded.
    """

    __slots__ = ("begun_at", "in_hand", "in_hands", "kind", "outcomes", "waiting")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.waiting: deque[bytes] = deque()
        self.in_hand: bytes | None = None
        self.begun_at = 0.0
        self.in_hands: dict[bytes, float] = {}
        self.outcomes: deque[Outcome] = deque()

    @property
    def is_empty(self) -> bool:
        return not self.waiting and self.in_hand is None and not self.in_hands and not self.outcomes

    @property
    def is_done(self) -> bool:
        """Nothing is to be done any more: what is here is done, and a call would record it."""
        return not self.waiting and self.in_hand is None and not self.in_hands

    @property
    def held(self) -> list[bytes]:
        """All of it, read in the direction in which messages move, so that none is missed on its way."""
        waiting = list(self.waiting.copy())
        in_hand = self.in_hand  # once: the handler may be done with it now
        in_hands = list(self.in_hands.copy())
        done = [envelope for envelope, _ in self.outcomes.copy()]
        return [*waiting, *([] if in_hand is None else [in_hand]), *in_hands, *done]

    def take_outcomes(self) -> list[Outcome]:
        """All that there are now."""
        return list(starmap(self.outcomes.popleft, repeat((), len(self.outcomes))))

    def take_waiting(self) -> list[bytes]:
        """The last first, so that the handler may go on at the other end."""
        taken: list[bytes] = []
        while True:
            try:
                taken.append(self.waiting.pop())
            except IndexError:
                return taken


class Hold(NamedTuple):
    """Claim no more until nothing is held, since a suspect of poison waits or is held; but not for ever.

    Attributes:
        kind: of whom was told so. It claims before all others when nothing is held: else one of them would, and the
            suspect would never be alone.
        until: when to go on in any case (monotonic): what is in hand may take long.
    """

    kind: str
    until: float


class Desk:
    """What one incarnation holds: a tray for each kind, and the order that the server knows.

    Attributes:
        home: what its messages need to know of their instance.
        hold: whether to claim no more, and for how long.
        given_up: a call of it is unknown and will stay so: nothing else may be sent for it but leave.
        known: turn and stamp of the last call that was answered. Together, since the heart reads them while others call.
    """

    def __init__(self, incarnation: Incarnation, kinds: Iterable[str], home: Home | None = None) -> None:
        self.incarnation = incarnation
        self.home = home
        self.trays = {kind: Tray(kind) for kind in kinds}
        self.attempts: dict[bytes, tuple[int, int]] = {}
        self.hold: Hold | None = None
        self.given_up = False
        self._held: Sequence[bytes] = []
        """Envelopes in the server's order, by the last answer."""
        self._left: Sequence[bytes] = []
        """What of it stays if the call that was collected last is applied."""
        self.known = 0, incarnation.stamp

    def attempt(self, envelope: bytes) -> int:
        """Which attempt at this message it is."""
        if not self.attempts:
            return 1
        deaths, retries = self.attempts.get(id_of(envelope), (0, 0))
        return 1 + deaths + retries

    def retried(self, envelope: bytes) -> int:
        """How often it was tried again before."""
        return self.attempts.get(id_of(envelope), (0, 0))[1]

    @property
    def is_empty(self) -> bool:
        return all(tray.is_empty for tray in self.trays.values())

    def may_claim(self, kind: str) -> bool:
        """Whether no hold is in its way."""
        hold = self.hold
        if hold is None or time.monotonic() >= hold.until:
            return True
        return kind == hold.kind and all(tray.is_done for tray in self.trays.values())

    def collect(self, wants: Mapping[str, int], back: Iterable[Tray] = ()) -> TurnCall:
        """Make the next call of what is done by now. The caller holds the lock.

        On hold it claims nothing.

        Args:
            wants: how many of which kinds are to be claimed.
            back: of whose trays all that waits is to be given back.
        """
        wants = {kind: want if want and self.may_claim(kind) else 0 for kind, want in wants.items()}
        finished = {kind: outcomes for kind, tray in self.trays.items() if (outcomes := tray.take_outcomes())}
        given = {tray.kind: waiting for tray in back if (waiting := tray.take_waiting())}
        if self.attempts:
            for envelope in [*chain(*given.values()), *(each for each, _ in chain(*finished.values()))]:
                self.attempts.pop(id_of(envelope), None)
        runs = self._runs(finished, given)
        tallies = {
            kind: _tally(wants.get(kind, 0), finished.get(kind, ()))
            for kind in self.trays
            if kind in wants or kind in finished or kind in given
        }
        turn, stamp = self.known
        return TurnCall(turn + 1, stamp, tallies, runs)

    def _runs(self, finished: Mapping[str, Sequence[Outcome]], given: Mapping[str, Sequence[bytes]]) -> list[Run]:
        """By places in the order that the server knows. What one thread did stands at its head, and is seen at a glance."""
        outcomes = list(chain(*finished.values()))
        if not given and [envelope for envelope, _ in outcomes] == self._held[: len(outcomes)]:
            self._left = self._held[len(outcomes) :]
            return [_run(0, outcomes, is_back=False)] if outcomes else []
        places = {id_of(envelope): place for place, envelope in enumerate(self._held)}
        leaving = {places[id_of(envelope)]: ((envelope, fate), False) for envelope, fate in outcomes}
        leaving.update({places[id_of(envelope)]: ((envelope, None), True) for envelope in chain(*given.values())})
        self._left = [envelope for place, envelope in enumerate(self._held) if place not in leaving]
        runs: list[Run] = []
        stretch: list[Outcome] = []
        begins, was_back = 0, False
        for place in sorted(leaving):
            outcome, is_back = leaving[place]
            if stretch and (begins + len(stretch), was_back) != (place, is_back):
                runs.append(_run(begins, stretch, is_back=was_back))
                stretch = []
            if not stretch:
                begins, was_back = place, is_back
            stretch.append(outcome)
        if stretch:
            runs.append(_run(begins, stretch, is_back=was_back))
        return runs

    def accept(self, call: TurnCall, claimed: Claimed) -> None:
        """The call was applied: what was claimed waits here now."""
        self.known = call.turn, claimed.stamp
        envelopes = claimed.envelopes
        if claimed.again:
            self._held = envelopes
            ours = {id_of(envelope) for tray in self.trays.values() for envelope in tray.held}
            envelopes = [envelope for envelope in envelopes if id_of(envelope) not in ours]
        else:
            self._held = [*self._left, *envelopes]
        self.attempts.update(claimed.attempts)
        wanted = [kind for kind, tally in call.kinds.items() if tally.want]
        self._lay_out(envelopes, wanted)
        if claimed.hold_ms:
            self.hold = Hold(wanted[0], time.monotonic() + claimed.hold_ms / 1000)
        elif self.hold is not None and (self.hold.kind in wanted or time.monotonic() >= self.hold.until):
            self.hold = None

    def write_off(self, kind: str, timeout: float, fail: Callable[[bytes], bytes]) -> bool:
        """The thread of this kind does not come back: fail what it has in hand; True if it was so.

        The thread keeps the old tray, at which nobody looks any more: what it may lay there later is not seen. The caller
        holds the lock.

        Args:
            timeout: seconds for which it must have been in hand: meanwhile it may have gone on to another.
            fail: the details of a message that failed so.
        """
        old, new = self.trays[kind], Tray(kind)
        if time.monotonic() - old.begun_at <= timeout or (old.in_hand is None and not old.in_hands):
            return False
        self.trays[kind] = new
        in_hand = old.in_hand
        held = [*([] if in_hand is None else [in_hand]), *old.in_hands.copy()]
        new.outcomes.extend(old.take_outcomes())
        new.waiting.extend(reversed(old.take_waiting()))
        done = {id_of(envelope) for envelope in (*new.waiting, *(each for each, _ in new.outcomes))}
        lost = [envelope for envelope in held if id_of(envelope) not in done]
        new.outcomes.extend((envelope, fail(envelope)) for envelope in lost)
        return bool(lost)

    def _lay_out(self, envelopes: Sequence[bytes], wanted: Sequence[str]) -> None:
        if len(wanted) == 1:
            self.trays[wanted[0]].waiting.extend(envelopes)
            return
        for envelope in envelopes:
            self.trays[kind_of(envelope)].waiting.append(envelope)


def _run(place: int, stretch: Sequence[Outcome], *, is_back: bool) -> Run:
    """Of what lies side by side, from this place on."""
    first, _ = stretch[0]
    if is_back:
        return Run(place, len(stretch), id_of(first), is_back=True)
    places = enumerate(stretch, place)
    specials = [_special(at, id_of(envelope), fate) for at, (envelope, fate) in places if fate is not None]
    return Run(place, len(stretch), id_of(first), specials)


def _special(place: int, ident: bytes, fate: bytes | Again | Along) -> Special:
    if isinstance(fate, bytes):
        return FailedMessage(place, ident, fate)
    if isinstance(fate, Again):
        return RetriedMessage(place, ident, fate.after_ms)
    return CommittedMessage(place, ident, fate.writes, fate.messages)


def _tally(want: int, outcomes: Sequence[Outcome]) -> Tally:
    special = [type(fate) for _, fate in outcomes if fate is not None]
    failed, retried = special.count(bytes), special.count(Again)
    return Tally(want, len(outcomes) - failed - retried, failed, retried)
