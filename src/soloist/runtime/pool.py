"""A lane that handles many messages at a time: its thread claims and records, a crew handles.

What is done is recorded together, in whatever order it was done: while one call is under way, more gets done. The crew
takes as many messages as `concurrency` says; quick ones wait in small stacks behind each of them.
"""

import math
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from soloist.declared import DeclaredHandler
from soloist.message import Message
from soloist.runtime.batching import FLUSH, MOST, Batching
from soloist.runtime.claims import Claims
from soloist.runtime.crew import Crew, Ended, Handle
from soloist.runtime.desk import Desk, Tray
from soloist.runtime.lane import BLOCK, HOLD_LOOK, Lane
from soloist.runtime.porter import Porter

if TYPE_CHECKING:
    from soloist.runtime.instance import Instance

LOOK = 0.5
"""Seconds between looks at whether the incarnation is still ours."""


class _Home(NamedTuple):
    """Where a message in hand belongs: to the desk of its incarnation, which may be over. And since when it is in hand."""

    desk: Desk
    envelope: bytes
    begun: float


class PoolLane(Lane):
    """Claims for a crew, and records what it has done.

    Args:
        crew_of: makes the crew of the function, and of what is to be called when a message is handled.
    """

    def __init__(
        self,
        instance: "Instance",
        declared: DeclaredHandler,
        claims: Claims,
        concurrency: int,
        crew_of: Callable[[Handle, Ended], Crew],
    ) -> None:
        super().__init__(instance, declared, claims)
        self._concurrency = concurrency
        self._batching = Batching(instance.settings.batch)
        self._wake = threading.Event()
        self._may_be_work = True
        self._was_rung = False
        self._is_held_up = False
        """All of the crew are at slow ones: claim only for those who become free."""
        self._homes: dict[Message, _Home] = {}
        """Where the messages in hand belong. By the message, not by its envelope: after a rebirth the same one may be
        claimed anew while an attempt of the incarnation before still runs, and that must not answer for it."""
        self._crew = crew_of(self._call, self._guarded)
        self._porter = Porter(instance, f"bell {self.kind}", instance.keys.bell(self.kind), BLOCK, self._rung)
        self.threads.append(self._porter.thread)

    def play(self, wanted: bool) -> None:
        super().play(wanted)
        self._wake.set()

    def quiet(self) -> None:
        super().quiet()
        self._wake.set()

    def leave_the_bell(self) -> None:
        self._porter.interrupt()

    def hang_up(self, until: float) -> None:
        self._porter.hang_up(until)

    def _step(self, desk: Desk) -> None:
        self._wake.clear()  # first: what is done from now on wakes again
        tray = desk.trays[self.kind]
        self._call_for(desk, tray)
        self._begin(desk, tray)
        self._wait(desk, tray)

    def _call_for(self, desk: Desk, tray: Tray) -> None:
        """Record what is done, and claim what there is room for."""
        most = self._concurrency if self._is_held_up else self._most
        want = max(0, most - len(tray.waiting) - len(self._homes)) if desk.may_claim(self.kind) else 0
        self._may_be_work = self._may_be_work or self._was_rung
        if tray.outcomes or (want and self._may_be_work):
            self._was_rung = False
            before = len(tray.waiting)
            self._claims.turn(desk, {self.kind: want})
            self._may_be_work = len(tray.waiting) - before >= want or not desk.may_claim(self.kind)
        else:
            self._ring_again(desk)  # no room, or a hold
        if want and not self._may_be_work:
            self._porter.ask()
        else:
            self._porter.no_more()

    @property
    def _most(self) -> int:
        """How many it may hold: the quicker they are, the more wait behind each that is being handled."""
        return min(self._concurrency * self._batching.size, max(MOST, self._concurrency))

    def _begin(self, desk: Desk, tray: Tray) -> None:
        if desk.incarnation.over or self._interrupted:
            return
        begun: list[Message] = []
        now = time.monotonic()
        if tray.waiting:
            self._instance.heart.hurry_if_slow()
        while tray.waiting and len(self._homes) < self._concurrency:
            envelope = tray.waiting[0]
            tray.in_hands[envelope] = now
            tray.waiting.popleft()
            # kill point: in hand, not begun by the crew
            message = Message(envelope, desk.attempt(envelope), desk.home)
            self._homes[message] = _Home(desk, envelope, now)
            begun.append(message)
        if begun:
            self._crew.begin(begun)

    def _wait(self, desk: Desk, tray: Tray) -> None:
        """Until something is done, or comes; or a hold is over."""
        if not tray.waiting:
            self._wake.wait(LOOK if desk.may_claim(self.kind) else HOLD_LOOK)
        elif not self._wake.wait(FLUSH) and tray.waiting:
            # kill point: held up by slow ones
            self._is_held_up = True
            self._give_back(self._claims.desk)

    def _guarded(self, message: Message, raised: BaseException | None) -> None:
        """A defect of ours must not be lost in a thread or task of the crew."""
        self._instance.guard(lambda: self._ended(message, raised))()

    def _ended(self, message: Message, raised: BaseException | None) -> None:
        """A message is handled; called by the crew."""
        home = self._homes.pop(message, None)
        if home is None:
            return  # it was written off
        desk, envelope, begun = home
        tray, fates = desk.trays[self.kind], self._fates
        if raised is None:
            fate = fates.completed(message)
        else:
            fate = fates.raised(raised, message.attempt, desk.retried(envelope))
        self._batching.worked(1, time.monotonic() - begun)
        self._is_held_up = False
        tray.outcomes.append((envelope, fate))
        # kill point: handled by the crew, not recorded
        del tray.in_hands[envelope]
        self._wake.set()

    def overdue(self) -> float | None:
        limit = self._given_up_after
        begun = min((home.begun for home in self._homes.copy().values()), default=math.inf)
        took = time.monotonic() - begun
        return took if limit is not None and took > limit else None

    def write_off(self) -> bool:
        """Those that took too long fail; the others of the crew may finish.

        If one of them blocks the event loop, it alone: the others could not go on, and are given back in the end.
        """
        limit, found = self._given_up_after or math.inf, False
        latest = time.monotonic() - limit
        late = {message: home for message, home in self._homes.copy().items() if home.begun < latest}
        culprit = self._crew.at_the_wheel()
        if culprit is not None and culprit in late:
            late = {culprit: late[culprit]}
        for message, (desk, envelope, _) in late.items():
            if self._homes.pop(message, None) is not None:
                tray = desk.trays[self.kind]
                tray.outcomes.append((envelope, self.too_late(envelope)))
                del tray.in_hands[envelope]
                found = True
        if found:
            self._stopping = self._interrupted = True
            self._wake.set()
        return found

    def _rung(self) -> None:
        """Called by the porter."""
        self._was_rung = True
        self._wake.set()

    def _rest(self, desk: Desk) -> None:
        """Not wanted: record what still gets done."""
        self._wake.clear()
        self._porter.no_more()
        self._give_back(desk)
        self._ring_again(desk)
        self._wake.wait(LOOK)

    def _ring_again(self, desk: Desk) -> None:
        """For others, if a token came that is of no use here."""
        if self._was_rung:
            self._was_rung = False
            self._claims.turn(desk, {self.kind: 0}, even_if_empty=True)

    @property
    def _is_at_work(self) -> bool:
        """Also while what was just handled is on its way to the outcomes: that is in hand until it is there."""
        return bool(self._homes or self._claims.last_desk.trays[self.kind].in_hands)

    def _finish(self) -> None:
        self._porter.end()
        while True:
            self._wake.clear()
            self._give_back(self._claims.last_desk)
            if not self._is_at_work or self._instance.is_out_of_time:
                break
            self._wake.wait(LOOK)
        self._crew.dismiss()
        self._give_back(self._claims.last_desk)
        self._ring_again(self._claims.last_desk)
