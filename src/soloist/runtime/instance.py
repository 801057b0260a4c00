"""An instance: joins, plays a role, goes quiet, leaves; and is reborn when Redis no longer knows it."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from soloist.app import App
from soloist.errors import Defect, SoloistError, Unavailable
from soloist.events import Events
from soloist.runtime.clock import ServerClock
from soloist.runtime.election import Consequence, consequence
from soloist.runtime.generator import Generator
from soloist.runtime.handler import Handler
from soloist.runtime.heartbeat import Heart
from soloist.runtime.incarnation import Incarnation, introduce
from soloist.runtime.lifespan import Lifespan
from soloist.runtime.loop import Loop
from soloist.runtime.part import Part
from soloist.runtime.patience import Outage, Patience
from soloist.runtime.played_term import PlayedTerm
from soloist.runtime.reporter import Reporter
from soloist.settings import Settings
from soloist.store.control import handover
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.presence import Heard, join, leave
from soloist.store.server import Server

COOL_DOWN = 30.0
"""Seconds for which an instance whose source was in trouble leaves the generator's part to others."""

CLOSING = 1.0
"""Seconds that a lifespan has for its end, if the messages in hand have taken all the time that there is for a stop."""

ASK_AGAIN = 1.0
"""Seconds between attempts to leave it to another."""

log = logging.getLogger("soloist")


class Instance:
    """One running instance of an App."""

    def __init__(
        self, app: App, server: Server, namespace: str, settings: Settings, events: Events, part: Part | None = None
    ) -> None:
        self.app = app
        self.server = server
        self.keys = Keys(namespace)
        self.settings = settings
        self.events = events
        self.outage = Outage()
        self.clock = ServerClock()
        self.part = part or Part()
        self.loop = Loop()
        self._lifespan = Lifespan(app.lifespan, self.loop)
        self.ctx: Any = None
        self._control = Link(server, settings.call_timeout)
        self._asking = Link(server, settings.call_timeout)
        self._ask_from = 0.0
        self._unanswered: tuple[PlayedTerm, str] | None = None
        """In which term we asked another to take the part, and why, if nobody knows whether that was heard."""
        self._lock = threading.RLock()
        self._birth = threading.Lock()
        self._term: PlayedTerm | None = None
        self._quiet = False
        self._stands_back_until = 0.0
        self._stop_by: float | None = None
        self._stop_requested = threading.Event()
        self._agenda = 0
        """Its version, as the last beat told it; 0: nobody has scheduled or paused anything yet."""
        self.failure: BaseException | None = None
        self.stuck: str | None = None
        """Why it has to be started anew, if it has."""
        self.instances = 0
        """How many instances the last beat saw."""

    # what the heart asks

    @property
    def played(self) -> int:
        term = self._term
        return term.number if term is not None else 0

    @property
    def may_generate(self) -> bool:
        term = self._term
        resigns = self._quiet or (term is not None and term.given_up)
        willing = self.part.may_generate and not resigns and (self._has_reason or self.app.generator_handles)
        return willing and time.monotonic() >= self._stands_back_until and not self.generator.is_caught

    @property
    def _has_reason(self) -> bool:
        """Whether there is anything to publish. Whoever does not handle while it generates generates for nothing else."""
        return bool(self.app.sources or self.app.jobs or self._agenda)

    @property
    def is_busy(self) -> bool:
        return self.handler.is_busy

    @property
    def is_sound(self) -> bool:
        threads = [] if self._quiet else [*self.generator.threads, *self.handler.threads]
        ended = [thread.name for thread in threads if not thread.is_alive()]
        if ended and not self.is_leaving:
            self._fail(Defect(f"the thread {ended[0]!r} has ended, though nobody stopped it"))
        return not ended

    @property
    def is_leaving(self) -> bool:
        return self._stop_requested.is_set()

    @property
    def is_out_of_time(self) -> bool:
        """Whether stopping has taken as long as it may."""
        return self._stop_by is not None and time.monotonic() >= self._stop_by

    def known(self, incarnation: Incarnation) -> tuple[int, str]:
        return self.handler.known(incarnation)

    def report(self) -> str:
        return self._reporter.text()

    def doubt_connections(self) -> None:
        self.handler.leave_the_bell()

    def schedule_ms(self) -> int:
        """What time it is for schedules."""
        return int((self.part.schedule_clock or self.clock.now_ms)())

    # life

    def start(self) -> None:
        """Join and begin to play. Raises what the first contact says."""
        self.app.check()
        try:
            self.ctx = self._lifespan.enter()
            self.incarnation = self._join(0)
        except BaseException:
            self.end_lifespan()
            self._control.close()
            raise
        # kill point: joined, no heart yet
        self.events.joined(self.incarnation.number, self.incarnation.id)
        self.handler = Handler(self, self.app.handlers)
        self.generator = self._new_generator()
        self.heart = Heart(self, self.guard)
        self._reporter = Reporter(self)
        self.handler.start()
        self.generator.start()
        self._cast()
        self.heart.start()

    def _new_generator(self) -> Generator:
        return Generator(self, self.app.sources, self.app.jobs, self.part.until)

    def wait(self, within: float | None = None) -> bool:
        """Wait until somebody asks it to stop, or it failed; True if so."""
        return self._stop_requested.wait(within)

    def ask_to_stop(self) -> None:
        self._stop_requested.set()

    def stop(self) -> None:
        """Quiet, finish or give back, leave."""
        self._stop_by = time.monotonic() + self.settings.stop_timeout
        self._stop_requested.set()
        if self.failure is None:
            self.events.tell("quiet")
        self.generator.stop(self.settings.call_timeout * 2)
        # kill point: stopping, the last publication known
        self._quiet = True  # not before: a beat that resigns would overtake the last publication
        if self._term is not None:
            self._end_term()
            self.heart.hurry()  # resigns: a successor need not wait for us to finish
        self.handler.stop(max(0.0, self._stop_by - time.monotonic()))
        # kill point: stopping, the last message known
        self.heart.stop()
        with self._birth:
            self.incarnation.over = True
            self._try_to_leave(self.incarnation)
        # kill point: left, still running
        self.events.tell("left")
        self._hang_up(self.settings.call_timeout)
        self.end_lifespan()

    def abandon(self) -> None:
        """Its plug was pulled, as if its process were dead: end its threads without a word. What is in the user's code goes
        on, and counts for nothing; its lifespan is left alone.
        """
        self._quiet = True
        self._stop_by = time.monotonic()
        self._stop_requested.set()
        self._end_term()
        self.generator.stop(0)
        self.handler.stop(0)
        self.heart.stop()
        self.incarnation.over = True
        self._hang_up(self.settings.call_timeout)

    def _hang_up(self, within: float) -> None:
        """Leave no connection to the garbage collector: the process may live on, and the server counts them."""
        self.handler.hang_up(within)
        self.generator.hang_up(within)
        self.heart.hang_up(within)
        self._asking.close()
        self._control.close()

    def end_lifespan(self) -> None:
        self.loop.cancel(self.settings.call_timeout)  # a source that still runs must not meet what is closed
        left = self.settings.stop_timeout if self._stop_by is None else self._stop_by - time.monotonic()
        self._lifespan.leave(max(left, CLOSING))
        self.loop.stop(self.settings.call_timeout)

    def _join(self, number: int) -> Incarnation:
        """Join under a new id each time: a join whose answer was lost is given up, never repeated."""
        patience = Patience("join", self.outage)
        while True:
            who = introduce(self.app.name, tuple(self.app.handlers), number)
            try:
                joined = join(self._control, self.keys, who, self.settings)
            except Unavailable as error:
                if self.is_out_of_time or (number == 0 and not hasattr(self, "incarnation")):
                    raise
                time.sleep(patience.failed(error))
                continue
            patience.well()
            return Incarnation.begin(who, joined)

    def _try_to_leave(self, incarnation: Incarnation) -> None:
        for _ in range(2):
            try:
                leave(self._control, self.keys, incarnation.id, self.settings, incarnation.who.kinds)
                return
            except Unavailable as error:
                log.debug("leave.unknown reason=%r", str(error))

    def be_reborn(self, incarnation: Incarnation, what: str) -> None:
        """Redis does not know this incarnation any more, or no longer as we know ourselves: begin a new one."""
        with self._birth:
            if self.incarnation is not incarnation or incarnation.over:
                return
            incarnation.over = True
            self._end_term()
            self.events.tell("superseded", what=what)
            # kill point: superseded, not left
            self._try_to_leave(incarnation)
            # kill point: left, not reborn
            reborn = self._join(incarnation.number)
            # kill point: reborn, not at work
            self.events.joined(reborn.number, reborn.id)
            self.incarnation = reborn
        self._cast()
        self.heart.hurry()

    # the role

    def heard(self, heard: Heard, incarnation: Incarnation, played: int, sent: float) -> None:
        """Act on a beat's answer."""
        self.instances = heard.instances
        self._agenda = heard.agenda
        self.generator.heard(heard.agenda)
        if heard.instances <= 1:
            self._stands_back_until = 0.0  # nobody is left to leave it to
        self.events.tell_totals()
        term = self._term
        follows = consequence(heard, played, incarnation.highest)
        if follows is Consequence.RENEWED and term is not None:
            term.renewed(sent, self.settings.lease)
            self._leave_it_to_another(term)
        elif follows is Consequence.ADOPT and heard.term is not None and not self._quiet:
            self._begin_term(PlayedTerm(heard.term, incarnation, sent, self.settings.lease))
        elif follows is Consequence.LOSE_TERM and term is not None and term.number == played:
            self.lose_term(term, "beat")
        elif follows is Consequence.STEP_DOWN and term is not None:
            self._asked_to_step_down(term)
        elif follows is Consequence.RESIGNED:
            self._end_term()
            self._cast()
        elif follows is Consequence.BE_REBORN:
            self.be_reborn(incarnation, "beat")
        self._leave_if_stuck()

    def _leave_if_stuck(self) -> None:
        """A thread cannot be ended from outside, and what it may still do must not meet its own next attempt: so the whole
        instance leaves, to be started anew.
        """
        if self.stuck is None and (stuck := self.handler.stuck()) is not None:
            self.stuck = stuck
            log.error("instance.stuck reason=%r; it leaves, to be started anew", stuck)
            self.events.tell("stuck", reason=stuck)
            self.ask_to_stop()

    def _begin_term(self, term: PlayedTerm) -> None:
        with self._lock:
            if term.incarnation.over:
                return
            self._end_term()
            term.incarnation.highest = term.number
            self._term = term
        # kill point: elected, not at work
        self.events.tell("elected", term=term.number, takeover_ms=term.takeover_ms)
        self._cast()
        self.generator.begin(term)

    def lose_term(self, term: PlayedTerm, what: str) -> None:
        """Only the term is over: id and claims stay, go on as a handler."""
        term.end()
        with self._lock:
            if self._term is not term:
                return
            self._term = None
        # kill point: deposed, not a handler yet
        self.events.tell("superseded", what=what, term=term.number)
        self._cast()

    def _leave_it_to_another(self, term: PlayedTerm) -> None:
        """If a source is in trouble here, and somebody is in line: the next beat is asked to hand over."""
        reason = self.generator.unfit
        if reason is None:
            self._unanswered = None
        if reason is None or time.monotonic() < self._ask_from:
            return
        self._ask_from = time.monotonic() + ASK_AGAIN
        try:
            asked = handover(self._asking, self.keys, term.number)
        except Unavailable as error:
            log.debug("handover.unknown reason=%r", str(error))
            self._unanswered = term, reason
            return
        if asked.outcome == "OK":
            self._be_unfit(term, reason)

    def _asked_to_step_down(self, term: PlayedTerm) -> None:
        """By somebody; or by ourselves, and the answer to that was lost."""
        if self._unanswered is not None and self._unanswered[0] is term:
            self._be_unfit(*self._unanswered)
        else:
            self._step_down(term, self.settings.lease)

    def _be_unfit(self, term: PlayedTerm, reason: str) -> None:
        log.error("generator.unfit reason=%r; another instance takes the part", reason)
        self.events.tell("unfit", reason=reason, term=term.number)
        self._step_down(term, COOL_DOWN)

    def _step_down(self, term: PlayedTerm, stands_back: float) -> None:
        """Publish no more, and resign with the next beat; for so many seconds leave the part to others."""
        # kill point: asked to step down
        term.given_up = True
        term.end()
        self._stands_back_until = time.monotonic() + stands_back

    def _end_term(self) -> None:
        with self._lock:
            if self._term is not None:
                self._term.end()
                self._term = None

    def _cast(self) -> None:
        """Give each actor its part in the present role."""
        with self._lock:
            generates = self._term is not None
            self.handler.play(bool(self.app.handlers) and (not generates or self.app.generator_handles))

    def reclaimed(self, victim: str, messages: int) -> None:
        self.events.tell("reclaimed", **{"from": victim, "messages": messages})

    # when something goes wrong

    def guard(self, function: Callable[[], None]) -> Callable[[], None]:
        """An exception in a thread ends the instance, not the thread alone."""

        def guarded() -> None:
            try:
                function()
            except BaseException as error:  # noqa: BLE001 - whatever ends the thread must end the instance
                self._fail(error)

        return guarded

    def _fail(self, error: BaseException) -> None:
        if self.failure is None:
            self.failure = error if isinstance(error, SoloistError) else Defect(f"{type(error).__name__}: {error}")
            self.failure.__cause__ = None if self.failure is error else error
        self._stop_requested.set()
