"""`schedules list|run|pause|resume|add|remove`: what is published when."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any, get_args

import click

from soloist.cli.connection import connects, is_empty
from soloist.cli.output import harmless, note, write
from soloist.cli.publish import say_if_nobody_handles
from soloist.durations import duration
from soloist.errors import UsageError
from soloist.schedules.schedule import Missed, Overlap
from soloist.target import Purpose, Target

if TYPE_CHECKING:
    from soloist.schedule_book import Schedules, ScheduleSnapshot

TITLES = f"{'next run':<21}{'last run':<21}{'result':<11}{'took':>8}{'failed':>8}{'skipped':>9}"

EPILOG = """\b
Examples:
  soloist schedules
  soloist schedules add nightly --cron "0 3 * * *" --tz Europe/Berlin --kind report
  soloist schedules add poll --every 30 --kind poll --body '{"limit": 100}' --overlap skip
  soloist schedules pause nightly
  soloist schedules run nightly
"""


@click.group("schedules", short_help="What is published when: look, add, pause, run.", epilog=EPILOG)
def schedules() -> None:
    """Schedules: what the generator publishes when, and how the last runs went. Alone: list them.

    Those that the App's code declares are changed there; others are kept in Redis, and added and removed here. The generator
    follows within a heartbeat.
    """


@schedules.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a schedule.")
@connects
def schedules_list(target: Callable[..., Target], as_json: bool) -> None:
    """All schedules: next and last run, last result and how long it took, failures in a row, ticks passed over."""
    found = _book(target, Purpose.LOOK).list()
    if as_json:
        write("".join(json.dumps(asdict(each)) + "\n" for each in found))
        return
    if found:
        names = [(harmless(each.name.encode()), harmless(each.when.encode())) for each in found]
        widths = [max(map(len, column)) + 2 for column in zip(("name", "when"), *names, strict=True)]
        titles = f"{'name':<{widths[0]}}{'when':<{widths[1]}}{TITLES}"
        rows = [
            f"{name:<{widths[0]}}{when:<{widths[1]}}{_row(each)}"
            for (name, when), each in zip(names, found, strict=True)
        ]
        write("\n".join([titles, *rows]) + "\n")
    note(f"{len(found):,} schedule{'' if len(found) == 1 else 's'}")


@schedules.command("run")
@click.argument("name")
@connects
def schedules_run(target: Callable[..., Target], name: str) -> None:
    """Publish a run of it now, whatever its ticks are. Prints the id of the message."""
    write(_book(target, runs=True).run(name) + "\n")


@schedules.command("pause")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@connects
def schedules_pause(target: Callable[..., Target], names: Sequence[str]) -> None:
    """Let their ticks go by. What is published is handled all the same."""
    _book(target).pause(*names)
    write(f"paused: {', '.join(names)}\n")


@schedules.command("resume")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@connects
def schedules_resume(target: Callable[..., Target], names: Sequence[str]) -> None:
    """Go on with the next tick. Those of the pause are not made up for."""
    _book(target).resume(*names)
    write(f"resumed: {', '.join(names)}\n")


@schedules.command("add")
@click.argument("name")
@click.option("--cron", metavar="EXPRESSION", help='"minute hour day month weekday", or with seconds in front.')
@click.option("--every", metavar="SECONDS", type=float, help="Instead: the distance of the ticks.")
@click.option("--kind", metavar="KIND", required=True, help="Of the messages: which handler they are for.")
@click.option("--body", metavar="TEXT", default="", help="Of each message.")
@click.option("--tz", metavar="ZONE", default="UTC", show_default=True, help="In which the expression is read.")
@click.option("--jitter", metavar="SECONDS", type=float, default=0.0, help="A tick is later by so much at most.")
@click.option(
    "--missed", type=click.Choice(get_args(Missed)), default="once", show_default=True, help="Ticks in a gap."
)
@click.option(
    "--overlap",
    type=click.Choice(get_args(Overlap)),
    default="allow",
    show_default=True,
    help="While a run is not over.",
)
@connects
def schedules_add(target: Callable[..., Target], name: str, **said: Any) -> None:
    """Add a schedule, or change the one of this name."""
    is_news = _book(target, handles=said["kind"]).add(name, said.pop("cron"), **said)
    write(f"{name} is scheduled\n" if is_news else f"{name} was scheduled so already\n")


@schedules.command("remove")
@click.argument("name")
@connects
def schedules_remove(target: Callable[..., Target], name: str) -> None:
    """Remove a schedule that was added. Runs that are published go on."""
    _book(target).remove(name)
    write(f"{name} is removed\n")


def _book(
    target: Callable[..., Target], purpose: Purpose = Purpose.CHANGE, handles: str = "", *, runs: bool = False
) -> "Schedules":
    """Those of the namespace.

    Args:
        handles: a kind that somebody should handle.
        runs: a run is wanted: beats of Celery send tasks, which is another thing.
    """
    from soloist.inspector import Inspector
    from soloist.schedule_book import Schedules

    goal = target(purpose=purpose)
    seen = Inspector(goal.server, goal.namespace).snapshot()
    if not seen.exists:
        note(is_empty(goal))
    elif handles:
        say_if_nobody_handles(seen, handles)
    elif runs and seen.instances and not any(each.kinds for each in seen.instances):
        raise UsageError(
            f"the instances in {goal.namespace!r} handle nothing: if they are beats of Celery, send the task with "
            f"`celery call`; a message of ours would wait for ever."
        )
    return Schedules(lambda _: goal, where="soloist schedules add")


def _row(each: "ScheduleSnapshot") -> str:
    took = "" if each.last_seconds is None else duration(each.last_seconds * 1000)
    upcoming = "paused" if each.paused else _time(each.next_run)
    result = f"{each.running} running" if each.running else each.last_result or ""
    return f"{upcoming:<21}{_time(each.last_run):<21}{result:<11}{took:>8}{each.failures:>8,}{each.skipped:>9,}"


def _time(at: float | None) -> str:
    """In the time zone of who looks."""
    return "never" if at is None else datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
