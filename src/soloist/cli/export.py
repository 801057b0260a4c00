"""`export`: the whole namespace as a file."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from soloist.cli.archive_file import STANDARD, written_whole
from soloist.cli.connection import connects, is_empty
from soloist.cli.output import note
from soloist.errors import UsageError
from soloist.target import Purpose, Target

if TYPE_CHECKING:
    from soloist.store.keys import Keys
    from soloist.store.link import Link

TIMEOUT = 60.0

EPILOG = """\b
Examples:
  soloist export --namespace orders --out orders.jsonl
  soloist export --namespace orders | gzip > orders.jsonl.gz
  soloist export --url redis://old:6379 --namespace orders |
      soloist import - --url redis://new:6379
"""


@click.command("export", short_help="The whole namespace as JSON lines.", epilog=EPILOG)
@click.option("--out", metavar="FILE", default=STANDARD, help="Write it there, and not to stdout.")
@connects
def export(target: Callable[..., Target], out: str) -> None:
    """The whole namespace as JSON lines: messages, errors, cursors, schedules, totals.

    Nobody may be present: stop all instances first (those that were killed are taken out by `soloist clean`). Nothing is
    changed on the server. What handlers wrote along with their messages (data:…) and the log are not in it.
    """
    from soloist.archive import writing
    from soloist.store.guard import EmptyNamespace
    from soloist.store.keys import Keys
    from soloist.store.link import Link

    goal = target(purpose=Purpose.LOOK)
    link, keys = Link(goal.server, TIMEOUT), Keys(goal.namespace)
    try:
        found = writing.look(link, keys)
    except EmptyNamespace:
        raise UsageError(f"{is_empty(goal)}.") from None
    if not writing.adds_up(found):
        note(
            "published is not pending + completed + failed: no import will take this as it is (see `soloist status --check`)"
        )
    with written_whole(out) as put:
        for text in writing.export(link, keys, found):
            put(text)
    note(f"{found.messages:,} pending messages and {found.errors:,} error records exported{_left(link, keys)}")


def _left(link: "Link", keys: "Keys") -> str:
    from soloist.store.scan import keys_of

    data = sum(map(keys.is_data, keys_of(link, keys)))
    return f"; {data:,} key{'' if data == 1 else 's'} that handlers wrote (data:…) stay behind" if data else ""
