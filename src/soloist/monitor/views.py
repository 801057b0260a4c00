"""The views that fill the whole screen: the log, the errors, one record, the help."""

from soloist.message import ErrorRecord
from soloist.monitor.lines import BLANK, Ground, Line, Span, Tone, between, heading, line, tame, wrapped
from soloist.monitor.model import State
from soloist.monitor.sentences import clock, date, sentence
from soloist.store.log import LogEntry

BODY_LINE = 1000
"""Bytes of a body that are looked at for one line."""
BODY_WHOLE = 16_000
"""Bytes of a body that a record is shown with: making 16 MB harmless would take a second."""
TRACEBACK_LINES = 200


def log_line(entry: LogEntry, state: State) -> Line:
    return line(Span(f" {clock(entry.at_ms / 1000)}  ", Tone.DIM), sentence(entry, state.numbers))


def whole_log(state: State, width: int, height: int) -> list[Line]:
    """As much of the common log as fits, `top` entries back from its end."""
    room = height - 1
    back = min(state.top, max(0, len(state.log) - room))
    last = len(state.log) - back
    lines = [log_line(entry, state) for entry in state.log[max(0, last - room) : last]]
    more = f"{back:,} newer below" if back else f"{len(state.log):,} entries"
    return [heading("log", width, more), *lines]


def error_line(record: ErrorRecord) -> Line:
    """One record on one line: when, which message, why, what."""
    details = record.details
    return line(
        Span(f" {clock(record.failed_at)}  ", Tone.DIM),
        Span(f"{tame(record.id)}  "),
        Span(f"{tame(details.reason[:BODY_LINE]) or tame(details.type)}  ", Tone.BAD),
        Span(_text(record.data, BODY_LINE), Tone.DIM),
    )


def _text(data: bytes, most: int) -> str:
    """The beginning of a body; a letter that is cut in half is left out."""
    piece = data[:most]
    if len(data) > most:
        piece = piece.decode(errors="ignore").encode() if _is_text(piece) else piece
    return tame(piece.decode(errors="surrogateescape"))


def _is_text(piece: bytes) -> bool:
    try:
        piece.decode()
    except UnicodeDecodeError as error:
        return error.start > len(piece) - 4
    return True


def errors(state: State, width: int, height: int) -> list[Line]:
    """The newest records, the selected one among them, and its beginning below."""
    count = state.snapshot.errors if state.snapshot else 0
    shown = f"the newest {len(state.errors):,}" if count > len(state.errors) else ""
    head = heading(f"errors {count:,}", width, shown)
    if not state.errors:
        return [head, line(Span(" none rests in the error store", Tone.DIM))]
    below = height // 2
    room = max(1, height - 1 - below)
    at = selected(state)
    first = max(0, min(at - room // 2, len(state.errors) - room))
    lines = []
    for index, record in enumerate(state.errors[first : first + room], start=first):
        mark = "▸" if index == at else " "
        each = error_line(record)
        lines.append(Line((Span(mark, Tone.KEY), *each.spans), Ground.SELECTED if index == at else Ground.PLAIN))
    lines += [BLANK] * (room - len(lines))
    return [head, *lines, *_record_lines(state.errors[at], state, width)[:below]]


def selected(state: State) -> int:
    """Where the selected record stands among those that are known; the first, if it is not there any more."""
    return next((index for index, record in enumerate(state.errors) if record.id == state.error_id), 0)


def record(state: State, width: int, height: int) -> list[Line]:
    """One record in full, scrolled."""
    if not state.errors:
        return [line(Span(" it is not in the error store any more", Tone.DIM))]
    lines = _record_lines(state.errors[selected(state)], state, width)
    top = min(state.top, max(0, len(lines) - height))
    return lines[top : top + height]


def _record_lines(record: ErrorRecord, state: State, width: int) -> list[Line]:
    details = record.details
    number = f"#{state.numbers[details.handler]}, " if details.handler in state.numbers else ""
    facts = [
        ("key", tame(record.key)),
        ("kind", tame(record.kind)),
        ("reason", tame(details.reason[:BODY_WHOLE])),
        ("type", tame(details.type)),
        ("handler", f"{number}{tame(details.handler)}, attempt {details.attempts}"),
        ("published", date(record.published_at)),
        ("failed", date(record.failed_at)),
    ]
    lines = [heading(f"message {tame(record.id)}", width)]
    for name, value in facts:
        first, *more = wrapped(value, width - 13)
        lines.append(Line((Span(f" {name:<10}  ", Tone.DIM), *first.spans)))
        lines += [Line((Span(" " * 13), *each.spans)) for each in more]
    size = len(record.data)
    whole = f"{size:,} bytes" if size <= BODY_WHOLE else f"the first {BODY_WHOLE:,} bytes of it"
    lines += [between(line(Span(" body", Tone.DIM)), line(Span(f"{whole} ", Tone.DIM)), width)]
    lines += [Line((Span(" "), *each.spans)) for each in wrapped(_text(record.data, BODY_WHOLE), width - 2)]
    if details.traceback:
        lines += [line(Span(" traceback", Tone.DIM))]
        for each in details.traceback.splitlines()[-TRACEBACK_LINES:]:
            lines += [Line((Span(" "), *part.spans)) for part in wrapped(tame(each[:BODY_WHOLE]), width - 2)]
    return lines


MANUAL = """\
One instance generates, all others handle. Those with a • were started here.

q          quit, and end every process that was started here
k          kill the generator (SIGKILL): watch another take over
↑ ↓        select an instance
f          freeze the selected one, or thaw it (SIGSTOP, SIGCONT)
x          kill the selected one (SIGKILL)
+  -       start one more; stop the one that was started last (SIGTERM)
e          the errors: browse, read a whole record, put its message back
l          the log of the whole system
t          light or dark

alive      heard within the last heartbeats
frozen?    present, but silent for longer than a few heartbeats
gone       disappeared within the last 10 s
holding    messages claimed and not completed yet
lease      time until what it holds is taken back, should it stay silent
backlog    messages that wait

Only processes that were started here can be frozen, killed or stopped."""


def manual(state: State, width: int, height: int) -> list[Line]:
    lines = [heading("help", width)]
    for text in MANUAL.splitlines():
        word, rest = text[:11], text[11:]
        is_entry = text[9:11] == "  " and not text.startswith("One")
        lines.append(line(Span(f" {word}", Tone.KEY), rest) if is_entry else line(f" {text}"))
    top = min(state.top, max(0, len(lines) - height))
    return lines[top : top + height]
