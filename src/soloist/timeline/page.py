"""The page: one file, no script, nothing fetched, light or dark as the reader has it."""

from html import escape

from soloist.lab.html import document
from soloist.timeline import told
from soloist.timeline.drawing import drawing
from soloist.timeline.glyphs import fault, glyph
from soloist.timeline.model import Role, Timeline
from soloist.timeline.summary import figures, marks_of
from soloist.timeline.terms import generator_stretches, vacancies
from soloist.timeline.words import clock, day, span, zone

STYLE = """
body { max-width: 84rem; }
.figures { display: flex; flex-wrap: wrap; gap: .5rem 2rem; margin: 1rem 0 1.25rem; padding: 0; list-style: none; }
.figures b { display: block; font-size: 1.35rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.figures li { font-size: .8rem; color: var(--dim); max-width: 11rem; line-height: 1.35; } .figures b { color: var(--ink); }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.1rem; margin: .25rem 0 0; padding: 0; list-style: none;
  font-size: .8rem; color: var(--dim); }
.legend li { display: flex; align-items: center; gap: .4rem; }
.legend .timeline { width: 22px; min-width: 0; height: 14px; margin: 0; }
.note { border-left: 3px solid #e0a020; padding-left: .75rem; max-width: none; }
table.told td { text-align: left; vertical-align: top; } table.told td:first-child { color: var(--dim); white-space: nowrap; padding-right: 1.25rem; }
table.told tr.elected td + td { font-weight: 600; } table.told tr.fault td + td, table.told tr.reclaimed td + td { color: #c4302b; }
table.told tr.failed td + td { color: var(--dim); } table.told tr:target td { background: color-mix(in srgb, var(--one) 18%, transparent); }
.tag { border: 1px solid currentColor; border-radius: 3px; font-size: .7rem; padding: 0 .3rem; }
@media (prefers-color-scheme: dark) { table.told tr.fault td + td, table.told tr.reclaimed td + td { color: #ff8a84; } }
"""


def page(timeline: Timeline, *, intro_html: str = "", sections_html: str = "") -> str:
    """The whole page.

    Args:
        intro_html: below the title, above the drawing: a verdict, for example. As HTML, so escape what is in it.
        sections_html: at the end, the same.
    """
    table = told.rows(marks_of(timeline))
    begun, ended = timeline.begun_ms, timeline.ended_ms
    last = clock(ended) if day(begun) == day(ended) else f"{day(ended)} {clock(ended)}"
    when = f"{day(begun)} {clock(begun)} to {last} ({zone(begun)}), {span(ended - begun)}, by the server's clock"
    body = [
        f'<h1>{escape(timeline.title)}</h1><p class="dim">{when}</p>',
        intro_html,
        _figures(timeline),
        *(f'<p class="note">{escape(note)}</p>' for note in timeline.notes),
        _legend(timeline),
        f'<div class="wide">{drawing(timeline, told.anchors(table))}</div>',
        f"<h2>What happened</h2>{told.as_html(table)}",
        sections_html,
    ]
    return document(timeline.title, "\n".join(part for part in body if part), style=STYLE)


def _figures(timeline: Timeline) -> str:
    items = "".join(f"<li><b>{escape(value)}</b> {escape(what)}</li>" for value, what in figures(timeline))
    return f'<ul class="figures">{items}</ul>'


SIGNS: dict[str, tuple[str, str]] = {
    what: (word, glyph(what, 11, 7))
    for what, word in (
        ("elected", "is the generator now"),
        ("resigned", "resigned, or was asked to"),
        ("joined", "joined"),
        ("left", "left in order"),
        ("reclaimed", "gone: what it held waits again"),
        ("superseded", "came too late, was refused"),
        ("paused", "a kind is paused"),
        ("failed", "messages failed"),
    )
}
COLOURS = {
    Role.GENERATOR: ("generator", "generator"),
    Role.HANDLER: ("handler", "handler"),
    Role.SILENT: ("silent", "not heard"),
    Role.FROZEN: ("frozen", "frozen"),
    Role.CUT_OFF: ("cut-off", "cut off"),
}


def _legend(timeline: Timeline) -> str:
    """Only of what is there."""
    roles = {each.role for lane in timeline.lanes for each in lane.stretches}
    marks = marks_of(timeline)
    events = {mark.what for mark in marks if not mark.is_fault} | (
        {"resigned"} if any(m.what == "asked" for m in marks) else set()
    )
    items = [
        (word, f'<rect class="{name}" x="1" y="1" width="20" height="12" rx="2"/>')
        for role, (name, word) in COLOURS.items()
        if role in roles
    ]
    if vacancies(generator_stretches(timeline), timeline.begun_ms):
        items.append(("no generator was heard", '<rect class="vacant" x="8" y="0" width="6" height="14"/>'))
    items += [sign for what, sign in SIGNS.items() if what in events]
    if any(mark.is_fault for mark in marks):
        items.append(("fault", fault(11, 5, 14)))
    drawn = "".join(
        f'<li><svg class="timeline" viewBox="0 0 22 14" aria-hidden="true">{inner}</svg>{escape(word)}</li>'
        for word, inner in items
    )
    return f'<ul class="legend">{drawn}</ul>'
