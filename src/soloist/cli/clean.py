"""`clean`: give back what dead instances left behind."""

import time
from collections.abc import Callable

import click

from soloist.cli.connection import connects, is_empty
from soloist.cli.output import note, write
from soloist.target import Target

WITNESS = 2.0
"""Seconds for which it looks at least: one that has not looked on for a while may judge nobody."""


@click.command("clean", short_help="Give back what dead instances left behind.")
@connects
def clean(target: Callable[[], Target]) -> None:
    """Give back what dead instances left behind, as soon as it may be judged; never touches a live one.

    Running instances do this by themselves; this is for when none is running. Also: --cleanTemp.
    """
    from soloist.inspector import Inspector
    from soloist.runtime.drainer import Drainer
    from soloist.store.guard import EmptyNamespace

    goal = target()
    taken = {"instances": 0, "messages": 0}

    def count(_victim: str, messages: int) -> None:
        taken["instances"] += 1
        taken["messages"] += messages

    try:
        with Drainer(goal.server, goal.namespace, goal.settings, on_reclaimed=count) as drainer:
            inspector = Inspector(goal.server, goal.namespace)
            begun = time.monotonic()
            while time.monotonic() - begun < WITNESS or inspector.silent(goal.settings.lease):
                if drainer.failure is not None:
                    raise drainer.failure
                time.sleep(0.05)
    except EmptyNamespace:
        note(is_empty(goal))
    write(f"{taken['messages']} messages of {taken['instances']} dead instances were given back\n")
