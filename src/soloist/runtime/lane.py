"""A lane: handles the messages of one kind. Each has threads of its own, so that a slow kind holds up no other."""

import threading
import time
from typing import TYPE_CHECKING

from soloist.declared import DeclaredHandler
from soloist.errors import ForeignData, Unavailable
from soloist.fitting import Flavour
from soloist.runtime.claims import Claims
from soloist.runtime.desk import Desk
from soloist.runtime.fate import Fates
from soloist.runtime.patience import Patience
from soloist.store.link import Link

if TYPE_CHECKING:
    from soloist.runtime.instance import Instance

BLOCK = 5.0
"""Seconds for which it waits at the bell at a time. The server serves those first that wait longest, so a short wait
would leave to chance who gets the work; a long one would leave a connection that died in silence unnoticed."""

HOLD_LOOK = 0.02
"""Seconds between looks at whether a hold is over: the other lanes are done, so that a suspect can be handled alone."""


CANCELLING = 5.0
"""Seconds beyond its time limit for which an async handler, which is cancelled then, may clear up after itself. After
that it has swallowed its cancellation, or blocks the event loop, and is given up like a thread that does not return."""


class Lane:
    """What all lanes have in common: when to work, and how to wait at the bell.

    Attributes:
        timeout: seconds that a message may take; None: as long as it likes.
        is_lost: its thread did not come back from a message in that time, and is waited for no more.
        is_done: its thread has recorded or given back everything, and ended.
        at_the_bell: it waits there, and holds nothing.
    """

    def __init__(self, instance: "Instance", declared: DeclaredHandler, claims: Claims) -> None:
        self.kind = declared.kind
        self.declared = declared
        self.timeout = declared.timeout or instance.settings.timeout or None
        self._given_up_after = self.timeout
        if self.timeout is not None and declared.fit.flavour is Flavour.ASYNC:
            self._given_up_after = self.timeout + CANCELLING
        self.is_lost = False
        self.is_done = threading.Event()
        self.at_the_bell = False
        self._instance = instance
        self._claims = claims
        self._call = instance.app.wrapped(declared, declared.fit.bind(instance.ctx))
        retries = declared.retries if declared.retries is not None else instance.settings.retries
        self._fates = Fates(declared, retries, lambda: instance.incarnation.id)
        self._bell = Link(instance.server, BLOCK + instance.settings.call_timeout)
        self._bell_patience = Patience("bell", instance.outage)
        self._working: Desk | None = None
        """The desk that its thread works at; its incarnation may be over."""
        self._wanted = threading.Event()
        self._stopping = False
        self._interrupted = False
        self.threads = [threading.Thread(target=instance.guard(self._run), name=f"handler {self.kind}", daemon=True)]

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def play(self, wanted: bool) -> None:
        """Handle, or (generating, paused) give back what was not begun and take no more."""
        if self._stopping:
            return
        self._interrupted = not wanted
        if wanted:
            self._wanted.set()
        else:
            self._wanted.clear()
            if self.is_quiet:  # meanwhile
                self._wanted.set()
            self._look_up()

    def quiet(self) -> None:
        """Take no more, finish what is in hand, and end."""
        self._stopping = self._interrupted = True
        self._wanted.set()
        self._look_up()

    @property
    def is_quiet(self) -> bool:
        return self._stopping

    @property
    def is_wanted(self) -> bool:
        return self._wanted.is_set() and not self._stopping

    def overdue(self) -> float | None:
        """For how long a message has been in hand, if that is longer than it may, and nothing else will end it."""
        desk, limit = self._working, self._given_up_after
        if limit is None or desk is None:
            return None
        tray = desk.trays[self.kind]
        took = time.monotonic() - tray.begun_at
        return took if took > limit and (tray.in_hand is not None or tray.in_hands) else None

    def write_off(self) -> bool:
        """What is in hand will not come back: fail it, and end; True if it was so."""
        desk, limit = self._working, self._given_up_after
        return desk is not None and limit is not None and self._claims.write_off(desk, self, limit)

    def give_up(self) -> None:
        """Its thread is lost. Called under the lock of the calls, so that it makes none any more that would count."""
        self.is_lost = self._stopping = self._interrupted = True

    def too_late(self, envelope: bytes) -> bytes:
        """Details of a message that took too long."""
        return self._fates.too_late(self.timeout or 0.0, self._claims.last_desk.attempt(envelope))

    def give_back_rest(self) -> None:
        """For a lane that is lost: record what is known of it, and give back what waits."""
        self._give_back(self._claims.last_desk)

    def leave_the_bell(self) -> None:
        """Wait there on a new connection: the old one may have died in silence, and would be missed only after BLOCK."""
        self._look_up()

    def _look_up(self) -> None:
        """From waiting at the bell, which may take longer than others have time."""
        if self.at_the_bell:
            self._bell.interrupt()

    def hang_up(self, until: float) -> None:
        """Quiet, and the instance has left: leave no connection behind.

        A thread that is still in the user's code is not waited for: it will not come to the bell any more.

        Args:
            until: when to give up (monotonic).
        """
        if self.at_the_bell:
            self._bell.hang_up(self.threads[0], until)
        if not self.at_the_bell:
            self._bell.close()

    def _run(self) -> None:
        try:
            while not self._stopping:
                desk = self._working = self._claims.desk
                if self._wanted.is_set():
                    self._step(desk)
                else:
                    self._rest(desk)
            self._finish()
        except ForeignData:
            self._finish()  # what is done is recorded all the same
            raise
        finally:
            self._bell.close()
            self.is_done.set()

    def _step(self, desk: Desk) -> None:
        """Claim, handle, or wait."""
        raise NotImplementedError

    def _rest(self, desk: Desk) -> None:
        """Not wanted: give back what was not begun, and wait."""
        self._give_back(desk)
        self._bell_patience.ended()
        self._wanted.wait()

    def _finish(self) -> None:
        """The last thing that it does."""
        self._give_back(self._claims.last_desk)

    def _give_back(self, desk: Desk) -> None:
        self._claims.turn(desk, {}, back=[desk.trays[self.kind]])

    def _wait_for_work(self, desk: Desk) -> None:
        """Nothing of this kind is here: wait at the bell, unless there is a hold."""
        if self._is_on_hold(desk) or not self._wait_at_the_bell(desk):
            return
        if self._interrupted or not desk.may_claim(self.kind):
            self._claims.turn(desk, {self.kind: 0}, even_if_empty=True)  # it rings again: the token was another's

    def _is_on_hold(self, desk: Desk) -> bool:
        """Whether there is nothing to do but to wait until the other lanes are done; if so, a moment has passed."""
        if not desk.trays[self.kind].is_empty or desk.may_claim(self.kind):
            return False
        time.sleep(HOLD_LOOK)
        return True

    def _wait_at_the_bell(self, desk: Desk, within: float | None = None) -> bool:
        """Block until there may be work; True if a token was taken.

        Beats ring where there is work and silence, so nothing is asked in vain when the wait ends without a token.

        Args:
            within: seconds after which to go on in any case.
        """
        bell = self._instance.keys.bell(self.kind)
        self.at_the_bell = True  # before it looks whether it is wanted: only those who are there are called away
        try:
            while self.is_wanted and desk.incarnation is self._instance.incarnation:
                token = self._bell.command("BLPOP", bell, BLOCK if within is None else min(BLOCK, within))
                self._bell_patience.well()
                if token is not None:
                    # kill point: a token in hand
                    return True
                if within is not None:
                    break
        except Unavailable as error:
            self.at_the_bell = False
            if not self._bell.take_interruption():
                time.sleep(self._bell_patience.failed(error))
        finally:
            self.at_the_bell = False
        return False
