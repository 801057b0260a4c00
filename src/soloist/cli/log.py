"""`log`: the common log of the whole system."""

import json
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from soloist.cli.age import Age
from soloist.cli.connection import connects, is_empty
from soloist.cli.output import harmless, note, write
from soloist.errors import Unavailable
from soloist.target import Purpose, Target

if TYPE_CHECKING:
    from soloist.inspector import Inspector
    from soloist.store.log import LogEntry

LAST = 50
LOOK = 0.2
"""Seconds between looks at whether there is something new."""


@click.command("log", short_help="What happened: who joined, generated, took over, left.")
@click.option("--follow", is_flag=True, help="Go on with what happens from now on.")
@click.option(
    "--since", metavar="AGE", type=Age(), help="From so long ago on: 90s, 15m, 2h, 1d.  [default: the last 50]"
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@connects
def log(target: Callable[..., Target], follow: bool, since: float | None, as_json: bool) -> None:
    """The common log of all instances, oldest first: one line per transition, by the server's clock.

    Single messages are not in it. It holds about the last 1,000 transitions.
    """
    from soloist.inspector import Inspector

    goal = target(purpose=Purpose.LOOK)
    inspector = Inspector(goal.server, goal.namespace)
    if not follow and not inspector.snapshot().exists:
        click.echo(is_empty(goal), err=True)
        return
    for entry in _entries(inspector, follow, since):
        write(_line(entry, as_json))


def _entries(inspector: "Inspector", follow: bool, since: float | None) -> "Iterator[LogEntry]":
    if since is None:
        entries = inspector.end_of_log(LAST)
    else:
        entries = inspector.log(since_ms=max(0, inspector.now_ms() - int(since * 1000)))
    after, is_away = "", False
    while True:
        yield from entries
        if not entries and not follow:
            return
        if not entries:
            time.sleep(LOOK)
        after = entries[-1].id if entries else after
        try:
            entries = inspector.log(after=after)
        except Unavailable as error:
            if not follow:
                raise
            if not is_away:
                note(f"{error}; trying again until it is back")
            is_away, entries = True, []
        else:
            if is_away:
                note("the server is back")
            is_away = False


def _line(entry: "LogEntry", as_json: bool) -> str:
    from soloist.narrative import sentence

    if as_json:
        return json.dumps({"at": entry.at_ms, "event": entry.event, **entry.fields}) + "\n"
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.at_ms / 1000))
    return f"{at}.{entry.at_ms % 1000:03d}  {harmless(sentence(entry).encode())}\n"
