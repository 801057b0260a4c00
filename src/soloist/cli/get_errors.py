"""`getErrors`: print all erroneous messages and remove them."""

import base64
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from soloist.cli.connection import connects, is_empty
from soloist.cli.numbers import COUNT
from soloist.cli.output import harmless, note, write_lines
from soloist.errors import OutputError
from soloist.target import Target

if TYPE_CHECKING:
    from soloist.message import ErrorRecord


def drain(target: Callable[[], Target], as_json: bool, limit: int | None) -> None:
    """Print, flush, then confirm: a record is removed only after it was printed."""
    from soloist.error_store import record_of
    from soloist.runtime.drainer import Drainer
    from soloist.store.guard import EmptyNamespace

    goal = target()
    printed = 0
    try:
        with Drainer(goal.server, goal.namespace, goal.settings) as drainer:
            for batch in drainer.batches(limit):
                # kill point: between drain and print
                taken = write_lines([_line(record_of(record), as_json) for record in batch])
                # kill point: between print and confirm
                drainer.confirm(batch[:taken])
                printed += taken
                if taken < len(batch):
                    break  # the reader has closed the pipe: what it did not read stays
    except EmptyNamespace:
        note(is_empty(goal))
    except OutputError as error:
        raise OutputError(
            f"{error}; {printed:,} were printed and removed, the others are still in the error store"
        ) from None
    note(f"{printed:,} erroneous message{'' if printed == 1 else 's'}")


def _line(record: "ErrorRecord", as_json: bool) -> str:
    return (json.dumps(fields(record)) if as_json else harmless(record.data)) + "\n"


def fields(record: "ErrorRecord") -> dict[str, Any]:
    """A record as `--json` prints it."""
    try:
        body: dict[str, Any] = {"body": record.data.decode()}
    except UnicodeDecodeError:
        body = {"body_base64": base64.b64encode(record.data).decode()}
    details = record.details
    return {
        "id": record.id,
        "key": record.key,
        "kind": record.kind,
        **body,
        "reason": details.reason,
        "type": details.type,
        "traceback": details.traceback,
        "handler": details.handler,
        "attempts": details.attempts,
        "published_at": record.published_at,
        "failed_at": record.failed_at,
    }


json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object per line, with reason and origin.")
limit_option = click.option("--limit", metavar="N", type=COUNT, help="At most so many.")


@click.command("getErrors", short_help="Print all erroneous messages and remove them.")
@json_option
@limit_option
@connects
def get_errors(target: Callable[[], Target], as_json: bool, limit: int | None) -> None:
    """Print all erroneous messages, oldest first, and remove them.

    A record is removed only after it was printed and flushed. Also: get-errors, --getErrors, -getErrors, errors drain.
    """
    drain(target, as_json, limit)
