"""The handler's part of an instance: a lane for each kind, and one recorder for all of them."""

import threading
import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from soloist.declared import DeclaredHandler
from soloist.fitting import Flavour
from soloist.runtime.batches import BatchLane
from soloist.runtime.claims import Claims
from soloist.runtime.crew import Tasks, Threads
from soloist.runtime.incarnation import Incarnation
from soloist.runtime.inline import InlineLane
from soloist.runtime.lane import Lane
from soloist.runtime.pool import PoolLane
from soloist.runtime.recorder import Recorder
from soloist.store.envelope import id_of

if TYPE_CHECKING:
    from soloist.runtime.instance import Instance

LOOK = 0.005
"""Seconds between looks at whether everything is done."""


class Handler:
    """Plays the handler's part of an instance while it should."""

    def __init__(self, instance: "Instance", handlers: Mapping[str, DeclaredHandler]) -> None:
        self._claims = Claims(instance, tuple(handlers))
        self._recorder = Recorder(instance, self._claims)
        self._instance = instance
        self.lanes = [self._lane(declared) for declared in handlers.values()]

    def _lane(self, declared: DeclaredHandler) -> Lane:
        """The one that suits the function."""
        instance, settings = self._instance, self._instance.settings
        concurrency = declared.concurrency or settings.concurrency
        if declared.batch:
            return BatchLane(instance, declared, self._claims)
        if declared.fit.flavour is Flavour.ASYNC:
            tasks = partial(Tasks, loop=instance.loop, timeout=declared.timeout or settings.timeout or None)
            return PoolLane(instance, declared, self._claims, concurrency, tasks)
        if concurrency > 1:
            threads = partial(Threads, most=concurrency, name=f"handler {declared.kind}")
            return PoolLane(instance, declared, self._claims, concurrency, threads)
        return InlineLane(instance, declared, self._claims, self._recorder)

    @property
    def threads(self) -> list[threading.Thread]:
        return [*(thread for lane in self.lanes for thread in lane.threads), self._recorder.thread]

    def start(self) -> None:
        self._recorder.start()
        for lane in self.lanes:
            lane.start()

    def play(self, wanted: bool) -> None:
        """Handle, or (generating, paused) give back what was not begun and take no more."""
        self._recorder.is_wanted = wanted
        for lane in self.lanes:
            lane.play(wanted)
        self._recorder.wake()

    @property
    def is_busy(self) -> bool:
        """Whether it holds a message now."""
        return not self._claims.last_desk.is_empty

    def known(self, incarnation: Incarnation) -> tuple[int, str]:
        """What this incarnation has heard last; of one of which nothing is known here, nothing."""
        desk = self._claims.last_desk
        return desk.known if desk.incarnation is incarnation else (0, "")

    def oldest(self) -> tuple[bytes, threading.Thread] | None:
        """The message that has been in hand for the longest, its id, and the thread that handles it."""
        found: list[tuple[float, bytes, threading.Thread]] = []
        for lane in self.lanes:
            tray = self._claims.last_desk.trays[lane.kind]
            in_hand = tray.in_hand
            if in_hand is not None:
                found.append((tray.begun_at, in_hand, lane.threads[0]))
            found += [(begun, envelope, lane.threads[0]) for envelope, begun in tray.in_hands.copy().items()]
        if not found:
            return None
        _, envelope, thread = min(found, key=lambda each: each[0])
        return id_of(envelope), thread

    def stuck(self) -> str | None:
        """Give up a message that took too long and that nothing else can end; answers which, if there was one."""
        for lane in self.lanes:
            took = None if lane.is_lost else lane.overdue()
            if took is not None and lane.write_off():
                return f"the handler {lane.declared.where} has not returned for {took:.0f} s"
        return None

    def leave_the_bell(self) -> None:
        for lane in self.lanes:
            lane.leave_the_bell()

    def stop(self, within: float) -> bool:
        """Take no more, finish the message in hand; True if that was done in time.

        A lane that waits at the bell holds nothing: it is not waited for. A token that it takes then costs the others a
        heartbeat at most.
        """
        self._recorder.is_wanted = False
        for lane in self.lanes:
            lane.quiet()
        self._recorder.wake()
        is_done = self._wait_until_done(time.monotonic() + within)
        self._recorder.stop()
        for lane in self.lanes:
            if is_done and lane.is_lost:
                lane.give_back_rest()
        return is_done

    def _wait_until_done(self, deadline: float) -> bool:
        while not all(lane.is_done.is_set() or lane.is_lost or self._rests(lane) for lane in self.lanes):
            if time.monotonic() >= deadline:
                return False
            time.sleep(LOOK)
        return True

    def hang_up(self, within: float) -> None:
        """The instance has left: leave no connection behind."""
        until = time.monotonic() + within
        for lane in self.lanes:
            lane.hang_up(until)
        self._claims.hang_up()

    def _rests(self, lane: Lane) -> bool:
        return lane.at_the_bell and self._claims.last_desk.trays[lane.kind].is_empty
