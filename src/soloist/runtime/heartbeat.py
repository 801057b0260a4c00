"""The heart: beats on its own thread and connection, and acts on what it hears.

It beats only while the threads that it speaks for are alive: an instance whose handler has died must not look well.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

from soloist.errors import Unavailable
from soloist.runtime.clock import ServerClock
from soloist.runtime.incarnation import Incarnation, new_tag
from soloist.runtime.last_will import LastWill
from soloist.runtime.notes import Notes
from soloist.runtime.patience import Outage, Patience
from soloist.settings import Settings
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.presence import Heard, beat, reclaim
from soloist.store.replies import Superseded
from soloist.store.server import Server

LATE = 0.5
"""Seconds after which a beat is late: something held the interpreter lock, or the machine has too much to do."""

Guard = Callable[[Callable[[], None]], Callable[[], None]]
"""Wraps the main function of a thread: an exception ends the instance instead of the thread alone."""


class Body(Protocol):
    """Whom a heart beats for: an instance, or a drainer."""

    server: Server
    keys: Keys
    settings: Settings
    outage: Outage
    clock: ServerClock
    incarnation: Incarnation

    @property
    def played(self) -> int:
        """The term that it plays, 0 for none."""

    @property
    def may_generate(self) -> bool: ...

    @property
    def is_busy(self) -> bool: ...

    @property
    def is_sound(self) -> bool:
        """Whether all that the heart speaks for is alive."""

    def known(self, incarnation: Incarnation, /) -> tuple[int, str]:
        """Turn and stamp of the last `next` of this incarnation that was answered; turn 0: none was."""

    def heard(self, heard: Heard, incarnation: Incarnation, played: int, sent: float, /) -> None:
        """Act on a beat's answer."""

    def report(self) -> str:
        """What it says of itself; empty if all is well."""

    def doubt_connections(self) -> None:
        """A beat was not answered: connections on which nothing is sent may be dead as well."""

    def reclaimed(self, victim: str, messages: int) -> None: ...

    def be_reborn(self, incarnation: Incarnation, what: str) -> None: ...


class Heart:
    """Beats, and keeps the last will."""

    def __init__(self, body: Body, guard: Guard) -> None:
        self._body = body
        self._link = Link(body.server, body.settings.call_timeout)
        self._patience = Patience("heart", body.outage)
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._wait = 0.0
        self._only_soon = False
        """It was woken to beat within a heartbeat, not at once."""
        self._late: deque[tuple[float, float]] = deque()
        self._tried_at = self._heard_at = time.monotonic()
        self._notes = Notes(body, self._link)
        self._will = LastWill(self, body, guard)
        self.threads = [threading.Thread(target=guard(self._run), name="heart", daemon=True)]

    def start(self) -> None:
        self._will.start()
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        """Beat no more. The will is kept until `hang_up`: it would be executed before we have left."""
        self._stopped.set()
        self._wake.set()
        for thread in self.threads:
            if thread is not threading.current_thread():
                thread.join(2 * self._body.settings.call_timeout + 1)

    def hang_up(self, within: float) -> None:
        """Its body has left: leave no connection behind."""
        self._will.hang_up(time.monotonic() + within)

    def hurry(self) -> None:
        """Beat at once."""
        self._only_soon = False
        self._wake.set()

    def hurry_if_slow(self) -> None:
        """We hold messages from now on: let the next beat be no further away than a heartbeat.

        Not at once: who handles one message after another holds none at many of its beats, is told each time that it may
        beat slowly, and would beat for every message.
        """
        if self._wait > self._body.settings.heartbeat:
            self._only_soon = True
            self._wake.set()

    def _run(self) -> None:
        try:
            self._beat_until_stopped()
        finally:
            self._link.close()

    def _beat_until_stopped(self) -> None:
        while not self._stopped.is_set():
            begun = time.monotonic()
            self._wait = self._beat()
            due = begun + self._wait
            if self._wake.wait(self._wait) and self._only_soon:
                self._wake.clear()
                self._only_soon = False
                due = begun + self._body.settings.heartbeat
                self._wait = max(0.0, due - time.monotonic())
                self._wake.wait(self._wait)
            # Within the beat, too: its answer was there, and nobody came to read it.
            late = time.monotonic() - due
            if late > LATE and self._heard_at >= begun:
                self._late.append((time.monotonic(), late))
            self._wake.clear()

    @property
    def silent_for(self) -> float:
        """Seconds since the server last answered a beat."""
        return time.monotonic() - self._heard_at

    @property
    def is_trying(self) -> bool:
        """Whether it has tried to beat lately, answered or not."""
        return time.monotonic() - self._tried_at < self._body.settings.claim_lease

    @property
    def late_ms(self) -> int:
        """How late it beat at worst in the last minute, to a tenth of a second; 0 if it was never really late."""
        while self._late and time.monotonic() - self._late[0][0] > 60:
            self._late.popleft()
        return max((round(late * 10) * 100 for _, late in self._late.copy()), default=0)

    def _beat(self) -> float:
        """One beat; answers how long to wait for the next."""
        body = self._body
        if not body.is_sound:
            return body.settings.heartbeat
        incarnation, played = body.incarnation, body.played
        sent = self._tried_at = time.monotonic()
        try:
            heard = beat(
                self._link,
                body.keys,
                incarnation.who,
                body.settings,
                term=played,
                may_generate=body.may_generate,
                busy=body.is_busy,
                will=self._will.number,
                tag=new_tag(),  # of its own: a late copy of an older beat must not begin a term with a tag that was used
                known=body.known(incarnation),
            )
        except Unavailable as error:
            if not error.refused:
                body.doubt_connections()
            return self._patience.failed(error)
        except Superseded as superseded:
            body.be_reborn(incarnation, superseded.what)
            return 0.0
        self._patience.well()
        self._heard_at = time.monotonic()
        body.clock.heard(sent, time.monotonic(), heard.now_ms)
        body.heard(heard, incarnation, played, sent)
        self._reclaim(incarnation, heard.gone)
        self._notes.take(incarnation, played if heard.role in ("generator", "asked") else 0, heard.now_ms)
        wait = heard.next_ms / 1000
        return min(wait, body.settings.heartbeat) if body.is_busy else wait  # perhaps only since it was answered

    def _reclaim(self, judge: Incarnation, gone: list[str]) -> None:
        """Take back what those hold who are gone. An unknown outcome needs no care: the next beat names them again."""
        body = self._body
        for victim in gone:
            try:
                messages = reclaim(self._link, body.keys, victim, judge.id, body.settings, judge.who.kinds)
            except Unavailable as error:
                self._patience.failed(error)
                return
            if messages is not None:
                body.reclaimed(victim, messages)
