"""The numbered `next` calls of one incarnation.

Several threads come here: those that handle, and the one that records what is done while a message takes long. Calls go
strictly one after another, under a lock. A call whose outcome is unknown is repeated unchanged until it is known, or the
incarnation is over.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from soloist.errors import Unavailable
from soloist.runtime.desk import Desk, Tray
from soloist.runtime.patience import Patience
from soloist.settings import Settings
from soloist.store.foreign import in_the_way
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.messages import Claimed, TurnCall, begin_turn
from soloist.store.replies import Superseded

WRITE_OFF = 0.02
"""Seconds for which a call under way is waited for, to write a message off; at the next beat it is tried again."""


class Turns:
    """Makes the calls, one after another. One that was asked for and not answered yet is awaited before the next."""

    def __init__(self, link: Link, keys: Keys, settings: Settings, patience: Patience) -> None:
        self._link = link
        self._keys = keys
        self._settings = settings
        self._patience = patience
        self._lock = threading.Lock()
        self._asked: _Asked | None = None

    @property
    def is_asked(self) -> bool:
        """Whether a call is under way whose answer nobody waits for."""
        return self._asked is not None

    def take(
        self,
        desk: Desk,
        wants: Mapping[str, int],
        *,
        back: Iterable[Tray] = (),
        is_hopeless: Callable[[], bool],
    ) -> tuple[int, int]:
        """Record what is done, give back what waits in some trays, claim; answers what was recorded.

        Raises:
            Superseded: this incarnation is over.
            ForeignData: what comes next in a list is no message. What was done is recorded.
        """
        with self._lock:
            before = self._await_asked(desk, is_hopeless)
            call = desk.collect(wants, back)
            recorded = self._await(_Asked(desk, call, None), is_hopeless)
            return before[0] + recorded[0], before[1] + recorded[1]

    def write_off(
        self, desk: Desk, kind: str, timeout: float, fail: Callable[[bytes], bytes], if_so: Callable[[], None]
    ) -> bool:
        """See Desk.write_off. False also if a call is under way, which may take long: whoever asks has a heart to beat."""
        if not self._lock.acquire(timeout=WRITE_OFF):
            return False
        try:
            is_lost = desk.write_off(kind, timeout, fail)
            if is_lost:
                if_so()
            return is_lost
        finally:
            self._lock.release()

    def hang_up(self) -> None:
        """The incarnation is over, and no other comes: leave no connection behind."""
        self._link.interrupt()
        with self._lock:
            self._link.close()

    def ask(self, desk: Desk, wants: Mapping[str, int]) -> None:
        """Send the next call, which claims so many, and do not wait: there is work to do meanwhile."""
        with self._lock:
            if self._asked is not None or desk.given_up or desk.incarnation.over:
                return
            call = desk.collect(wants)
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
        done = sum(tally.completed for tally in call.kinds.values())
        return done + failed, failed + len(claimed.refused)


class _Asked(NamedTuple):
    """A call, and what waits for its answer; None if it was not sent, or nobody knows."""

    desk: Desk
    call: TurnCall
    answer: Callable[[], Claimed] | None
