"""The instances of a system: started, stopped, killed, one of them generating."""

import threading

from soloist.app import App
from soloist.errors import UsageError
from soloist.runtime.part import Part
from soloist.store.keys import Keys
from soloist.store.plug import Unplugged
from soloist.store.rehearsal import vouch
from soloist.target import Target
from soloist.testing.clock import HandClock
from soloist.testing.failures import Watch, at_work_for
from soloist.testing.member import Member
from soloist.testing.polls import Polls
from soloist.testing.shared_link import SharedLink
from soloist.testing.waiting import NotEmpty, wait_for

TIMEOUT = 10.0
"""Seconds for which anything is waited for, unless the test says otherwise."""

WITNESS_MS = 1000
"""So long an onlooker must have been there before it may judge by a will (see lua/lib/judge.lua)."""


class Staff:
    """What a system is, as far as its instances go. See System.

    Args:
        app: with the handlers that they have.
        sources: whether they call sources in their own rhythm.
    """

    goal: Target
    keys: Keys
    clock: HandClock
    link: SharedLink

    def __init__(self, app: App, *, sources: bool) -> None:
        self.members: list[Member] = []
        self.watch = Watch()
        self.polls = Polls()
        self.has_rhythm = sources
        self._handling = app
        self._starting = threading.RLock()
        self._is_open = False

    def not_so(self, says: str) -> NotEmpty:
        """With a picture of the system."""
        raise NotImplementedError

    def start(self, instances: int = 1) -> list[Member]:
        """Start more of them; they are there when it comes back."""
        started = []
        for _ in range(instances):
            with self._starting:
                part = Part(
                    schedule_clock=self.clock.for_schedules,
                    plans=self.clock.plans,
                    cadence=None if self.has_rhythm else self.polls.cadence,
                )
                member = Member(self._handling, self.goal, part, self.watch, self._replace_if_stuck)
                member.start()
                self.members.append(member)
                started.append(member)
        if any(member.is_killed for member in self.members):
            self._have_been_there()
        return started

    def stop(self, member: Member) -> None:
        """As SIGTERM does: it finishes what is in hand, and leaves."""
        member.ask_to_stop()
        member.wait()

    def kill(self, member: Member) -> None:
        """As if its plug were pulled: nobody hears of it any more. Another takes its part within half a second.

        Code of yours that runs for it goes on, since a thread cannot be ended, but nothing of it counts: it cannot complete,
        commit or publish any more. Only a handler that kills its own instance (`system.kill(system.here)`) ends right there.
        """
        self._have_been_there()
        is_here = at_work_for.get() is member.plug
        member.kill()
        for each in self.running:
            each.instance.heart.hurry()
        if is_here:
            raise Unplugged("killed here")

    @property
    def running(self) -> list[Member]:
        """Those that neither were stopped or killed nor ended by themselves."""
        return [member for member in self.members if member.is_running]

    @property
    def generator(self) -> Member:
        """The one that generates; waits until there is one, after a kill, say."""
        if not wait_for(lambda: any(member.is_generator for member in self.members), TIMEOUT):
            raise self.not_so(f"nobody generates, after {TIMEOUT:g} s")
        return next(member for member in self.members if member.is_generator)

    @property
    def here(self) -> Member:
        """In a handler: the instance for which it runs."""
        plug = at_work_for.get()
        for member in self.members:
            if member.plug is plug:
                return member
        raise UsageError("system.here is known in a handler, in its own thread or task.")

    def _have_been_there(self) -> None:
        """Onlookers have to be there for a second before they may judge: a test does not wait for that."""
        left = self.running

        def all_vouched_for() -> bool:
            left[:] = [each for each in left if not vouch(self.link, self.keys, each.id, WITNESS_MS)]
            return not left

        wait_for(all_vouched_for, WITNESS_MS / 1000)

    def _replace_if_stuck(self, member: Member) -> None:
        """As `soloist run` begins anew in a fresh process."""
        with self._starting:
            if self._is_open and member.instance.stuck is not None:
                self.start()

    def _begin(self, instances: int) -> None:
        self._is_open = True
        self.start(instances)

    def _end(self) -> None:
        with self._starting:
            self._is_open = False
        for member in self.running:
            member.ask_to_stop()
        for member in self.members:
            member.wait()
            member.end_what_is_left()
