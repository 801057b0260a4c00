"""`errors list|show|requeue|delete|export`: look at error records without removing them; put them back; delete them."""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from soloist.cli.connection import connects
from soloist.cli.error_options import filters
from soloist.cli.get_errors import drain, fields, json_option, limit_option
from soloist.cli.numbers import COUNT
from soloist.cli.output import harmless, note, write
from soloist.error_filter import EVERYTHING, ErrorFilter
from soloist.errors import UsageError
from soloist.target import Purpose, Target

if TYPE_CHECKING:
    from soloist.error_store import ErrorStore

NEGATIVE = 1
LISTED = 20


EPILOG = """\b
Examples:
  soloist errors list --since 15m
  soloist errors list --kind mail --reason timeout
  soloist errors requeue --type ConnectionError --since 2026-11-16T10:43
  soloist errors export --until 2026-11-01 > old.jsonl && soloist errors delete --until 2026-11-01
"""


@click.group("errors", short_help="The error store: look, put back, delete.", epilog=EPILOG)
def errors() -> None:
    """The error store: messages that failed, with their reasons."""


@errors.command("drain")
@json_option
@limit_option
@connects
def errors_drain(target: Callable[[], Target], as_json: bool, limit: int | None) -> None:
    """The same as getErrors: print all and remove them."""
    drain(target, as_json, limit)


@errors.command("list", epilog=EPILOG)
@json_option
@click.option("--limit", metavar="N", type=COUNT, default=LISTED, show_default=True, help="The newest N.")
@filters
@connects
def errors_list(target: Callable[[], Target], only: ErrorFilter, as_json: bool, limit: int) -> None:
    """The newest error records, newest first, without removing them."""
    store = _store(target, only)
    shown = 0
    for record in store.newest(limit):
        shown += 1
        if as_json:
            write(json.dumps(fields(record)) + "\n")
        else:
            why = harmless(f"{record.details.type}: {record.details.reason}".encode())[:40]
            write(f"{record.id:<20}  {record.kind:<12.12}  {why:<40}  {harmless(record.data)[:40]}\n")
    total = store.count()
    note(f"{shown:,} of {total:,} error record{'' if total == 1 else 's'}")


@errors.command("show")
@click.argument("ident", metavar="ID")
@json_option
@connects
def errors_show(target: Callable[[], Target], ident: str, as_json: bool) -> int:
    """One error record in full. Exit 1 if there is none of this id."""
    record = _store(target, EVERYTHING).get(ident)
    if record is None:
        note(f"there is no error record {ident}")
        return NEGATIVE
    told = fields(record)
    if as_json:
        write(json.dumps(told) + "\n")
        return 0
    for name, value in told.items():
        if name == "traceback" and value:
            lines = [harmless(line.encode()) for line in str(value).splitlines()]
            write("traceback:\n" + "\n".join(f"  {line}" for line in lines) + "\n")
        else:
            write(f"{name}: {harmless(str(value).encode(errors='surrogateescape'))}\n")
    return 0


all_option = click.option("--all", "everything", is_flag=True, help="All that are in the error store.")


@errors.command("requeue", epilog=EPILOG)
@click.argument("idents", metavar="[ID...]", nargs=-1)
@all_option
@filters
@json_option
@connects
def errors_requeue(
    target: Callable[[], Target], idents: Sequence[str], everything: bool, only: ErrorFilter, as_json: bool
) -> int:
    """Put messages back: they wait again as if they had not failed. Exit 1 if one of those named is not there."""
    store = _named(target, idents, everything, only)
    return _done("requeued", store.requeue(idents) if idents else store.requeue_all(), idents, as_json)


@errors.command("delete", epilog=EPILOG)
@click.argument("idents", metavar="[ID...]", nargs=-1)
@all_option
@filters
@json_option
@connects
def errors_delete(
    target: Callable[[], Target], idents: Sequence[str], everything: bool, only: ErrorFilter, as_json: bool
) -> int:
    """Remove error records without printing them. Exit 1 if one of those named is not there."""
    store = _named(target, idents, everything, only)
    return _done("deleted", store.delete(idents) if idents else store.delete_all(), idents, as_json)


@errors.command("export", epilog=EPILOG)
@filters
@json_option
@connects
def errors_export(target: Callable[[], Target], only: ErrorFilter, as_json: bool) -> None:  # noqa: ARG001 - it is JSON in any case
    """All error records as JSON lines, oldest first, without removing them."""
    for record in _store(target, only).oldest():
        write(json.dumps(fields(record)) + "\n")


def _store(target: Callable[..., Target], only: ErrorFilter, purpose: Purpose = Purpose.LOOK) -> "ErrorStore":
    from soloist.error_store import ErrorStore

    goal = target(purpose=purpose)
    return ErrorStore(goal.server, goal.namespace, only)


def _named(target: Callable[[], Target], idents: Sequence[str], everything: bool, only: ErrorFilter) -> "ErrorStore":
    """The records that are to be changed, which somebody must have named in one way."""
    is_filtered = not only.lets_all_pass
    if idents and (everything or is_filtered):
        raise UsageError("name the ids of the records, or say which (--kind, …) or --all; not both.")
    if not idents and not everything and not is_filtered:
        raise UsageError(
            "name the ids of the records, say which (--kind, --reason, --type, --since, --until), or --all."
        )
    return _store(target, only, Purpose.CHANGE)


def _done(what: str, count: int, idents: Sequence[str], as_json: bool) -> int:
    write(json.dumps({what: count}) + "\n" if as_json else f"{count:,} {what}\n")
    return NEGATIVE if count < len(set(idents)) else 0
