"""What a key does: state + key -> state, and what is to be done to processes or messages."""

from dataclasses import dataclass, replace

from soloist.monitor.lines import tame
from soloist.monitor.model import NOTICE_FOR, Banner, Child, Phase, State, View, numbers_shown, selection
from soloist.monitor.views import selected as selected_error

PAGE = 10
"""Lines that page up and page down move by."""


@dataclass(frozen=True)
class Start:
    """Start one more."""


@dataclass(frozen=True)
class Stop:
    """Ask a process to stop, in order."""

    pid: int


@dataclass(frozen=True)
class Kill:
    """Pull the plug."""

    pid: int


@dataclass(frozen=True)
class Freeze:
    """SIGSTOP."""

    pid: int


@dataclass(frozen=True)
class Thaw:
    """SIGCONT."""

    pid: int


@dataclass(frozen=True)
class Requeue:
    """Put the message of an error record back."""

    ident: str


@dataclass(frozen=True)
class Quit:
    """End every process that was started here, then the monitor."""

    code: int = 0


@dataclass(frozen=True)
class SwitchTheme:
    """Light or dark."""


Command = Start | Stop | Kill | Freeze | Thaw | Requeue | Quit | SwitchTheme

BACK = ("escape", "backspace")
MOVES = {"up": -1, "down": 1, "pageup": -PAGE, "pagedown": PAGE, "home": -1_000_000, "end": 1_000_000}
INTERRUPTED = 130


def press(state: State, key: str, now: float) -> tuple[State, Command | None]:
    """What follows from a key."""
    if key in ("q", "ctrl+c", "ctrl+q"):
        return replace(state, ending=True), Quit(INTERRUPTED if key == "ctrl+c" else 0)
    if state.ending:
        return state, None
    if key == "t":
        return state, SwitchTheme()
    if key == "?":
        return _opened(state, View.MAIN if state.view is View.HELP else View.HELP), None
    match state.view:
        case View.MAIN:
            return _main(state, key, now)
        case View.LOG:
            return _log(state, key), None
        case View.ERRORS | View.RECORD:
            return _errors(state, key)
        case View.HELP:
            return (_opened(state, View.MAIN) if key in BACK else _scrolled(state, key)), None


def _main(state: State, key: str, now: float) -> tuple[State, Command | None]:
    match key:
        case "e":
            return _opened(state, View.ERRORS), None
        case "l":
            return _opened(state, View.LOG), None
        case "+" | "=":
            return state, Start()
        case "-":
            return _stop(state, now)
        case "k":
            return _kill_generator(state, now)
        case "x":
            return _on_selected(state, now, "x")
        case "f":
            return _on_selected(state, now, "f")
    if key in MOVES:
        return _moved(state, MOVES[key]), None
    return state, None


def _said(state: State, now: float, text: str) -> State:
    return replace(state, banner=Banner(text, now + NOTICE_FOR))


def _stop(state: State, now: float) -> tuple[State, Command | None]:
    """The one that was started last, of those that run."""
    running = [child for child in state.children if child.phase in (Phase.RUNNING, Phase.FROZEN)]
    if not running:
        return _said(state, now, "no process that was started here is left to stop; + starts one"), None
    child = running[-1]
    return _said(state, now, f"{_name(child)} was asked to stop"), Stop(child.pid)


def _kill_generator(state: State, now: float) -> tuple[State, Command | None]:
    seen = state.snapshot
    generator = next((each for each in seen.instances if each.role == "generator"), None) if seen else None
    if generator is None:
        return _said(state, now, "nobody generates at this moment"), None
    child = state.child(generator.number)
    if child is None:
        return _said(state, now, _foreign(state, generator.number)), None
    if child.phase is Phase.ENDED:
        return _said(state, now, f"{_name(child)} is gone already; nobody has taken over yet"), None
    return _said(state, now, f"killed {_name(child)}, the generator"), Kill(child.pid)


def _on_selected(state: State, now: float, key: str) -> tuple[State, Command | None]:
    number = selection(state)
    if not number:
        return _said(state, now, "no instance is there"), None
    child = state.child(number)
    if child is None:
        return _said(state, now, _foreign(state, number)), None
    if child.phase is Phase.ENDED:
        return _said(state, now, f"{_name(child)} is gone already"), None
    if key == "x":
        return _said(state, now, f"killed {_name(child)}"), Kill(child.pid)
    if child.phase is Phase.FROZEN:
        return _said(state, now, f"thawed {_name(child)}"), Thaw(child.pid)
    return _said(state, now, f"froze {_name(child)}; f thaws it"), Freeze(child.pid)


def _name(child: Child) -> str:
    return f"#{child.number} (process {child.pid})" if child.number else f"process {child.pid}"


def _foreign(state: State, number: int) -> str:
    """Why this one cannot be touched, and where it is."""
    known = [*(state.snapshot.instances if state.snapshot else []), *(each.instance for each in state.gone)]
    found = next((each for each in known if each.number == number), None)
    where = f": it is process {found.pid} on {tame(found.host)}" if found else ""
    return f"#{number} was not started here{where}"


def _moved(state: State, by: int) -> State:
    everyone = numbers_shown(state)
    if not everyone:
        return state
    at = everyone.index(selection(state))
    return replace(state, selected=everyone[max(0, min(len(everyone) - 1, at + by))])


def _opened(state: State, view: View) -> State:
    first = state.errors[0].id if state.errors else ""
    return replace(state, view=view, top=0, error_id=first if view is View.ERRORS else state.error_id)


def _log(state: State, key: str) -> State:
    if key == "l" or key in BACK:
        return _opened(state, View.MAIN)
    if key == "end":
        return replace(state, top=0)
    if key in MOVES:  # counted from the end: up is further back
        return replace(state, top=max(0, min(len(state.log) - 1, state.top - MOVES[key])))
    return state


def _errors(state: State, key: str) -> tuple[State, Command | None]:
    in_record = state.view is View.RECORD
    if key == "r" and state.errors:
        return state, Requeue(state.errors[selected_error(state)].id)
    if key == "e" or (key in BACK and not in_record):
        return _opened(state, View.MAIN), None
    if key in (*BACK, "enter"):
        return replace(state, view=View.ERRORS if in_record else View.RECORD, top=0), None
    if in_record and key in ("left", "right"):
        return replace(_at_error(state, -1 if key == "left" else 1), top=0), None
    if in_record:
        return _scrolled(state, key), None
    return (_at_error(state, MOVES[key]) if key in MOVES else state), None


def _at_error(state: State, by: int) -> State:
    if not state.errors:
        return state
    at = max(0, min(len(state.errors) - 1, selected_error(state) + by))
    return replace(state, error_id=state.errors[at].id)


def _scrolled(state: State, key: str) -> State:
    if key not in MOVES:
        return state
    return replace(state, top=max(0, min(100_000, state.top + MOVES[key])))
