"""`status`: the snapshot, and whether all is well."""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from soloist.cli.connection import connects, is_empty
from soloist.cli.numbers import COUNT
from soloist.cli.output import is_terminal, note, write
from soloist.errors import UsageError
from soloist.target import Purpose, Target

if TYPE_CHECKING:
    from soloist.inspector import Inspector, Snapshot

NEGATIVE = 1
MAX_ERRORS = 1000

TONES = {"bold": {"bold": True}, "good": {"fg": "green", "bold": True}, "bad": {"fg": "red"}, "dim": {"dim": True}}


@click.command("status", short_help="Who generates, who handles, what waits; is all well?")
@click.option("--json", "as_json", is_flag=True, help="One JSON object (with --watch: one a line).")
@click.option("--check", is_flag=True, help="Exit 1 when the system is not well, and say why and what to do.")
@click.option(
    "--max-errors", metavar="N", type=COUNT, default=MAX_ERRORS, show_default=True, help="--check: more are not well."
)
@click.option("--stacks", "with_stacks", is_flag=True, help="What each handler is doing, and where its code is.")
@click.option(
    "--watch", metavar="[SECONDS]", is_flag=False, flag_value="1", help="Again and again, every second or as given."
)
@connects
def status(
    target: Callable[..., Target],
    as_json: bool,
    check: bool,
    max_errors: int,
    with_stacks: bool,
    watch: str | None,
) -> int:
    """Who generates, who handles, what waits: one atomic read."""
    from soloist.inspector import Inspector

    if check and watch is not None:
        raise UsageError("--check and --watch exclude each other: a check ends with its verdict.")
    every = _seconds(watch)
    goal = target(purpose=Purpose.LOOK)
    inspector = Inspector(goal.server, goal.namespace)
    while True:
        begun = time.monotonic()
        seen = inspector.snapshot()
        text = _text(seen, inspector, goal, as_json=as_json, with_stacks=with_stacks)
        write(redrawn(text) if every is not None and not as_json and is_terminal(sys.stdout) else text)
        if every is None:
            break
        time.sleep(max(0.0, every - (time.monotonic() - begun)))
    return _verdict(seen, inspector, goal, max_errors) if check else 0


def _text(seen: "Snapshot", inspector: "Inspector", goal: Target, *, as_json: bool, with_stacks: bool) -> str:
    from soloist.cli.status_page import RATE_OVER, page, stacks
    from soloist.inspector import to_json

    if as_json:
        return json.dumps(to_json(seen)) + "\n"
    if not seen.exists:
        return is_empty(goal) + "\n"
    text = page(seen, inspector.history(RATE_OVER + 2), style=_style)
    return f"{text}\n{stacks(seen)}" if with_stacks else text


def _style(text: str, tone: str) -> str:
    """Colour, on a terminal that wants it."""
    if not is_terminal(sys.stdout) or os.environ.get("NO_COLOR"):
        return text
    return click.style(text, **TONES[tone])  # type: ignore[arg-type]  # click's own keywords


def _verdict(seen: "Snapshot", inspector: "Inspector", goal: Target, max_errors: int) -> int:
    from soloist.health import findings

    found = findings(seen, inspector.history(), inspector.server(), goal.settings, max_errors)
    for finding in found:
        note(f"{finding.code}: {finding.says}. {finding.remedy}")
    return NEGATIVE if found else 0


def _seconds(watch: str | None) -> float | None:
    if watch is None:
        return None
    try:
        every = float(watch)
    except ValueError:
        every = -1.0
    if not 0 < every <= 3600:
        raise click.BadParameter(f"{watch!r} is not a number of seconds between 0 and 3600.", param_hint="--watch")
    return every


def redrawn(text: str) -> str:
    """A page over the one before it: from the top, each line wiped behind, nothing below."""
    rows = shutil.get_terminal_size().lines
    lines = [line + "\x1b[K" for line in text.splitlines()[: rows - 1]]
    return "\x1b[H" + "\n".join(lines) + "\x1b[J\n"
