"""`publish`: messages from the command line, a script, a pipe."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING

import click

from soloist.cli.connection import connects, is_empty
from soloist.cli.numbers import DELAY
from soloist.cli.output import note, write
from soloist.errors import NotPublished, UsageError
from soloist.publishing import PATIENCE, Asked, wanted
from soloist.target import Target

if TYPE_CHECKING:
    from soloist.inspector import Snapshot
    from soloist.producer import Producer

MOST = 2**40
"""Bytes of a body, until it is known how many are allowed."""

AT_ONCE = 1000
"""Lines that are read from a pipe until they are published."""


EPILOG = """\b
Examples:
  soloist publish mail "Hello" --key welcome:ann --unique
  soloist publish report --delay 3600
  cat orders.jsonl | soloist publish order -
"""


@click.command("publish", short_help="Publish messages of a kind.", epilog=EPILOG)
@click.argument("kind")
@click.argument("body", required=False, default="")
@click.option("--key", metavar="KEY", default="", help="What makes it this message and no other; else its id.")
@click.option("--unique", is_flag=True, help="Only if none of this kind and key waits or is being handled.")
@click.option("--delay", metavar="SECONDS", type=DELAY, default=0.0, help="Not handled before so many are over.")
@click.option("--at", metavar="TIME", help="Not handled before: 2026-12-24T18:00:00+01:00.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a message: its id.")
@connects
def publish(
    target: Callable[[], Target],
    kind: str,
    body: str,
    key: str,
    unique: bool,
    delay: float,
    at: str | None,
    as_json: bool,
) -> None:
    """Publish a message with this BODY; with - every line of the standard input is one. Prints their ids.

    Each is published once, whatever becomes of the server's replies.
    """
    asked = Asked(kind, body, key, unique, delay, _moment(at))
    if body == "-" and (key or unique):
        raise UsageError("--key and --unique are of one message; with - every line is one.")
    wanted(asked, MOST, "soloist publish")
    goal = target()
    from soloist.inspector import Inspector
    from soloist.producer import Producer

    with closing(Inspector(goal.server, goal.namespace)) as inspector:
        seen = inspector.snapshot()
    if not seen.exists:
        raise UsageError(is_empty(goal) + ": start an instance first.")
    say_if_nobody_handles(seen, kind)
    settings = goal.settings
    made = Producer(goal.server, goal.namespace, "", settings.max_pending, settings.call_timeout, PATIENCE)
    with closing(made) as producer:
        if body != "-":
            _publish(producer, [asked], settings.max_body, as_json)
            return
        for lines in _lines():
            several = [Asked(kind, line, "", False, delay, asked.at) for line in lines]
            _publish(producer, several, settings.max_body, as_json)


def say_if_nobody_handles(seen: "Snapshot", kind: str) -> None:
    """It is no error: somebody may come. But it may be mistyped, too."""
    handled = {known for each in seen.instances for known in each.kinds}
    if kind not in handled and (handled or not seen.instances):  # instances that handle nothing: beats of Celery
        note(f"no instance that is here now handles the kind {kind!r}: it waits")


def _publish(producer: "Producer", asked: Sequence[Asked], max_body: int, as_json: bool) -> None:
    try:
        ids = producer.publish([wanted(each, max_body, "soloist publish") for each in asked])
    except NotPublished as error:
        _tell(error.published, as_json)
        raise
    _tell(ids, as_json)


def _tell(ids: Sequence[str], as_json: bool) -> None:
    write("".join(json.dumps({"id": each}) + "\n" if as_json else f"{each}\n" for each in ids))


def _lines() -> Iterator[list[bytes]]:
    """Of the standard input, as bytes and without their ends; those that are there together."""
    gathered: list[bytes] = []
    for line in sys.stdin.buffer:
        gathered.append(line.rstrip(b"\n").removesuffix(b"\r"))
        if len(gathered) == AT_ONCE:
            yield gathered
            gathered = []
    if gathered:
        yield gathered


def _moment(at: str | None) -> datetime | None:
    if at is None:
        return None
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise UsageError(f"--at: {at!r} is no moment with a time zone; write 2026-12-24T18:00:00+01:00.")
    return moment
