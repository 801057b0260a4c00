"""The model: state + observation -> state. No input, no output, no clock: every time is told.

`at` is monotonic, in seconds; the wall clock (`wall`, seconds since the epoch) is only shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum, auto

from soloist.inspector import InstanceSnapshot, Snapshot
from soloist.message import ErrorRecord
from soloist.monitor.rates import Rates, after
from soloist.monitor.sentences import takeover
from soloist.settings import Settings
from soloist.store.history import Sample
from soloist.store.log import LogEntry

GONE_FOR = 10.0
"""Seconds for which an instance that disappeared is still shown."""
MOST_LOG = 1000
"""Entries of the common log that are kept."""
NEWS_FOR, NOTICE_FOR = 12.0, 5.0
"""Seconds for which a takeover, or the answer to a key, stands above the table."""
STALE_AFTER = 1.5
"""Seconds without an answer after which the server is said to be away."""
BEATS_MISSED = 3
"""An instance that was silent for so many of the slowest heartbeats may be frozen."""


# ---- what is observed --------------------------------------------------------------------------------------------------


class Phase(StrEnum):
    """What is known of a process that was started here."""

    RUNNING = auto()
    FROZEN = auto()
    LEAVING = auto()
    """It was asked to stop."""
    ENDED = auto()


@dataclass(frozen=True)
class Child:
    """A process that was started here.

    Attributes:
        number: that of its instance; 0 before it has joined.
        code: its exit code (negative: the signal), once it has ended.
        last_words: what it said last on stderr.
    """

    pid: int
    number: int = 0
    phase: Phase = Phase.RUNNING
    code: int | None = None
    ended_at: float = 0.0
    last_words: str = ""


@dataclass(frozen=True)
class Seen:
    """The server answered.

    Attributes:
        entries: new ones of the common log.
        history: samples of the past; only with the first answer, and with the first after the server was away.
        errors: the newest error records; None: as before.
    """

    at: float
    wall: float
    snapshot: Snapshot
    entries: Sequence[LogEntry] = ()
    history: Sequence[Sample] = ()
    errors: Sequence[ErrorRecord] | None = None


@dataclass(frozen=True)
class Unanswered:
    """The server did not answer, or refused."""

    at: float
    wall: float
    reason: str


@dataclass(frozen=True)
class Processes:
    """What became of the processes that were started here."""

    at: float
    children: tuple[Child, ...]


@dataclass(frozen=True)
class Notice:
    """The answer to a key."""

    at: float
    text: str


Observation = Seen | Unanswered | Processes | Notice


# ---- what is known -----------------------------------------------------------------------------------------------------


class View(Enum):
    """What fills the screen."""

    MAIN = auto()
    LOG = auto()
    ERRORS = auto()
    RECORD = auto()
    HELP = auto()


@dataclass(frozen=True)
class Banner:
    """The latest news: a takeover, or the answer to a key."""

    text: str
    until: float
    is_takeover: bool = False


@dataclass(frozen=True)
class Gone:
    """An instance that disappeared, as it was last seen."""

    instance: InstanceSnapshot
    at: float


@dataclass(frozen=True)
class Scope:
    """What is watched.

    Attributes:
        where: the server, as it is told to people.
        silent_ms: an instance that was not heard for longer may be frozen.
    """

    namespace: str
    where: str
    silent_ms: int = 2000

    @classmethod
    def of(cls, namespace: str, where: str, settings: Settings) -> "Scope":
        slowest = max(settings.heartbeat, settings.lease / 3)  # an idle handler's, see beat.lua
        return cls(namespace, where, round(BEATS_MISSED * slowest * 1000))


@dataclass(frozen=True)
class State:
    """Everything that is known, and what the person at the keyboard looks at.

    Attributes:
        since: when the monitor was opened.
        seen_at: when the server answered last; seen_wall: the same on the clock on the wall.
        away: why it does not answer; empty if it does.
        selected: number of the instance that was chosen, or minus the process number of one that has not joined; 0: none
            was, see `selection`.
        error_id: the error record that is selected.
        top: how far the log, a record or the help is scrolled; in the log counted from its end.
        ending: the monitor was asked to quit, and waits for its processes.
    """

    scope: Scope
    since: float = 0.0
    snapshot: Snapshot | None = None
    seen_at: float = 0.0
    seen_wall: float = 0.0
    away: str = ""
    children: tuple[Child, ...] = ()
    gone: tuple[Gone, ...] = ()
    log: tuple[LogEntry, ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)
    rates: Rates = field(default_factory=Rates)
    errors: tuple[ErrorRecord, ...] = ()
    banner: Banner | None = None
    view: View = View.MAIN
    selected: int = 0
    error_id: str = ""
    top: int = 0
    ending: bool = False

    def is_away(self, now: float) -> bool:
        """Whether what is shown may be out of date."""
        return bool(self.away) or (self.snapshot is not None and now - self.seen_at > STALE_AFTER)

    def child(self, number: int) -> Child | None:
        """The process started here that plays this instance; for a negative number the process itself."""
        return next((each for each in self.children if number in (each.number or -each.pid, -each.pid)), None)


def observe(state: State, observed: Observation) -> State:
    """What is known after that."""
    if isinstance(observed, Seen):
        return _seen(state, observed)
    if isinstance(observed, Unanswered):
        return replace(state, away=observed.reason or "no answer")
    if isinstance(observed, Processes):
        return _processes(state, observed)
    return replace(state, banner=Banner(observed.text, observed.at + NOTICE_FOR))


def _seen(state: State, seen: Seen) -> State:
    numbers = {
        **state.numbers,
        **{entry.fields["instance"]: int(entry.fields["number"]) for entry in seen.entries if _tells_number(entry)},
        **{each.id: each.number for each in seen.snapshot.instances},
    }
    log = (*state.log, *seen.entries)[-MOST_LOG:]
    is_watching = state.snapshot is not None  # what the first look finds in the log is no news
    state = replace(
        state,
        snapshot=seen.snapshot,
        seen_at=seen.at,
        seen_wall=seen.wall,
        away="",
        gone=_gone(state, seen),
        log=log,
        numbers=dict(list(numbers.items())[-4 * MOST_LOG :]),
        rates=after(state.rates, seen.at, seen.snapshot, seen.history),
        errors=state.errors if seen.errors is None else tuple(seen.errors),
    )
    return _with_news(state, seen) if is_watching else state


def _tells_number(entry: LogEntry) -> bool:
    return "instance" in entry.fields and entry.fields.get("number", "").isdigit()


def _gone(state: State, seen: Seen) -> tuple[Gone, ...]:
    present = {each.number for each in seen.snapshot.instances}
    alive = {child.number for child in state.children if child.phase is not Phase.ENDED}
    before = state.snapshot.instances if state.snapshot else []
    known = {each.instance.number for each in state.gone}
    news = [Gone(each, seen.at) for each in before if each.number not in present | known]
    return tuple(
        each
        for each in (*state.gone, *news)
        if each.instance.number not in present
        # One of our own that lives is shown for as long as it does: it can be thawed.
        and (seen.at - each.at < GONE_FOR or each.instance.number in alive)
    )


def _with_news(state: State, seen: Seen) -> State:
    """The latest takeover is put above the table."""
    for entry in reversed(seen.entries):
        text = takeover(entry, state.numbers)
        if text:
            return replace(state, banner=Banner(text, seen.at + NEWS_FOR, is_takeover=True))
    return state


def _processes(state: State, observed: Processes) -> State:
    before = {child.pid: child for child in state.children}
    selected = state.selected
    for child in observed.children:
        if selected == -child.pid and child.number:
            selected = child.number  # it has joined
    state = replace(state, children=observed.children, selected=selected)
    for child in observed.children:
        known = before.get(child.pid)
        if child.phase is Phase.ENDED and (known is None or known.phase not in (Phase.ENDED, Phase.LEAVING)):
            text = farewell(child)
            if text:
                state = replace(state, banner=Banner(text, observed.at + 2 * NOTICE_FOR))
    return state


def farewell(child: Child) -> str:
    """What is worth saying of a process that ended by itself; nothing if it was killed, which shows."""
    if child.code is None or child.code <= 0:
        return ""
    who = f"#{child.number}" if child.number else f"process {child.pid}"
    return f"{who} ended with exit code {child.code}" + (f": {child.last_words}" if child.last_words else "")


def selection(state: State) -> int:
    """What is selected: what was chosen; the next one, once that is gone; the first, if nothing was chosen. 0: nothing."""
    everyone = numbers_shown(state)
    if state.selected in everyone or not everyone:
        return state.selected if everyone else 0
    later = [number for number in everyone if number > state.selected > 0]
    return later[0] if later else everyone[-1 if state.selected else 0]


def numbers_shown(state: State) -> list[int]:
    """What the table has a row for, in its order: those that have not joined yet come last, by minus their process."""
    present = {each.number for each in state.snapshot.instances} if state.snapshot else set()
    joined = present | {each.instance.number for each in state.gone} | {each.number for each in state.children} - {0}
    return [*sorted(joined), *(-each.pid for each in state.children if not each.number)]
