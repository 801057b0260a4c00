"""`purge`: remove the namespace."""

from collections.abc import Callable

import click

from soloist.cli.connection import Target, connects
from soloist.errors import UsageError


@click.command("purge", short_help="Remove the namespace with all that is in it.")
@click.option("--yes", is_flag=True, help="Yes, remove all of it.")
@connects
def purge(target: Callable[[], Target], yes: bool) -> None:
    """Remove the namespace: all messages, errors and totals in it.

    Instances that run join again and begin anew.
    """
    from soloist.inspector import Inspector
    from soloist.store.keys import Keys
    from soloist.store.link import Link
    from soloist.store.snapshot import purge as remove

    goal = target()
    if not yes:
        seen = Inspector(goal.server, goal.namespace).snapshot()
        raise UsageError(
            f"this would remove namespace {goal.namespace!r} on {goal.where}: messages not "
            f"handled: {seen.pending + seen.claimed:,}, errors: {seen.errors:,}, and all totals. Say --yes if you mean it."
        )
    removed = remove(Link(goal.server, 60.0), Keys(goal.namespace))
    click.echo(f"namespace {goal.namespace!r} on {goal.where}: {removed} keys removed")
