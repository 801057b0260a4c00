"""The scheduler: publishes the ticks of all schedules while the instance holds the term.

What is on the agenda stands in Redis: the schedules, the last tick of each, what is paused. The generator puts there what
its App's code declares, and reads it again whenever a beat tells of another version. A tick is stored in the step that
publishes it, so whoever generates next goes on behind it; one that fell into a gap is for the schedule to decide.
"""

import logging
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from soloist.errors import Unavailable, UsageError
from soloist.runtime.patience import Patience
from soloist.runtime.played_term import PlayedTerm
from soloist.runtime.sender import Outcome, Sender, Tick
from soloist.runtime.ticks import TickSheet
from soloist.schedules.due import Due, due, moment
from soloist.schedules.making import from_json, is_of_code, to_json
from soloist.schedules.schedule import Schedule
from soloist.schedules.times import Times
from soloist.store.agenda import SCHEDULE_SOURCE, Agenda, declare, read_agenda
from soloist.store.link import Link
from soloist.store.replies import Superseded

if TYPE_CHECKING:
    from soloist.runtime.instance import Instance

GRACE = 5.0
"""Seconds by which a tick may be late, and is not missed: as long as a takeover takes, and a bad one. At least two leases."""

LONGEST_WAIT = 1.0
"""Seconds for which it waits at a time: the server's clock may be set meanwhile."""

MOST_BYTES = 2**20
"""Of the ticks of one page: it is one step of the server, which does nothing else meanwhile."""

AGAIN_WAIT = 0.1
"""Seconds after which a tick is offered again that found no room, or a run that is not over."""

log = logging.getLogger("soloist")


class Planned:
    """One schedule, and how far it is.

    Attributes:
        json: as it is stored.
        last: the tick that was done with last.
        waits: its tick was offered, and a run was not over, or there was no room.
    """

    def __init__(self, schedule: Schedule, json: str, last: int) -> None:
        self.schedule = schedule
        self.json = json
        self.times = Times(schedule)
        self.last = last
        self.waits = False
        self.upcoming = self._upcoming()

    def done(self, tick: int) -> None:
        self.last = tick
        self.waits = False
        self.upcoming = self._upcoming()

    def due(self, now_ms: int, grace_ms: int) -> Due | None:
        """What is to be published now. While a tick waits for the end of a run, it is not missed."""
        found = due(self.schedule, self.times, self.last, now_ms, now_ms if self.waits else grace_ms)
        most = 1 if self.schedule.overlap != "allow" else max(1, MOST_BYTES // max(1, len(self.schedule.body)))
        if found is not None and len(found.ticks) > most:
            return Due(found.ticks[:most], found.ticks[most - 1])
        return found

    def _upcoming(self) -> int | None:
        """When the next tick is to be published; None: never."""
        tick = self.times.after(self.last)
        return None if tick is None else moment(self.schedule, tick)


class Scheduler:
    """Publishes ticks, term by term, on a thread of its own.

    Args:
        declared: what the App's code schedules.

    Attributes:
        settled: the version of the agenda, and the moment (ms), up to which all that was due was published, or offered.
    """

    def __init__(self, instance: "Instance", declared: Mapping[str, Schedule], sender: Sender) -> None:
        self._instance = instance
        self._sender = sender
        self._declared = {name: to_json(schedule) for name, schedule in declared.items()}
        self._grace_ms = round(1000 * max(GRACE, 2 * instance.settings.lease))
        self._link = Link(instance.server, instance.settings.call_timeout)
        self._patience = Patience("schedules", instance.outage)
        self._changed = threading.Condition()
        self._next: PlayedTerm | None = None
        self._heard = 0
        """The version of the agenda that a beat told last, and the one that is planned."""
        self._known = -1
        self._stopping = False
        self._woken = False
        self._planned: dict[str, Planned] = {}
        self.settled = (-1, 0)
        self.thread = threading.Thread(target=instance.guard(self._run), name="schedules", daemon=True)

    def begin(self, term: PlayedTerm) -> None:
        """The instance was elected."""
        with self._changed:
            self._next = term
            self._changed.notify_all()

    def heard(self, version: int) -> None:
        """A beat told which version of the agenda there is."""
        if version != self._heard:
            with self._changed:
                self._heard = version
                self._changed.notify_all()

    def look_up(self) -> None:
        """Its clock was set: something may be due."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    @property
    def has_ticks_waiting(self) -> bool:
        """Whether a tick was offered, and a run was not over, or there was no room."""
        return any(plan.waits for plan in self._planned.values())

    def stop(self) -> None:
        """Publish no more."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def _run(self) -> None:
        try:
            while (term := self._wait_for_term()) is not None:
                self._keep(term)
        finally:
            self._link.close()

    def _wait_for_term(self) -> PlayedTerm | None:
        with self._changed:
            self._changed.wait_for(lambda: self._next is not None or self._stopping)
            term, self._next = self._next, None
            return None if self._stopping else term

    def _is_over(self, term: PlayedTerm) -> bool:
        return term.is_over or self._stopping or self._next is not None

    def _keep(self, term: PlayedTerm) -> None:
        self._known, self.settled = -1, (-1, 0)
        self._planned = {}  # what waited in an older term says nothing now
        while not self._is_over(term):
            if self._known != self._heard:
                heard, agenda = self._heard, self._read(term)
                if agenda is None:
                    return
                term.agenda_is(agenda.paused)  # before thousands of schedules are planned: sources wait for it
                self._plan(agenda)
                with self._changed:
                    self._known = agenda.version
                    if self._heard == heard:
                        self._heard = agenda.version  # nobody has told of a newer one meanwhile
            self._woken = False  # before it looks at the clock: who sets that wakes afterwards
            now_ms = self._now_ms()
            wait = self._publish_due(term, now_ms)
            if wait > 0 and not self._is_over(term):
                self.settled = (self._known, now_ms)
            with self._changed:
                self._changed.wait_for(lambda: self._woken or self._is_over(term) or self._known != self._heard, wait)

    # the agenda

    def _read(self, term: PlayedTerm) -> Agenda | None:
        """The whole of it, with what the code declares in place; None if the term is over first."""
        instance = self._instance
        while not self._is_over(term):
            try:
                agenda = read_agenda(self._link, instance.keys)
                if not self._is_declared(agenda):
                    declare(self._link, instance.keys, term.incarnation.id, term.number, self._declared)
                    agenda = read_agenda(self._link, instance.keys)
            except Superseded:
                return None  # the heart finds out, too, and knows what follows
            except Unavailable as error:
                term.wait_until_over(self._patience.failed(error))
            else:
                self._patience.well()
                return agenda
        self._patience.ended()
        return None

    def _is_declared(self, agenda: Agenda) -> bool:
        by_code = {name: json.encode() for name, json in agenda.schedules.items() if is_of_code(json)}
        return by_code == self._declared

    def _plan(self, agenda: Agenda) -> None:
        """What is as it was stays as it is: to find the next tick takes a while, and there may be thousands."""
        planned, plans = dict[str, Planned](), self._instance.part.plans
        for name, json in agenda.schedules.items():
            if SCHEDULE_SOURCE + name in agenda.paused or (plans is not None and not plans(name, agenda.ticks[name])):
                continue
            plan = self._planned.get(name)
            if plan is None or plan.json != json or plan.last != agenda.ticks[name]:
                schedule = _readable(name, json)
                if schedule is None:
                    continue
                plan = Planned(schedule, json, agenda.ticks[name])
            plan.waits = plan.waits or f"waits {name}" in agenda.runs
            planned[name] = plan
        self._planned = planned

    # ticks

    def _publish_due(self, term: PlayedTerm, now_ms: int) -> float:
        """One offer for each schedule that is due; answers how many seconds to wait for the next round.

        Not all ticks of one before the next schedule: one that cannot keep up must not hold up the others, nor the agenda.
        """
        earliest = now_ms + 1000 * LONGEST_WAIT
        for plan in self._planned.values():
            if self._is_over(term) or self._known != self._heard:
                return 0.0
            if plan.upcoming is not None and plan.upcoming <= self._now_ms() and not self._publish_next(term, plan):
                earliest = min(earliest, self._now_ms() + 1000 * AGAIN_WAIT)
            elif plan.upcoming is not None:
                earliest = min(earliest, plan.upcoming)
        return max(0.0, (earliest - self._now_ms()) / 1000)

    def _publish_next(self, term: PlayedTerm, plan: Planned) -> bool:
        """What is due of one schedule; False if it is to be offered again later."""
        found = plan.due(self._now_ms(), self._grace_ms)
        if found is None:
            return False
        sheet, overlap = TickSheet(plan.schedule, found.ticks), plan.schedule.overlap if found.ticks else "allow"
        tick = Tick(found.through, overlap, found.skipped)
        outcome = self._sender.offer(term, SCHEDULE_SOURCE + plan.schedule.name, sheet, tick)
        if outcome is Outcome.ACCEPTED or (outcome is Outcome.BUSY and overlap == "skip"):
            plan.done(found.through)
            return True
        plan.waits = outcome in (Outcome.BUSY, Outcome.FULL)
        return False

    def _now_ms(self) -> int:
        return self._instance.schedule_ms()


def _readable(name: str, json: str) -> Schedule | None:
    """One that is stored; None, and a word in the log, if somebody wrote what we cannot read."""
    reason = ""
    try:
        schedule = from_json(json)
        if schedule.name == name:
            return schedule
        reason = f"it calls itself {schedule.name!r}"
    except UsageError as error:
        reason = str(error)
    log.error("schedule.unreadable schedule=%s reason=%r; it is passed over", name, reason)
    return None
