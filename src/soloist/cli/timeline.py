"""`timeline`: what happened, on one page."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from soloist.cli.age import Age
from soloist.cli.connection import connects, is_empty
from soloist.cli.output import note, write
from soloist.cli.report_file import require_writable, save
from soloist.target import Purpose, Target

if TYPE_CHECKING:
    from soloist.inspector import Inspector
    from soloist.store.log import LogEntry
    from soloist.timeline.model import Timeline

DEFAULT_FILE, STDOUT = "timeline.html", "-"

EPILOG = """\b
Examples:
  soloist timeline                                  the last 15 minutes
  soloist timeline --since 2h --out incident.html
  soloist timeline --addr redis.example:6379 --namespace orders --out - | gzip > incident.html.gz
"""


@click.command(
    "timeline", short_help="What happened, as one page: who generated, died, took over; rates.", epilog=EPILOG
)
@click.option(
    "--since",
    metavar="AGE",
    type=Age(),
    default="15m",
    show_default=True,
    help="From so long ago on: 90s, 15m, 2h, 1d.",
)
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True),
    default=DEFAULT_FILE,
    show_default=True,
    help="Where to; what is there is replaced. - for stdout.",
)
@connects
def timeline(target: Callable[..., Target], since: float, out: str) -> None:
    """Write one HTML file that shows what happened: a lane for each instance, its roles as colours, who took over when and
    how long that took, who died, and the rates and the backlog below.

    It is made of the common log (about the last 1,000 transitions) and the history (an hour). It needs no network and no
    script to be read.
    """
    from soloist.inspector import Inspector
    from soloist.timeline.page import page

    goal = target(purpose=Purpose.LOOK)
    inspector = Inspector(goal.server, goal.namespace)
    if not inspector.snapshot().exists:
        click.echo(is_empty(goal), err=True)
        return
    if out != STDOUT:
        require_writable(out)
    found = _read(inspector, goal, since)
    if out == STDOUT:
        write(page(found))
    else:
        save(out, page(found))
    for each in found.notes:
        note(each)
    said = f"{out}: {_contents(found)}"
    note(said) if out == STDOUT else write(said + "\n")


def _read(inspector: "Inspector", goal: Target, since: float) -> "Timeline":
    from soloist.timeline.reading import known_since, timeline_of, window

    ended_ms = inspector.now_ms()  # before the others: whoever comes or goes between them is not taken for missing
    now = inspector.snapshot()
    entries = _whole_log(inspector)
    begun_ms, ended_ms = window(entries, ended_ms, int(since * 1000))
    return timeline_of(
        entries,
        inspector.history(),
        title=f"Timeline of {goal.namespace}",
        begun_ms=begun_ms,
        ended_ms=ended_ms,
        known_since_ms=known_since(entries),
        now=now,
    )


def _whole_log(inspector: "Inspector") -> "list[LogEntry]":
    entries = inspector.log()
    while more := inspector.log(after=entries[-1].id) if entries else []:
        entries += more
    return entries


def _contents(found: "Timeline") -> str:
    from soloist.timeline.summary import instances, marks_of
    from soloist.timeline.words import clock, count

    marks = marks_of(found)
    elections = sum(mark.what == "elected" for mark in marks)
    return (
        f"{clock(found.begun_ms)} to {clock(found.ended_ms)}, {count(instances(found), 'instance')}, "
        f"{count(elections, 'election')}, {count(len(marks), 'transition')}"
    )
