"""A poller of an HTTP API: pages, a cursor, and the API's word on when to come again.

    EVENTS_API=https://api.example/events soloist run examples.api_poller.poller:app --url redis://localhost:6379/0

The API answers GET EVENTS_API?after=CURSOR&limit=N with {"events": [{"id": …}, …], "cursor": "…", "more": true}, and with
429 or 503 and Retry-After when it is asked too often.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.message import Message as Headers
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import msgspec

from soloist import App, Message, Msg, Page, Source

TOO_MANY_REQUESTS, UNAVAILABLE = 429, 503

UNSAID = 30.0
"""Seconds to wait when the API does not say how long."""


class Answer(msgspec.Struct):
    """A page of the API, checked: an answer of another shape is an error of the source, not a message."""

    events: list[dict[str, Any]]
    cursor: str
    more: bool = False


@contextmanager
def lifespan() -> Iterator[str]:
    yield os.environ["EVENTS_API"]  # missing, it is said before the instance joins


app = App("poller", lifespan=lifespan)


# `timeout` is above the time that the request itself may take: a server that is slow is told by the request's own error,
# and only what hangs in spite of that costs this instance the generator's part.
@app.source(every=1.0, timeout=30)
def events(source: Source[str, str]) -> Page[str]:
    asked = {"limit": source.room} if source.cursor is None else {"limit": source.room, "after": source.cursor}
    try:
        with urlopen(f"{source.ctx}?{urlencode(asked)}", timeout=10) as response:  # noqa: S310 - your own address
            answer = msgspec.json.decode(response.read(), type=Answer)
    except HTTPError as error:
        if error.code in (TOO_MANY_REQUESTS, UNAVAILABLE):
            return Page(wait=seconds_to_wait(error.headers))
        raise
    return Page(
        # The API's own id as the key: it tells the handler that an event is the same, also if the API sends it twice.
        [Msg("event", event, key=str(event["id"])) for event in answer.events],
        cursor=answer.cursor,
        more=answer.more,
    )


def seconds_to_wait(headers: Headers) -> float:
    """Retry-After is a number of seconds or a date."""
    said = headers.get("Retry-After", "")
    if said.isdecimal():
        return float(said)
    try:
        return max(0.0, (parsedate_to_datetime(said) - datetime.now(UTC)).total_seconds())
    except ValueError:
        return UNSAID


@app.handler("event")
def handle(message: Message) -> None:
    print(f"{message.key} {message.body}", flush=True)
