"""A reader: calls one source while the instance holds the term, and hands its pages to the sender.

Each has a thread of its own, so that a source that is slow holds up no other, and one that hangs can be seen from outside.
"""

import logging
import threading
import time
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING

from soloist.declared import DeclaredSource
from soloist.errors import UsageError
from soloist.runtime.cadence import Cadence
from soloist.runtime.flow import Course
from soloist.runtime.pages import Sheet
from soloist.runtime.played_term import PlayedTerm
from soloist.runtime.sender import Sender
from soloist.runtime.telling import told

if TYPE_CHECKING:
    from soloist.runtime.instance import Instance

PAGE_MOST = 1000
"""How many messages a source is asked for."""

NOTHING_WAIT = 0.05
"""Seconds after which a source that goes as fast as it can is asked again when it had nothing, or failed."""

LONGEST_WAIT = 3600.0
"""Seconds for which a thread waits at a time: Python knows a limit, and a source may have a longer one."""

SAY_FAILING = 10.0
"""Seconds between log lines about a source that fails."""

DONE_WAIT = 0.5
"""Seconds between looks at whether more may be published, when all that was asked for is."""

log = logging.getLogger("soloist")


class Reader:
    """Reads one source, term by term.

    Attributes:
        failing: since when (monotonic) its calls fail, and what was raised last; None: it is well.
        has_timed_out: the last call took longer than it may, and failed or was cancelled.
        called_at: since when (monotonic) its function has been running; None: it is not.
    """

    def __init__(self, instance: "Instance", declared: DeclaredSource, sender: Sender) -> None:
        self.declared = declared
        self.failing: tuple[float, str] | None = None
        self.has_timed_out = False
        self.called_at: float | None = None
        self._said_at = -SAY_FAILING
        self._instance = instance
        self._sender = sender
        self._begun = threading.Condition()
        self._next: PlayedTerm | None = None
        self._playing: PlayedTerm | None = None
        self._stopping = False
        self.thread = threading.Thread(target=instance.guard(self._read), name=f"source {declared.name}", daemon=True)

    @property
    def name(self) -> str:
        return self.declared.name

    @property
    def is_caught(self) -> bool:
        """Whether its function still runs for a term that is over: nobody may call it beside that."""
        term = self._playing
        return self.called_at is not None and term is not None and term.is_over

    @property
    def overdue(self) -> float | None:
        """For how long its function has been running, if that is longer than it may."""
        called_at, timeout = self.called_at, self.declared.timeout
        took = time.monotonic() - called_at if called_at is not None else 0.0
        return took if timeout is not None and took > timeout else None

    def begin(self, term: PlayedTerm) -> None:
        """The instance was elected."""
        with self._begun:
            self.failing, self.has_timed_out = None, False  # what was wrong in an older term proves nothing now
            self._next = term
            self._begun.notify_all()

    def stop(self) -> None:
        """Ask for no more."""
        with self._begun:
            self._stopping = True
            for term in (self._next, self._playing):
                if term is not None:
                    term.end()
            self._begun.notify_all()

    def _read(self) -> None:
        while True:
            with self._begun:
                self._begun.wait_for(lambda: self._next is not None or self._stopping)
                term = self._playing = self._next
                self._next = None
                if self._stopping or term is None:
                    return
            self._read_in(term)

    def _read_in(self, term: PlayedTerm) -> None:
        instance, declared = self._instance, self.declared
        cadence = Cadence(declared.every * 1000, term.ticks.get(self.name), instance.clock.now_ms(), time.monotonic())
        course = Course(declared, term, instance.ctx, instance.loop, instance.settings.max_body)
        not_before = 0.0
        try:
            if not term.wait_until_agenda_is_known():
                return
            while self._wait_until_due(term, cadence, not_before):
                room = self._sender.room(term, PAGE_MOST)
                if not room:
                    not_before = time.monotonic() + DONE_WAIT
                    continue
                sheet = self._call(course, term, room)
                not_before = time.monotonic() + sheet.wait if sheet.wait else 0.0
                if course.is_worth_a_call(sheet):
                    if not self._sender.publish(term, self.name, sheet, cadence.tick):
                        return
                    course.accepted(sheet)
                elif declared.every == 0 or sheet.more:
                    not_before = max(not_before, time.monotonic() + NOTHING_WAIT)
                if not sheet.more:
                    cadence.done(time.monotonic())
        finally:
            self._close(course, term)

    def _wait_until_due(self, term: PlayedTerm, cadence: Cadence, not_before: float) -> bool:
        """False if the term is over. Ticks that pass while it may not come are not made up for."""
        while not term.is_over:
            if term.is_paused(self.name):
                term.wait_until_resumed(self.name)
                not_before = time.monotonic()
                continue
            now = time.monotonic()
            wait = max(cadence.wait(now), not_before - now)
            if wait <= 0:
                if not_before:
                    cadence.skip(now)
                return True
            term.wait_until_over(min(wait, LONGEST_WAIT))
        return False

    def _call(self, course: Course, term: PlayedTerm, room: int) -> Sheet:
        """The next page; an empty one if the user's code raises."""
        called_at = self.called_at = time.monotonic()
        try:
            sheet = course.page(room)
        except BaseException as error:  # noqa: BLE001 - whatever it is, also SystemExit: the next tick comes
            took = time.monotonic() - called_at
            self.has_timed_out = self.declared.timeout is not None and took > self.declared.timeout
            if not (term.is_over and isinstance(error, CancelledError)):  # that is how a stop ends an async one
                self._failed(error)
            return Sheet()
        else:
            self.failing, self.has_timed_out = None, False
            return sheet
        finally:
            self.called_at = None

    def _close(self, course: Course, term: PlayedTerm) -> None:
        """A Python generator is ended where it stands; what it does then may go wrong, too."""
        self.called_at = time.monotonic()
        try:
            course.close()
        except BaseException:  # the user's
            log.exception("source.failed source=%s term=%d; it was being closed", self.name, term.number)
        finally:
            self.called_at = None

    def _failed(self, error: BaseException) -> None:
        now = time.monotonic()
        since = self.failing[0] if self.failing else now
        self.failing = since, told(error)
        if now - self._said_at > SAY_FAILING:
            self._said_at = now
            # What we found wrong ourselves is said in full; where our code was when it found it helps nobody.
            is_ours = isinstance(error, UsageError)
            said, trace = (str(error), None) if is_ours else (told(error), error)
            log.error("source.failed source=%s error=%r; it is called again when due", self.name, said, exc_info=trace)
