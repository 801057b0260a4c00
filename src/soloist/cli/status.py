"""`status`: the snapshot."""

import json
import shutil
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from soloist.cli.connection import Target, connects, is_empty
from soloist.cli.output import duration, write
from soloist.errors import UsageError

if TYPE_CHECKING:
    from soloist.inspector import Snapshot

NEGATIVE = 1


@click.command("status", short_help="Who generates, who handles, what waits.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object (with --watch: one a line).")
@click.option("--check", is_flag=True, help="Exit 1 when the system is unhealthy, and say why.")
@click.option(
    "--watch", metavar="[SECONDS]", is_flag=False, flag_value="1", help="Again and again, every second or as given."
)
@connects
def status(target: Callable[[], Target], as_json: bool, check: bool, watch: str | None) -> int:
    """Who generates, who handles, what waits: one atomic read."""
    from soloist.inspector import Inspector, to_json

    if check and watch is not None:
        raise UsageError("--check and --watch exclude each other: a check ends with its verdict.")
    every = _seconds(watch)
    goal = target()
    inspector = Inspector(goal.server, goal.namespace)
    while True:
        begun = time.monotonic()
        seen = inspector.snapshot()
        if as_json:
            write(json.dumps(to_json(seen)) + "\n")
        elif not seen.exists:
            write(is_empty(goal) + "\n")
        else:
            write(redrawn(render(seen)) if every is not None and sys.stdout.isatty() else render(seen))
        if every is None:
            break
        time.sleep(max(0.0, every - (time.monotonic() - begun)))
    findings = unhealthy(seen) if check else []
    for finding in findings:
        click.echo(f"unhealthy: {finding}", err=True)
    return NEGATIVE if findings else 0


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
    """A page over the one before it: from the top, each line cut to the width and wiped behind, nothing below."""
    columns, rows = shutil.get_terminal_size()
    lines = [line[: columns - 1] + "\x1b[K" for line in text.splitlines()[: rows - 1]]
    return "\x1b[H" + "\n".join(lines) + "\x1b[J\n"


def unhealthy(seen: "Snapshot") -> list[str]:
    """Why this is not well; empty if it is."""
    findings = []
    if not seen.adds_up:
        findings.append("published is not pending + claimed + completed + failed: messages were lost or doubled")
    if not seen.instances:
        findings.append("no instance is there: start one with `soloist`")
    elif seen.term is None:
        findings.append("no instance generates: a successor should have taken over; look at the instances' logs")
    return findings


def render(seen: "Snapshot") -> str:
    """The snapshot for people, 80 columns."""
    generator = f"term {seen.term.number}, for {duration(seen.term.since_ms)}" if seen.term else "nobody generates"
    lines = [
        f"namespace {seen.namespace}, App {seen.app}: {generator}",
        (
            f"published {seen.published:,} = pending {seen.pending:,} + claimed {seen.claimed:,} "
            f"+ completed {seen.completed:,} + failed {seen.failed:,}"
        ),
        (
            f"errors at rest {seen.errors:,}   reclaimed {seen.reclaimed:,}   "
            f"superseded {sum(seen.superseded.values()):,}   oldest pending {duration(seen.oldest_pending_ms)}"
        ),
        "",
        f"{'':1}{'#':>4}  {'role':<10}{'host':<18}{'pid':>8}{'generated':>11}{'handled':>10}{'errors':>8}{'holds':>6}",
    ]
    for each in seen.instances:
        mark = ">" if each.id in seen.line else " "
        lines.append(
            f"{mark}{each.number:>4}  {each.role:<10}{each.host[:17]:<18}{each.pid:>8}{each.generated:>11,}"
            f"{each.completed + each.failed:>10,}{each.failed:>8,}{each.claimed:>6,}"
        )
    if seen.line:
        lines.append("> in line to generate next")
    paused = [name for name, kind in seen.kinds.items() if kind.paused]
    if paused:
        lines.append(f"paused: {', '.join(paused)}")
    return "\n".join(lines) + "\n"
