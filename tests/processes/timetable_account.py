"""What became of the ticks of tests/processes/timetable.py: read from Redis, where the faults cannot reach, and judged."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime

from soloist.runtime.drainer import Drainer
from soloist.schedules.due import moment
from soloist.schedules.schedule import Schedule
from soloist.schedules.times import Times
from soloist.settings import Settings
from soloist.store.agenda import Agenda, read_agenda
from soloist.store.envelope import unpack
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server
from tests.processes.timetable import app


@dataclass(frozen=True)
class Run:
    """One run that was completed or failed.

    Attributes:
        published_ms: by the clock of the server.
    """

    schedule: str
    tick: int
    id: str
    published_ms: int

    @property
    def late_ms(self) -> int:
        """From the moment at which it was due to its publication."""
        return self.published_ms - moment(app.jobs[self.schedule], self.tick)

    @property
    def tag(self) -> str:
        """All ids of a term have the same."""
        return self.id.partition("-")[2]


@dataclass(frozen=True)
class Account:
    """The ticks of one schedule between two looks at the agenda.

    Attributes:
        strange: runs of ticks that are none.
    """

    ticks: int
    published: int
    skipped: int
    twice: int
    strange: int

    @property
    def missing(self) -> int:
        return self.ticks - self.published - self.skipped


class Desk:
    """Reads one namespace."""

    def __init__(self, url: str, namespace: str) -> None:
        self._server, self._namespace, self._keys = Server(url), namespace, Keys(namespace)

    def agenda(self) -> Agenda:
        with closing(Link(self._server, timeout=5)) as link:
            return read_agenda(link, self._keys)

    def tag(self) -> str:
        """Of the term that is on."""
        with closing(Link(self._server, timeout=5)) as link:
            return str((link.command("HGET", self._keys.term, "tag") or b"").decode())

    def completed(self) -> list[Run]:
        with closing(Link(self._server, timeout=60)) as link:
            lines = link.command("LRANGE", f"{self._keys.base}data:runs", 0, -1)
        words = [line.decode().split() for line in lines]
        return [Run(name, int(tick), ident, int(published)) for name, tick, ident, published in words]

    def failed(self) -> list[Run]:
        """Taken out of the error store; the key says which tick it is of."""
        found = []
        with Drainer(self._server, self._namespace, Settings()) as drainer:
            for batch in drainer.batches():
                for record in batch:
                    envelope = unpack(record.envelope)
                    name, _, tick = envelope.key.partition("@")
                    tick_ms = round(datetime.fromisoformat(tick).timestamp() * 1000)
                    found.append(Run(name, tick_ms, record.id, envelope.published_at))
                drainer.confirm(batch)
        return found


def accounts(before: Agenda, after: Agenda, runs: Sequence[Run]) -> dict[str, Account]:
    """Of each schedule, its ticks behind the first look, up to the last that was done with at the second."""
    return {name: _account(schedule, before, after, runs) for name, schedule in app.jobs.items()}


def _account(schedule: Schedule, before: Agenda, after: Agenda, runs: Sequence[Run]) -> Account:
    name = schedule.name
    expected = set(_ticks(Times(schedule), before.ticks[name], after.ticks[name]))
    seen = Counter(run.tick for run in runs if run.schedule == name and run.tick > before.ticks[name])
    return Account(
        ticks=len(expected),
        published=len(seen),
        skipped=_skipped(after, name) - _skipped(before, name),
        twice=seen.total() - len(seen),
        strange=len(seen.keys() - expected),
    )


def _ticks(times: Times, behind: int, last: int) -> Iterator[int]:
    for tick in times.all_after(behind):
        if tick > last:
            return
        yield tick


def _skipped(agenda: Agenda, name: str) -> int:
    return int(agenda.runs.get(f"skipped {name}", 0))


def complaints(found: Mapping[str, Account]) -> list[str]:
    """What is wrong, in words; nothing if each tick was published once, or passed over where it may be, and counted."""
    wrong = []
    for name, each in found.items():
        schedule = app.jobs[name]
        may_skip = schedule.missed != "all" or schedule.overlap == "skip"
        if each.twice:
            wrong.append(f"{name}: {each.twice} runs too many")
        if each.strange:
            wrong.append(f"{name}: {each.strange} runs of ticks that are none")
        if each.missing:
            wrong.append(f"{name}: {each.missing} of {each.ticks} ticks are neither published nor counted as skipped")
        if each.skipped and not may_skip:
            wrong.append(f"{name}: {each.skipped} ticks were skipped, though each is to be made up for")
        if not each.ticks:
            wrong.append(f"{name}: it had no tick")
    return wrong
