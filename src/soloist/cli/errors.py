"""`errors list|show|requeue|delete|export`: look at error records without removing them; put them back; delete them."""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from soloist.cli.connection import connects
from soloist.cli.get_errors import drain, fields, json_option, limit_option
from soloist.cli.numbers import COUNT
from soloist.cli.output import harmless, note, write
from soloist.errors import UsageError
from soloist.target import Purpose, Target

if TYPE_CHECKING:
    from soloist.error_store import ErrorStore

NEGATIVE = 1
LISTED = 20


@click.group("errors", short_help="The error store: look, put back, delete.")
def errors() -> None:
    """The error store: messages that failed, with their reasons."""


@errors.command("drain")
@json_option
@limit_option
@connects
def errors_drain(target: Callable[[], Target], as_json: bool, limit: int | None) -> None:
    """The same as getErrors: print all and remove them."""
    drain(target, as_json, limit)


@errors.command("list")
@json_option
@click.option("--limit", metavar="N", type=COUNT, default=LISTED, show_default=True, help="The newest N.")
@connects
def errors_list(target: Callable[[], Target], as_json: bool, limit: int) -> None:
    """The newest error records, newest first, without removing them."""
    store = _store(target)
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
    record = _store(target).get(ident)
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


@errors.command("requeue")
@click.argument("idents", metavar="[ID...]", nargs=-1)
@all_option
@json_option
@connects
def errors_requeue(target: Callable[[], Target], idents: Sequence[str], everything: bool, as_json: bool) -> int:
    """Put messages back: they wait again as if they had not failed. Exit 1 if one of those named is not there."""
    return _each(target, idents, everything, as_json, "requeued", lambda store, ids: store.requeue(ids))


@errors.command("delete")
@click.argument("idents", metavar="[ID...]", nargs=-1)
@all_option
@json_option
@connects
def errors_delete(target: Callable[[], Target], idents: Sequence[str], everything: bool, as_json: bool) -> int:
    """Remove error records without printing them. Exit 1 if one of those named is not there."""
    return _each(target, idents, everything, as_json, "deleted", lambda store, ids: store.delete(ids))


@errors.command("export")
@json_option
@connects
def errors_export(target: Callable[[], Target], as_json: bool) -> None:  # noqa: ARG001 - it is JSON in any case
    """All error records as JSON lines, oldest first, without removing them."""
    for record in _store(target).oldest():
        write(json.dumps(fields(record)) + "\n")


def _store(target: Callable[..., Target], purpose: Purpose = Purpose.LOOK) -> "ErrorStore":
    from soloist.error_store import ErrorStore

    goal = target(purpose=purpose)
    return ErrorStore(goal.server, goal.namespace)


def _each(
    target: Callable[[], Target],
    idents: Sequence[str],
    everything: bool,
    as_json: bool,
    done: str,
    act: Callable[["ErrorStore", Sequence[str]], int],
) -> int:
    if bool(idents) == everything:
        raise UsageError("name the ids of the records, or say --all; not both, and not neither.")
    store = _store(target, Purpose.CHANGE)
    count = sum(act(store, ids) for ids in (store.ids() if everything else iter([idents])))
    write(json.dumps({done: count}) + "\n" if as_json else f"{count:,} {done}\n")
    return NEGATIVE if not everything and count < len(set(idents)) else 0
