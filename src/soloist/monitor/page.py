"""The screen: a pure function of the state, the time and the size of the terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from soloist.durations import duration
from soloist.monitor import charts, table, views
from soloist.monitor.lines import BLANK, Ground, Line, Span, Tone, beside, between, heading, line, tame
from soloist.monitor.model import State, View, selection
from soloist.monitor.sentences import clock

SIDE_BY_SIDE = 130
"""Columns from which on the log and the errors stand beside each other."""
LEAST_LOG, LEAST_ERRORS = 3, 2
"""Lines that the table leaves to the log and to the errors."""

KEYS = {
    View.MAIN: "q quit|k kill generator|f freeze|x kill|+ start|- stop|e errors|l log|? help",
    View.LOG: "↑↓ scroll|end follow|l back|q quit|? help",
    View.ERRORS: "↑↓ select|⏎ whole record|r requeue|e back|q quit|? help",
    View.RECORD: "↑↓ scroll|←→ newer, older|r requeue|esc back|q quit",
    View.HELP: "? back|q quit",
}


@dataclass(frozen=True)
class Page:
    """A whole screen.

    Attributes:
        rows: line of the screen -> what a click there selects.
        keys: column of the footer -> the key that a click there presses.
    """

    lines: list[Line]
    rows: Mapping[int, int] = field(default_factory=dict)
    keys: Mapping[int, str] = field(default_factory=dict)


def page(state: State, now: float, width: int, height: int) -> Page:
    """Exactly `height` lines of exactly `width` columns."""
    foot, keys = footer(state.view, width)
    room = height - 1
    rows: dict[int, int] = {}
    match state.view:
        case View.MAIN:
            body, rows = _main(state, now, width, room)
        case View.LOG:
            body = [_title(state, now, width), *views.whole_log(state, width, room - 1)]
        case View.ERRORS:
            body = [_title(state, now, width), *views.errors(state, width, room - 1)]
        case View.RECORD:
            body = [_title(state, now, width), *views.record(state, width, room - 1)]
        case View.HELP:
            body = [_title(state, now, width), *views.manual(state, width, room - 1)]
    filled = [*body, *[BLANK] * room][:room]
    if state.view is not View.MAIN and (news := _banner(state, now)) != BLANK:
        filled[-1:] = [news]
    return Page([*(each.fitted(width) for each in filled), foot][-height:], rows, keys)


# ---- the main view -----------------------------------------------------------------------------------------------------


def _main(state: State, now: float, width: int, height: int) -> tuple[list[Line], dict[int, int]]:
    top = [_title(state, now, width), _term(state, width), _totals(state, width), _banner(state, now)]
    shown = table.rows(state)
    spare = height - len(top) - 1 - len(shown) - LEAST_LOG - LEAST_ERRORS - 2
    drawn = _charts(state, width, min(6, max(1, (spare - 6) // 3)) if height > 14 else 0)
    room = max(1, height - len(top) - len(drawn) - 1 - _room_below(height))
    titles, lines = table.layout(shown, selection(state), width)
    lines = [each.dimmed() for each in lines] if state.is_away(now) else lines
    first = _first(shown, selection(state), room)
    visible = lines[first : first + room] or [_nobody(state)]
    at = len(top) + len(drawn) + 1
    rows = {at + index: row.key for index, row in enumerate(shown[first : first + room])}
    hidden = f"↑↓ {len(shown)} instances" if len(shown) > room else ""
    upper = [*top, *drawn, titles, *visible]
    return [*upper, *_below(state, width, height - len(upper), hidden)], rows


def _room_below(height: int) -> int:
    """Lines that the log and the errors have in any case, with their headings."""
    if height < 14:
        return 0
    return LEAST_LOG + 1 + (LEAST_ERRORS + 1 if height >= 20 else 0)


def _first(shown: list[table.Row], selected: int, room: int) -> int:
    """The first row that is visible: the selected one is always among them."""
    at = next((index for index, row in enumerate(shown) if row.key == selected), 0)
    return max(0, min(at - room // 2, len(shown) - room))


def _title(state: State, now: float, width: int) -> Line:
    seen = state.snapshot
    app = f", App {tame(seen.app)}" if seen and seen.app and seen.app != state.scope.namespace else ""
    left = line(
        Span(" soloist ", Tone.GENERATOR),
        Span(f" {state.scope.namespace}", Tone.STRONG),
        f" on {state.scope.where}{app}",
    )
    rests = f"paused: {tame(', '.join(seen.rests))}" if seen and seen.rests else ""
    told = clock(state.seen_wall + now - state.seen_at) + " " if state.seen_at else ""
    room = max(0, width - left.width - len(told) - 4)
    right = line(Span(f"{rests[:room]}  " if rests else "", Tone.DOUBT), Span(told, Tone.DIM))
    return between(left, right, width).on(Ground.BAR)


def _term(state: State, width: int) -> Line:
    seen = state.snapshot
    if seen is None:
        return line(Span(" asking the server …", Tone.DIM))
    if not seen.exists:
        return line(Span(" nothing is here yet: + starts an instance", Tone.DIM))
    waiting = [state.numbers[each] for each in seen.line if each in state.numbers]
    successors = line(Span("in line: ", Tone.DIM), ", ".join(f"#{number}" for number in waiting) or "nobody", " ")
    term = seen.term
    if term is None:
        return between(line(Span(" nobody generates", Tone.BAD)), successors, width)
    began = state.seen_wall - term.since_ms / 1000
    who = f"#{state.numbers[term.instance]}" if term.instance in state.numbers else tame(term.instance)
    left = line(
        Span(f" {who} generates", Tone.GENERATOR),
        Span(", ", Tone.DIM),
        f"term {term.number}",
        Span(f" since {clock(began)} ({_age(term.since_ms)})", Tone.DIM),
    )
    return between(left, successors, width)


def _age(ms: int) -> str:
    """Whole seconds up to two minutes: tenths would never be still."""
    return f"{ms // 1000} s" if ms < 120_000 else duration(ms)


def _totals(state: State, width: int) -> Line:
    seen = state.snapshot
    if seen is None:
        return BLANK
    figures = [
        ("published", seen.published, Tone.PLAIN),
        ("pending", seen.pending, Tone.PLAIN),
        ("claimed", seen.claimed, Tone.PLAIN),
        ("completed", seen.completed, Tone.PLAIN),
        ("failed", seen.failed, Tone.BAD if seen.failed else Tone.PLAIN),
    ]
    text = line(" ", *_figures(figures))
    more: list[tuple[str, int | str, Tone]] = [
        ("reclaimed", seen.reclaimed, Tone.PLAIN),
        ("superseded", sum(seen.superseded.values()), Tone.PLAIN),
    ]
    if seen.oldest_pending_ms > 2000:
        more.append(("oldest waits", duration(seen.oldest_pending_ms), Tone.DOUBT))
    extra = line(*_figures(more), " ")
    return between(text, extra, width) if text.width + extra.width + 4 <= width else text.fitted(width)


def _figures(figures: Sequence[tuple[str, int | str, Tone]]) -> list[Span]:
    spans: list[Span] = []
    for name, value, tone in figures:
        told = f"{value:,}" if isinstance(value, int) else value
        spans += [Span("   " if spans else ""), Span(f"{name} ", Tone.DIM), Span(told, tone)]
    return spans


def _banner(state: State, now: float) -> Line:
    """What stands out: the server is away, the monitor ends, somebody took over, the answer to a key."""
    if state.ending:
        left = sum(child.code is None for child in state.children)
        return line(f" ending {left} instance{'' if left == 1 else 's'} …  (q again: at once)", ground=Ground.NOTICE)
    if state.is_away(now):
        since = f" since {clock(state.seen_wall)}" if state.seen_at else ""
        reason = f": {tame(state.away)}" if state.away else ""
        return line(f" server away{since}{reason}", ground=Ground.ALARM)
    banner = state.banner
    if banner is None or now >= banner.until:
        return BLANK
    return line(f" {tame(banner.text)}", ground=Ground.NEWS if banner.is_takeover else Ground.NOTICE)


def _charts(state: State, width: int, height: int) -> list[Line]:
    if height <= 0:
        return []
    pending = state.snapshot.pending if state.snapshot else 0
    size = (width - 2 - 2 * charts.GAP) // 3
    columns = [charts.drawn(chart, state.rates.points, size, height) for chart in charts.charts(state.rates, pending)]
    return [Line((Span(" "), *each.spans)) for each in beside(columns, [size] * 3, charts.GAP)]


def _nobody(state: State) -> Line:
    text = "   no instance is there" if state.snapshot is not None else ""
    return line(Span(text, Tone.DIM))


def _below(state: State, width: int, height: int, hidden: str) -> list[Line]:
    if height < 2:
        return []
    if width >= SIDE_BY_SIDE:
        left = (width - 2) * 11 // 20
        columns = [_log(state, left, height, hidden), _errors(state, width - 2 - left, height)]
        return beside(columns, [left, width - 2 - left], 2)
    if height < LEAST_LOG + LEAST_ERRORS + 2:
        return _log(state, width, height, hidden)
    for_errors = max(LEAST_ERRORS + 1, min(height * 2 // 5, len(state.errors) + 1))
    return [*_log(state, width, height - for_errors, hidden), *_errors(state, width, for_errors)]


def _log(state: State, width: int, height: int, hidden: str) -> list[Line]:
    entries = state.log[-(height - 1) :] if height > 1 else ()
    lines = [views.log_line(entry, state) for entry in entries]
    return [heading("log", width, hidden), *lines, *[BLANK] * (height - 1 - len(lines))]


def _errors(state: State, width: int, height: int) -> list[Line]:
    count = state.snapshot.errors if state.snapshot else 0
    lines = [views.error_line(record) for record in state.errors[: height - 1]]
    if not lines:
        lines = [line(Span(" none rests in the error store", Tone.DIM))]
    more = "e: all of them" if count > height - 1 else ""
    return [heading(f"errors {count:,}", width, more), *lines, *[BLANK] * (height - 1 - len(lines))]


def footer(view: View, width: int) -> tuple[Line, dict[int, str]]:
    """The keys; and where to click for them."""
    words = [each.split(" ", 1) for each in KEYS[view].split("|")]
    needed = 1 + sum(len(key) + 1 + len(says) for key, says in words)
    gap = "  " if needed + 2 * len(words) <= width else " "
    spans, keys, at = [Span(" ")], dict[int, str](), 1
    for key, says in words:
        spans += [Span(key, Tone.KEY), Span(f" {says}{gap}")]
        keys |= dict.fromkeys(range(at, at + len(key) + 1 + len(says)), key)
        at += len(key) + 1 + len(says) + len(gap)
    return Line(tuple(spans), Ground.BAR).fitted(width), keys
