"""Publishing from anywhere: a web process, a script, a REPL, a handler. No instance needs to run here, and no term is needed."""

import math
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from soloist.errors import NotPublished, Unavailable, UsageError, delay_ms, is_number, is_text
from soloist.fitting import here
from soloist.message import encode_body
from soloist.source import Msg
from soloist.store.envelope import NAME

if TYPE_CHECKING:
    from soloist.app import App
    from soloist.producer import Producer, Wanted
    from soloist.target import Target

PATIENCE = 30.0
"""Seconds for which a publication is tried."""

CONTACT_WAIT = 0.2
"""Seconds between attempts at the first contact."""

MOST_KEY = 4096


@dataclass(frozen=True)
class Asked:
    """One message as it was asked for.

    Attributes:
        at: when it is due: seconds since the epoch, or a datetime with a time zone.
    """

    kind: str
    body: Any
    key: str = ""
    unique: bool = False
    delay: float = 0.0
    at: float | datetime | None = None


class Publishes:
    """The part of an App that publishes from any process."""

    where: str
    name: str

    def __init__(self) -> None:
        super().__init__()
        self._connecting = threading.Lock()
        self._process = os.getpid()
        self._producer: Producer | None = None
        self._producer_goal: Target | None = None
        """Where the instance was that ran here when it was made; None: none ran."""
        self._appointed: tuple[Producer, int] | None = None
        self._max_body = 0

    def publish(
        self,
        kind: str,
        body: Any = "",
        key: str = "",
        *,
        unique: bool = False,
        delay: float = 0.0,
        at: float | datetime | None = None,
    ) -> str:
        """Publish a message, once, whatever becomes of the server's reply; answers its id.

        Args:
            kind: which handler it is for.
            body: text and bytes as they are, anything else as JSON.
            key: what makes it this one and no other: `message.key`, else its id.
            unique: only if no message of this kind and key waits or is being handled; else the id of that one is answered.
            delay: seconds before which it is not handled.
            at: when it is handled at the earliest: a datetime with a time zone, or seconds since the epoch.

        Raises:
            NotPublished: the server did not answer for 30 s, or too many messages wait.
        """
        _refuse_in_a_loop("publish")
        return self._publish([Asked(kind, body, key, unique, delay, at)], "publish")[0]

    async def apublish(
        self,
        kind: str,
        body: Any = "",
        key: str = "",
        *,
        unique: bool = False,
        delay: float = 0.0,
        at: float | datetime | None = None,
    ) -> str:
        """`publish` for asyncio: the event loop goes on meanwhile."""
        from asyncio import to_thread

        asked = [Asked(kind, body, key, unique, delay, at)]
        return (await to_thread(self._publish, asked, "apublish"))[0]

    def publish_many(self, messages: Iterable[Msg]) -> list[str]:
        """Publish many, in this order, a thousand at a time; answers their ids.

        Each thousand is published in one step. What was published before an error says `error.published`.
        """
        _refuse_in_a_loop("publish_many")
        return self._publish_many(messages, "publish_many")

    async def apublish_many(self, messages: Iterable[Msg]) -> list[str]:
        """`publish_many` for asyncio."""
        from asyncio import to_thread

        return await to_thread(self._publish_many, messages, "apublish_many")

    def _publish_many(self, messages: Iterable[Msg], call: str) -> list[str]:
        producer, max_body = self._connected(call)
        return producer.publish(_all_wanted(messages, max_body, call))

    @contextmanager
    def publishing_by(self, producer: "Producer", max_body: int) -> Iterator[None]:
        """For a while this one publishes: in tests."""
        self._appointed = producer, max_body
        try:
            yield
        finally:
            self._appointed = None

    def _publish(self, asked: Sequence[Asked], call: str) -> list[str]:
        producer, max_body = self._connected(call)
        return producer.publish([wanted(each, max_body, f"app.{call}") for each in asked])

    def _connected(self, call: str) -> "tuple[Producer, int]":
        """The producer of this process, and max_body. A forked child makes its own; so does who goes to another server."""
        if self._appointed is not None:
            return self._appointed
        if self._process != os.getpid():  # whoever held the lock when we were forked does not exist here
            self._connecting, self._process = threading.Lock(), os.getpid()
        give_up = time.monotonic() + PATIENCE
        while True:
            try:
                return self._producer_here(call)
            except Unavailable as error:
                if time.monotonic() + CONTACT_WAIT > give_up:
                    said = str(error).rstrip(".")
                    raise NotPublished(f"{said}; given up after {PATIENCE:g} s: it was not published.") from error
            time.sleep(CONTACT_WAIT)

    def _producer_here(self, call: str) -> "tuple[Producer, int]":
        from soloist.producer import Producer

        app = cast("App", self)
        with self._connecting:
            producer, present = self._producer, app.present_goal
            if producer is None or producer.process != os.getpid() or present is not self._producer_goal:
                goal = app.goal(call)
                settings = goal.settings
                producer = self._producer = Producer(
                    goal.server, goal.namespace, self.name, settings.max_pending, settings.call_timeout, PATIENCE
                )
                self._producer_goal, self._max_body = present, settings.max_body
            return producer, self._max_body


def _all_wanted(messages: Any, max_body: int, call: str) -> "list[Wanted]":
    """Check all that can be checked; what is as it mostly is, and of a kind that was there before, in a fifth of the time."""
    from soloist.producer import Wanted

    if not isinstance(messages, Iterable) or isinstance(messages, str | bytes):
        raise UsageError(f"app.{call} takes a list of Msg(kind, body, key), not a {type(messages).__name__}.")
    kinds, found = set[str](), list[Wanted]()
    for each in messages:
        if not isinstance(each, Msg):
            raise UsageError(f"app.{call} takes Msg(kind, body, key), not a {type(each).__name__}.")
        kind, body, key = each.kind, each.body, each.key
        is_known = type(kind) is str and kind in kinds and type(body) is str and type(key) is str
        if is_known and body.isascii() and key.isascii() and len(body) <= max_body and len(key) <= MOST_KEY:
            found.append(Wanted(kind, body.encode(), key.encode()))
        else:
            found.append(wanted(Asked(kind, body, key), max_body, f"app.{call}"))
            kinds.add(kind)
    return found


def wanted(asked: Asked, max_body: int, where: str) -> "Wanted":
    """Check all that can be checked.

    Args:
        where: it was asked for, for the sentence that refuses it.
    """
    from soloist.producer import Wanted

    kind, given_key = asked.kind, asked.key
    if not is_text(kind) or not NAME.fullmatch(kind):
        raise UsageError(f"{where}: a kind is 1 to 128 of the characters A–Z a–z 0–9 _ . : / -, not {kind!r}.")
    if not is_text(given_key) or len(given_key) > MOST_KEY:
        raise UsageError(f"{where}: a key is text of at most {MOST_KEY:,} letters; write key=str(…).")
    if asked.unique and not asked.key:
        raise UsageError(f"{where}: unique=True needs a key: one message of each key is there at most.")
    try:
        key = asked.key.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{where}: the key {asked.key!r} is no text that could be sent: {error}.") from None
    try:
        body = encode_body(asked.body)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise UsageError(
            f"{where}: a {type(asked.body).__name__} can be no body ({error}): publish text, bytes, or what JSON can tell."
        ) from None
    if len(body) > max_body:
        raise UsageError(f"{where}: a body of {len(body):,} bytes is larger than max_body allows ({max_body:,}).")
    if asked.at is not None and asked.delay:
        raise UsageError(f"{where}: say when in one way: delay=… or at=….")
    try:
        later = delay_ms(asked.delay)
    except UsageError as error:
        raise UsageError(f"{where}: delay={error}") from None
    waits = f"unique {asked.key}" if asked.unique else ""
    return Wanted(asked.kind, body, key, later, _at_ms(asked.at, where), waits)


def _at_ms(at: Any, where: str) -> int:
    if at is None:
        return 0
    if isinstance(at, datetime) and at.tzinfo is not None:
        at = at.timestamp()
    if not is_number(at) or not 0 <= at < 1e11:
        raise UsageError(
            f"{where}: at={at!r} is no moment: write a datetime with a time zone, or seconds since the epoch "
            f"(now is {time.time():.0f})."
        )
    return math.ceil(float(at) * 1000)


def _refuse_in_a_loop(call: str) -> None:
    """It waits for the server: an event loop would stand still meanwhile."""
    if "asyncio" not in sys.modules:  # nobody runs a loop without it, and importing it takes its time
        return
    from asyncio import get_running_loop

    try:
        get_running_loop()
    except RuntimeError:
        return
    raise UsageError(f"app.{call} at {here()} would block the event loop: write `await app.a{call}(…)`.")
