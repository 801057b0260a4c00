"""`pause`, `resume` and `handover`."""

import time
from collections.abc import Callable, Sequence

import click

from soloist.cli.connection import connects, is_empty
from soloist.cli.output import note, write
from soloist.errors import UsageError
from soloist.target import Target

NEGATIVE = 1
PATIENCE = 10.0
"""Seconds for which handover waits for the successor."""

TIMEOUT = 5.0


sources_option = click.option(
    "--source", "sources", metavar="NAME", multiple=True, help="A source instead; repeatable."
)
schedules_option = click.option(
    "--schedule", "schedules", metavar="NAME", multiple=True, help="A schedule; repeatable."
)


@click.command("pause", short_help="Handlers take no more (of some kinds).")
@click.argument("kinds", metavar="[KIND...]", nargs=-1)
@sources_option
@schedules_option
@connects
def pause(target: Callable[[], Target], kinds: Sequence[str], sources: Sequence[str], schedules: Sequence[str]) -> None:
    """Handlers take no more messages of these kinds (of all, if nothing is named). What they hold is finished.

    A source that is paused is not called; the ticks of a schedule that is go by. It stays so, whoever generates, until it is
    resumed.
    """
    _switch(target, kinds, sources, schedules, on=True)


@click.command("resume", short_help="Handlers go on.")
@click.argument("kinds", metavar="[KIND...]", nargs=-1)
@sources_option
@schedules_option
@connects
def resume(
    target: Callable[[], Target], kinds: Sequence[str], sources: Sequence[str], schedules: Sequence[str]
) -> None:
    """Handlers go on with these kinds (with all, if nothing is named). Ticks of the pause are not made up for."""
    _switch(target, kinds, sources, schedules, on=False)


def _switch(
    target: Callable[[], Target], kinds: Sequence[str], sources: Sequence[str], schedules: Sequence[str], *, on: bool
) -> None:
    from soloist.inspector import Inspector
    from soloist.store.agenda import read_agenda
    from soloist.store.control import pause as switch
    from soloist.store.envelope import NAME
    from soloist.store.keys import Keys
    from soloist.store.link import Link

    goal = target()
    seen = Inspector(goal.server, goal.namespace).snapshot()
    if not seen.exists:
        raise UsageError(is_empty(goal) + ".")
    for kind in kinds:
        if kind not in seen.kinds:
            raise UsageError(f"kind {kind!r} is not known here; there are: {', '.join(seen.kinds)}.")
    chosen = list(kinds if kinds or sources or schedules else seen.kinds)
    link, keys = Link(goal.server, TIMEOUT), Keys(goal.namespace)
    for source in sources:
        if not NAME.fullmatch(source):
            raise UsageError(f"{source!r} is no name of a source.")
    known = read_agenda(link, keys).schedules
    for schedule in schedules:
        if schedule not in known:
            raise UsageError(
                f"there is no schedule {schedule!r} here; there are: {', '.join(sorted(known)) or 'none'}."
            )
    others = [*(f"source:{name}" for name in sources), *(f"schedule:{name}" for name in schedules)]
    switch(link, keys, chosen, others, on=on)
    told = [*chosen, *(each.replace(":", " ", 1) for each in others)]
    write(f"{'paused' if on else 'resumed'}: {', '.join(told)}\n")


@click.command("handover", short_help="The generator steps down, a successor takes its part.")
@connects
def handover(target: Callable[[], Target]) -> int:
    """The generator steps down and a successor takes its part. Exit 1 if nobody is in line."""
    from soloist.inspector import Inspector
    from soloist.store.control import handover as ask
    from soloist.store.keys import Keys
    from soloist.store.link import Link

    goal = target()
    inspector = Inspector(goal.server, goal.namespace)
    held = inspector.snapshot().term
    term = held.number if held else 0  # named, so that a late copy of the question does not depose somebody else
    asked = ask(Link(goal.server, TIMEOUT), Keys(goal.namespace), term)
    if asked.outcome in ("VACANT", "NOBODY"):
        note("nobody generates" if asked.outcome == "VACANT" else "nobody is in line: start another instance")
        return NEGATIVE
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        seen = inspector.snapshot()
        if seen.term is not None and seen.term.number > term:
            holder = next((each.number for each in seen.instances if each.role == "generator"), 0)
            write(f"term {seen.term.number}: #{holder} generates now\n")
            return 0
        time.sleep(0.02)
    note(f"term {term} was asked to end {PATIENCE:.0f} s ago and goes on: look at the generator's log")
    return NEGATIVE
