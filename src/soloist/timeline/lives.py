"""The life of each instance, as the common log tells it: entry by entry, oldest first."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from soloist.cli.output import harmless
from soloist.inspector import InstanceSnapshot, Snapshot
from soloist.narrative import BECAUSE, NO_NUMBER, numbered, sentence
from soloist.store.log import LogEntry
from soloist.timeline.model import Lane, Mark, Role, Stretch

LATE_MS = 2000
"""One that is present and was not heard for longer is drawn as silent: idle ones beat three times in a lease of 2 s."""

UNHEARD_MS: Mapping[str, int] = {"will": 300, "lease": 10_000}
"""How long a reclaimed one was silent at least, by why it was: for logs that do not tell."""


class Life:
    """One instance: what it was when, up to now."""

    def __init__(self, number: int) -> None:
        self.name = f"#{number}"
        self.ids: list[str] = []
        self.marks: list[Mark] = []
        self.about = ""
        self.heard_of_ms = 0
        """Of the last entry about it."""
        self._stretches: list[Stretch] = []
        self._term = 0

    @property
    def role(self) -> Role | None:
        """What it is now; None: there is no sign of it yet."""
        return self._stretches[-1].role if self._stretches else None

    def plays(self, term: int) -> bool:
        """Whether it is the generator of this term for all that it knows: since then only others may have said otherwise."""
        return self.role in (Role.GENERATOR, Role.SILENT) and term == self._term > 0

    def becomes(self, role: Role, at_ms: int, *, term: int = 0, takeover_ms: int = 0, why: str = "") -> None:
        """From then on it is this; not from before the last change on."""
        if self._stretches:
            at_ms = max(at_ms, self._stretches[-1].begun_ms)
            self._stretches[-1] = replace(self._stretches[-1], ended_ms=at_ms)
        self._stretches.append(Stretch(at_ms, at_ms, role, self.name, term, takeover_ms, why))
        self._term = term or self._term

    def lane(self, begun_ms: int, ended_ms: int) -> Lane | None:
        """What of it lies between these; None if it was never there, or gone all the time."""
        if self._stretches:
            self._stretches[-1] = replace(self._stretches[-1], ended_ms=max(ended_ms, self._stretches[-1].begun_ms))
        inside = [
            replace(each, begun_ms=max(begun_ms, each.begun_ms), ended_ms=min(ended_ms, each.ended_ms))
            for each in self._stretches
            if each.begun_ms < ended_ms and each.ended_ms > begun_ms and each.ended_ms > each.begun_ms
        ]
        marks = tuple(mark for mark in self.marks if begun_ms <= mark.at_ms <= ended_ms)
        if not marks and all(each.role is Role.GONE for each in inside):
            return None
        return Lane(self.name, tuple(self.ids), tuple(inside), marks, self.about)


class Lives:
    """All instances. Feed it the entries, then end it.

    Args:
        entries: all that are known, oldest first; they may begin before what is to be shown.
        now: the system at the end, if somebody looked: so those are seen of whom the log says nothing any more.
    """

    def __init__(self, entries: Sequence[LogEntry], now: Snapshot | None = None) -> None:
        self.lives: dict[int, Life] = {}
        self.common: list[Mark] = []
        """Marks that concern everybody, or an instance that the log does not know."""
        self._present = {each.id: each for each in now.instances} if now else {}
        self._now = now
        self._numbers = _numbers(entries, self._present)
        self._generator: Life | None = None
        self._paused: dict[str, int] = {}
        self._begin(entries)
        for entry in entries:
            self._follow(numbered(entry, self._numbers))

    def number_of(self, ident: str) -> int | None:
        return self._numbers.get(ident)

    def _begin(self, entries: Sequence[LogEntry]) -> None:
        """Those that were there before the first entry: the log does not tell how they came."""
        begun_ms = entries[0].at_ms if entries else 0
        first_events: dict[int | None, str] = {}
        for entry in entries:
            first_events.setdefault(_number(numbered(entry, self._numbers)), entry.event)
        for ident, number in self._numbers.items():
            life = self._life(number)
            life.ids.append(ident)
            if first_events.get(number) != "joined" and life.role is None:
                life.becomes(Role.HANDLER, begun_ms)
        holders = _holders(entries, self._now)
        elected = [_figure(each.fields, "term") for each in entries if each.event == "elected"]
        term = elected[0] - 1 if elected else max(holders, default=0)
        holder = self.lives.get(self._numbers.get(holders.get(term, ""), 0))
        if holder is not None and holder.role is not None:
            holder.becomes(Role.GENERATOR, begun_ms, term=term)
            self._generator = holder

    def _life(self, number: int) -> Life:
        return self.lives.setdefault(number, Life(number))

    def _follow(self, entry: LogEntry) -> None:
        mark = Mark(entry.at_ms, entry.event, harmless(sentence(entry).encode(errors="surrogateescape")))
        number = _number(entry)
        if number is None:
            self._concerns_all(entry, mark)
            return
        life = self._life(number)
        life.marks.append(mark)
        life.heard_of_ms = entry.at_ms
        match entry.event:
            case "joined":
                host, process = (entry.fields.get(name, "?") for name in ("host", "pid"))
                life.about = harmless(f"{host}, process {process}".encode(errors="surrogateescape"))
                life.becomes(Role.HANDLER, entry.at_ms)
            case "elected":
                self._elected(life, entry)
            case "resigned":
                life.becomes(Role.HANDLER, entry.at_ms)
            case "superseded" if life.plays(_figure(entry.fields, "term")):
                life.becomes(Role.HANDLER, entry.at_ms)
            case "reclaimed":
                self._reclaimed(life, entry)
            case "left":
                life.becomes(Role.GONE, entry.at_ms, why="left")

    def _elected(self, life: Life, entry: LogEntry) -> None:
        before, takeover_ms = self._generator, _figure(entry.fields, "takeover_ms")
        if before is not None and before is not life and before.role is Role.GENERATOR:
            before.becomes(Role.SILENT, entry.at_ms - takeover_ms)  # else it had said that it is none any more
        life.becomes(Role.GENERATOR, entry.at_ms, term=_figure(entry.fields, "term"), takeover_ms=takeover_ms)
        self._generator = life

    def _reclaimed(self, life: Life, entry: LogEntry) -> None:
        if life.role in (Role.GENERATOR, Role.HANDLER):
            unheard_ms = UNHEARD_MS.get(entry.fields.get("because", ""), 0)
            life.becomes(Role.SILENT, entry.at_ms - _figure(entry.fields, "heard_ms", unheard_ms))
        life.becomes(Role.GONE, entry.at_ms, why=BECAUSE.get(entry.fields.get("because", ""), ""))

    def _concerns_all(self, entry: LogEntry, mark: Mark) -> None:
        kind = entry.fields.get("kind", "")
        if entry.event == "paused":
            self._paused[kind] = len(self.common)
        elif entry.event == "resumed" and kind in self._paused:
            at = self._paused.pop(kind)
            self.common[at] = replace(self.common[at], ended_ms=entry.at_ms)
        self.common.append(mark)

    def end(self, ended_ms: int) -> None:
        """What somebody saw at the end: who is silent, and who is not there although the log does not say why."""
        if self._now is None:
            return
        for life in self.lives.values():
            seen = next((self._present[ident] for ident in life.ids if ident in self._present), None)
            if life.role not in (Role.GENERATOR, Role.HANDLER):
                continue
            if seen is not None and seen.heard_ms > LATE_MS:
                life.becomes(Role.SILENT, ended_ms - seen.heard_ms)
            elif seen is None:  # its lease is over, and nobody was there who could have reclaimed it
                unheard_ms = self._now.vacant_ms if life.role is Role.GENERATOR else UNHEARD_MS["lease"]
                life.becomes(Role.SILENT, max(life.heard_of_ms, ended_ms - unheard_ms))


def _numbers(entries: Sequence[LogEntry], present: Mapping[str, InstanceSnapshot]) -> dict[str, int]:
    """Id -> number, of all that are known. A refused call of one that was reclaimed tells only its id."""
    known = {each.fields["instance"]: _number(each) for each in entries if "instance" in each.fields and _number(each)}
    return {ident: number for ident, number in known.items() if number} | {
        each.id: each.number for each in present.values()
    }


def _number(entry: LogEntry) -> int | None:
    number = entry.fields.get("number", "0")
    return int(number) if number not in NO_NUMBER and number.isascii() and number.isdigit() else None


def _holders(entries: Sequence[LogEntry], now: Snapshot | None) -> dict[int, str]:
    """Term -> the id of its generator: whoever spoke for a term had been elected for it."""
    speaking = [each for each in entries if "term" in each.fields and "instance" in each.fields]
    told = {_figure(each.fields, "term"): each.fields["instance"] for each in speaking}
    return {**told, **({now.term.number: now.term.instance} if now and now.term else {})}


def _figure(fields: Mapping[str, str], name: str, default: int = 0) -> int:
    value = fields.get(name, "")
    return int(value) if value.isascii() and value.isdigit() else default
