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

    @property
    def _clock(self) -> HandClock:
        return self._system.clock

    def step(
        self, by: float | timedelta, to: datetime | None, wait_until_empty: Callable[[], None] | None, within: float
    ) -> None:
        """See System.step."""
        target = target_ms(self._clock.now_ms, by, to)
        agenda = self._agenda(within)
        self._clock.is_stepping = True
        try:
            while True:
                moments = [next_tick(agenda, self._clock.now_ms), self._next_delayed(), target]
                moment = min(each for each in moments if each is not None)
                self._go_to(moment, agenda, within)
                if wait_until_empty is not None and self._system.running:
                    wait_until_empty()
                agenda = self._agenda(within)
                if moment >= target:
                    break
        finally:
            self._clock.have_come(agenda)
            self._clock.is_stepping = False

    def _agenda(self, within: float) -> Agenda:
        """What is on it. A schedule that is new to us, or went on after a pause, begins now, by our clock."""
        system, clock = self._system, self._clock
        agenda = self._read(within)
        new = [name for name, last in agenda.ticks.items() if not clock.plans(name, last)]
        if new:
            clock.begins(new)
            version = retime(system.link, system.keys, sorted(new), clock.now_ms)
            self._settle(version, 0, within)
            agenda = self._read(within)
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
            for generator in (member.instance.generator for member in system.running if member.is_generator):
                known, published = generator.settled
                if known >= version and published >= moment:
                    return
                if known < version:
                    generator.heard(version)  # a beat would tell it, too, a little later
            if not looks.again():
                raise system.not_so(f"the ticks of {self._clock.now} are not published after {within:g} s")
