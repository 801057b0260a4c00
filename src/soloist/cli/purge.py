"""`purge`: remove the namespace."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from soloist.cli.connection import connects
from soloist.cli.output import harmless, write
from soloist.errors import NamespaceError, UsageError
from soloist.target import Purpose, Target

if TYPE_CHECKING:
    from soloist.store.link import Link

NAMED = 5
"""So many keys that are not ours are called by their names."""


@click.command("purge", short_help="Remove the namespace with all that is in it.")
@click.option("--yes", is_flag=True, help="Yes, remove all of it.")
@click.option("--data", is_flag=True, help="Also what handlers wrote along with their messages (message.commit).")
@connects
def purge(target: Callable[..., Target], yes: bool, data: bool) -> None:
    """Remove the namespace: all messages, errors and totals in it, and whatever else stands under its name.

    What handlers wrote along with their messages stays, unless you say --data. Without --yes it says what would be
    removed. Instances that run join again and begin anew.
    """
    from soloist.store.keys import Keys
    from soloist.store.link import Link
    from soloist.store.scan import keys_of
    from soloist.store.snapshot import purge as remove

    goal = target(purpose=Purpose.REMOVE)
    link, where = Link(goal.server, 60.0), f"namespace {goal.namespace!r} on {goal.where}"
    keys, strangers = Keys(goal.namespace), _strangers(link, goal)
    found = keys_of(link, keys)
    written = sum(map(keys.is_data, found))
    staying = (
        "" if data or not written else f"; what handlers wrote (data:…, {_keys(written)}) stays, --data removes it, too"
    )
    if not yes:
        many = _keys(len(found) - (0 if data else written))
        contents = f"{many} ({_contents(goal)}){strangers}{staying}"
        raise UsageError(f"this would remove {where}: {contents}. Say --yes if you mean it.")
    removed = remove(link, keys, data=data)
    write(f"{where}: {_keys(removed)} removed{strangers}{staying}\n")


def _keys(many: int) -> str:
    return f"{many:,} key{'' if many == 1 else 's'}"


def _contents(goal: Target) -> str:
    from soloist.inspector import Inspector

    try:
        seen = Inspector(goal.server, goal.namespace).snapshot()
    except NamespaceError:
        return "what is in it cannot be read, since not all of it was written by soloist"
    return f"messages not handled: {seen.pending + seen.claimed:,}, errors: {seen.errors:,}, and all totals"


def _strangers(link: "Link", goal: Target) -> str:
    """The keys under the namespace's name that soloist did not write, said in words; empty if there are none."""
    from soloist.store.foreign import keys_not_ours
    from soloist.store.keys import Keys

    found = [harmless(key) for key in keys_not_ours(link, Keys(goal.namespace))]
    if not found:
        return ""
    names = ", ".join(found[:NAMED]) + (", …" if len(found) > NAMED else "")
    return f", also {len(found):,} that soloist did not write: {names}"
