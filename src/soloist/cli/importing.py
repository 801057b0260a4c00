"""`import`: a namespace out of a file that `export` has written."""

from collections.abc import Callable

import click

from soloist.cli.archive_file import STANDARD, read_twice
from soloist.cli.connection import connects
from soloist.cli.output import harmless, write
from soloist.errors import Unavailable
from soloist.target import Purpose, Target

TIMEOUT = 60.0

EPILOG = """\b
Examples:
  soloist import orders.jsonl --url redis://new:6379
  soloist import orders.jsonl --url redis://new:6379 --namespace orders-2
  gunzip < orders.jsonl.gz | soloist import - --url redis://new:6379
"""


@click.command("import", short_help="Make a namespace of what `export` wrote.", epilog=EPILOG)
@click.argument("file", metavar="FILE")
@connects
def import_file(target: Callable[..., Target], file: str) -> None:
    """Make a namespace of a file that `soloist export` has written; `-`: stdin.

    The namespace must be empty; its name is that of the file unless you say --namespace. All of the file is looked at before
    anything is written. Interrupted, it is completed by running it again; until then nobody can join the namespace.
    """
    from soloist.archive.checking import check, read_header
    from soloist.archive.restoring import import_into
    from soloist.store.archive import AlreadyThere
    from soloist.store.keys import Keys
    from soloist.store.link import Link

    name = "stdin" if file == STANDARD else file
    with read_twice(file) as opened:
        header = read_header(opened, name)
        opened.seek(0)
        checked = check(opened, name)
        opened.seek(0)
        goal = target(purpose=Purpose.REMOVE, default_namespace=header.namespace)
        where = f"namespace {goal.namespace!r} on {goal.where}"
        try:
            import_into(Link(goal.server, TIMEOUT), Keys(goal.namespace), opened, name, checked)
        except AlreadyThere:
            write(f"{where}: this file was imported before; nothing was changed\n")
            return
        except Unavailable as error:
            raise type(error)(f"{error}; the import is not complete: run it again with the same file") from error
    write(
        f"{where}: {header.messages:,} pending messages and {header.errors:,} error records of the App "
        f"{harmless(header.app.encode())!r} imported\n"
    )
