"""What a beat has to send in a term: the entries, each with its last run as Redis knows it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from soloist.celery.courier import Courier, Outcome
from soloist.celery.listing import entry_of, listed
from soloist.celery.member import Member
from soloist.celery.ticks import from_ms, to_ms
from soloist.runtime.played_term import PlayedTerm
from soloist.store.agenda import SCHEDULE_SOURCE, Agenda, declare, read_agenda
from soloist.store.sending import Post

GRACE_MS = 5000
"""By which a tick may be late, and is not missed: as long as a takeover takes, and a bad one. At least two leases."""


class Programme:
    """The entries of one term. Read when it begins, and again when the agenda has changed.

    Attributes:
        entries: name to entry; those that are paused are not among them.
        agenda: the version by which they were read.
    """

    def __init__(self, member: Member, courier: Courier, term: PlayedTerm, scheduler: Any) -> None:
        self.term = term
        self.entries: dict[str, Any] = {}
        self.agenda = -1
        self._member, self._courier, self._scheduler = member, courier, scheduler
        self._runs = {_name(source): int(runs) for source, runs in term.cursors.items() if _is_schedule(source)}
        self._unlisted = {_name(source): tick for source, tick in term.ticks.items() if _is_schedule(source)}
        """Last runs of entries of the configuration that cannot be listed."""

    @property
    def is_current(self) -> bool:
        return not self.term.is_over and self.agenda == self._member.agenda

    def announce(self, configured: Mapping[str, Any]) -> bool:
        """Say what the configuration has; False if the term is over."""
        member, term = self._member, self.term
        shown = {name: json for name, entry in configured.items() if (json := listed(entry)) is not None}
        return self._courier.ask(
            term, lambda: declare(self._courier.link, member.keys, term.incarnation.id, term.number, shown)
        )

    def read(self, configured: Mapping[str, Any]) -> bool:
        """Read the agenda; False if the term is over, or the agenda has changed meanwhile."""
        found: list[Agenda] = []
        if not self._courier.ask(self.term, lambda: found.append(read_agenda(self._courier.link, self._member.keys))):
            return False
        agenda = found[-1]
        self.agenda = self._member.agenda = agenda.version
        grace_ms = max(GRACE_MS, 2 * self._member.settings.lease_ms)
        all_of_them = {name: entry_of(name, json, self._scheduler, grace_ms) for name, json in agenda.schedules.items()}
        all_of_them |= configured
        playing = {
            name: entry
            for name, entry in all_of_them.items()
            if entry is not None and SCHEDULE_SOURCE + name not in agenda.paused
        }
        self._runs = {name: runs for name, runs in self._runs.items() if name in all_of_them}
        for name, entry in playing.items():
            entry.total_run_count = self._runs.get(name, 0)
            if name in agenda.schedules:
                entry.last_run_at = self._at(agenda.ticks.get(name) or agenda.now_ms)
            elif not self._begin_unlisted(name, entry, agenda.now_ms):
                return False
        self.entries = playing
        return True

    def sent(self, name: str, last_run_at: datetime, runs: int) -> None:
        """Remember it for the next time that the agenda is read."""
        self._runs[name] = runs
        if name in self._unlisted:
            self._unlisted[name] = to_ms(last_run_at)

    def _begin_unlisted(self, name: str, entry: Any, now_ms: int) -> bool:
        """From its last run on; one that had none counts from now on, whoever sends it in the end."""
        if name not in self._unlisted:
            outcome = self._courier.deliver(self.term, self.agenda, name, now_ms, entry.total_run_count, Post())
            if outcome is not Outcome.SENT:
                self.agenda = -1
                return False
            self._unlisted[name] = now_ms
        entry.last_run_at = self._at(self._unlisted[name])
        return True

    def _at(self, ms: int) -> datetime:
        return from_ms(ms, self._scheduler.now())


def _is_schedule(source: str) -> bool:
    return source.startswith(SCHEDULE_SOURCE)


def _name(source: str) -> str:
    return source.removeprefix(SCHEDULE_SOURCE)
