"""Time goes by: from one moment at which something is due to the next, so that no tick in between is missed for haste."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from soloist.store.agenda import Agenda, read_agenda
from soloist.store.rehearsal import elapse, retime
from soloist.testing.clock import HandClock, next_tick, target_ms
from soloist.testing.waiting import Looks

if TYPE_CHECKING:
    from soloist.testing.system import System


class Stepper:
    """Steps the clock of a system."""

    def __init__(self, system: "System") -> None:
        self._system = system
        self._known: set[str] = set()
        """Schedules whose first tick was set by our clock. The server sets it by its own."""

    @property
    def _clock(self) -> HandClock:
        return self._system.clock

    def step(
        self, by: float | timedelta, to: datetime | None, wait_until_empty: Callable[[], None] | None, within: float
    ) -> None:
        """See System.step."""
        target = target_ms(self._clock.now_ms, by, to)
        self._begin(within)
        while True:
            agenda = self._agenda(within)
            moments = [next_tick(agenda, self._clock.now_ms), self._next_delayed()]
            upcoming = min(each for each in (*moments, target) if each is not None)
            self._go_to(min(upcoming, target), agenda, within)
            if wait_until_empty is not None and self._system.running:
                wait_until_empty()
            if upcoming >= target:
                return

    def _begin(self, within: float) -> None:
        """At the first step: until now nothing was due."""
        if not self._clock.is_running:
            self._agenda(within)
            self._clock.is_running = True

    def _agenda(self, within: float) -> Agenda:
        """What is on it. The ticks of a schedule that is new to us begin now, by our clock."""
        system = self._system
        agenda = self._read(within)
        new = agenda.schedules.keys() - self._known
        if new:
            version = retime(self._system.link, system.keys, sorted(new), self._clock.now_ms)
            self._known |= new
            self._settle(version, 0, within)
            agenda = self._read(within)
        self._known &= agenda.schedules.keys()
        return agenda

    def _read(self, within: float) -> Agenda:
        """Once the generator has declared what the code schedules."""
        if self._system.running:
            self._settle(0, 0, within)
        return read_agenda(self._system.link, self._system.keys)

    def _next_delayed(self) -> int | None:
        """When the next of the messages that are delayed is due, by our clock."""
        left = self._system.outstanding()
        return self._clock.now_ms + max(1, left.due_ms - left.now_ms) if left.due_ms else None

    def _go_to(self, moment: int, agenda: Agenda, within: float) -> None:
        system, by = self._system, moment - self._clock.now_ms
        if by and system.delayed:
            elapse(self._system.link, system.keys, list(system.outstanding().kinds), by)
        self._clock.now_ms = moment
        for member in system.running:
            member.instance.generator.look_up()
            if by:
                member.instance.heart.hurry()  # it moves what is due by now
        if agenda.schedules:
            self._settle(agenda.version, moment, within)

    def _settle(self, version: int, moment: int, within: float) -> None:
        """Wait until whoever generates has read this version of the agenda, and published all that is due by then."""
        system, looks = self._system, Looks(within)
        while system.running:
            for member in system.running:
                if member.is_generator:
                    member.instance.generator.heard(max(version, member.instance.generator.settled[0]))
                    if member.instance.generator.settled >= (version, moment):
                        return
            if not looks.again():
                raise system.not_so(f"the ticks of {self._clock.now} are not published after {within:g} s")
