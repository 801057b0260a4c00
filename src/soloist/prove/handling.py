"""A message in the hands of a handler, attempt by attempt, each in a process of its own."""

import logging
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from soloist.commit import Home
from soloist.errors import Reject, UsageError
from soloist.fitting import Flavour
from soloist.message import Details, Message, encode_body
from soloist.prove import child
from soloist.prove.child import Ended, Fated, Refused, Report
from soloist.prove.crash_points import Point
from soloist.prove.history import History
from soloist.prove.life import PATIENCE, Life, refused
from soloist.prove.outcome import COMMITTED, COMPLETED, PUBLISHED, Outcome, message_told
from soloist.prove.own_code import OwnCode
from soloist.runtime.fate import Again, Along, Fate, Fates
from soloist.runtime.incarnation import new_tag
from soloist.runtime.ticks import headers_of
from soloist.schedules.schedule import KIND as SCHEDULE
from soloist.settings import Settings
from soloist.store.envelope import pack, unpack
from soloist.store.keys import Keys
from soloist.store.specials import Followup, Write

if TYPE_CHECKING:
    from soloist.app import App

MOST_RETRIES = 5
"""How often a message that asks to be tried again is: a handler that does so for ever shows nothing new."""

GRACE = 5.0
"""Seconds beyond its time limit for which an async handler may clear up after itself, as in an instance."""


@dataclass(frozen=True)
class Delivery:
    """A message that is to be handled."""

    envelope: bytes
    attempt: int = 1
    retried: int = 0


class Handling:
    """The handler of one kind, and the messages that it is to be given.

    Args:
        bodies: of the messages; one, unless the handler takes batches.
        key: of the only message; empty: its id.
    """

    def __init__(self, app: "App", kind: str, bodies: Sequence[Any], key: str, settings: Settings) -> None:
        app = app.only([kind])
        app.check()
        declared = app.handlers[kind]
        self.what = f"the handler {declared.where}"
        self.own = OwnCode(declared.fit.function)
        self._app, self._declared = app, declared
        self._has_lasting = False  # threads that go on for ever are waited for once, not at every crash point
        self._require_bodies(bodies, key)
        self._timeout = declared.timeout or settings.timeout or None
        self._retries = declared.retries if declared.retries is not None else settings.retries
        tag, now_ms = new_tag(), time.time_ns() // 1_000_000  # a tag of its own: no earlier proof has left such a key
        home_base = Keys(app.name).base
        self._home = Home(home_base, new_tag(), lambda: now_ms)
        encoded = [_encoded(body, settings.max_body) for body in bodies]
        headers = (
            headers_of(now_ms) if kind.startswith(SCHEDULE) else b""
        )  # a job is given the tick of which it is a run
        self._first = [
            Delivery(pack(f"{number}-{tag}", kind, now_ms, body, key.encode(), headers))
            for number, body in enumerate(encoded, start=1)
        ]

    def _require_bodies(self, bodies: Sequence[Any], key: str) -> None:
        most = self._declared.batch or 1
        if not bodies:
            raise UsageError(f"{self.what} needs a message: say what is in it.")
        if len(bodies) > most:
            takes = f"batches of at most {most} messages" if self._declared.batch else "one message at a time"
            raise UsageError(f"{self.what} takes {takes}, and was given {len(bodies)}.")
        if key and len(bodies) > 1:
            raise UsageError(f"a key belongs to one message, and {self.what} was given {len(bodies)}.")

    def run(self, at: Point | None, *, is_quiet: bool) -> History:
        """Deliver until everything has its fate; killed once on the way if a crash point is named."""
        history = History()
        fates: dict[bytes, Fated] = {}
        waiting = self._first
        while waiting:
            crash_at = at.number if at is not None and at.process == len(history.processes) else None
            ended = self._process(waiting, crash_at, is_quiet)
            history.add(ended)
            self._has_lasting |= ended.seen.has_lasting
            fated = [record for record in ended.records if isinstance(record, Fated)]
            if ended.crashed is not None and not fated:
                waiting = [replace(each, attempt=each.attempt + 1) for each in waiting]
                continue
            trouble = _trouble(ended)
            if trouble is not None:
                history.trouble = trouble
                fated = [Fated(trouble) for _ in waiting]
            together = list(zip(waiting, fated, strict=True))
            fates.update({each.envelope: fate for each, fate in together})
            waiting = [
                replace(each, attempt=each.attempt + 1, retried=each.retried + 1)
                for each, fate in together
                if fate.is_again and each.retried < MOST_RETRIES
            ]
        last = [fates[each.envelope] for each in self._first]
        history.outcome = self._outcome(last)
        history.fate = next((each.fate + each.where for each in last if each.fate != COMPLETED), COMPLETED)
        return history

    def _outcome(self, fates: Sequence[Fated]) -> Outcome:
        outcome = Outcome()
        for number, fate in enumerate(fates, start=1):
            which = f" {number}" if len(fates) > 1 else ""
            outcome.said[f"message{which}"] = fate.fate
            outcome.lists[f"{COMMITTED}{which}"] = fate.committed
            outcome.lists[f"{PUBLISHED}{which}"] = fate.published
        return outcome

    def _process(self, waiting: Sequence[Delivery], crash_at: int | None, is_quiet: bool) -> Ended:
        limit = PATIENCE if self._timeout is None else self._timeout
        grace = GRACE if self._declared.fit.flavour is Flavour.ASYNC else 0.0
        return child.run(partial(self._attempt, waiting, crash_at), within=limit + grace, is_quiet=is_quiet)

    def _attempt(self, waiting: Sequence[Delivery], crash_at: int | None, report: Report) -> None:
        """In the child: handle, and tell what becomes of each message."""
        logging.getLogger("soloist").disabled = True  # what becomes of the message is told by the verdict
        life = Life(report, self.own, crash_at, waits=not self._has_lasting)
        fates = Fates(self._declared, self._retries, lambda: "prove")
        try:
            with life.of(self._app):
                messages = [Message(each.envelope, each.attempt, self._home) for each in waiting]
                raised = self._hand_over(life, messages)
                for message, each in zip(messages, waiting, strict=True):
                    error = Reject(message.rejected) if message.rejected is not None else raised
                    if error is None:
                        report.write(self._fated(fates.completed(message)))
                    else:
                        fated = self._fated(fates.raised(error, each.attempt, each.retried))
                        fated.where = self._whence(error)
                        report.write(fated)
        except UsageError as error:
            refused(report, error)

    def _hand_over(self, life: Life, messages: Sequence[Message]) -> BaseException | None:
        """What it raised, if it did."""
        call = self._app.wrapped(self._declared, self._declared.fit.bind(life.ctx))
        given = list(messages) if self._declared.batch else messages[0]
        is_async = self._declared.fit.flavour is Flavour.ASYNC

        def handle() -> None:
            life.watched(lambda: life.loop.run(lambda: call(given), self._timeout) if is_async else call(given))

        try:
            life.on_thread(handle, f"handler {self._declared.kind}")
        except BaseException as error:  # noqa: BLE001 - whatever the user's code raises, the message failed
            return error
        return None

    def _fated(self, fate: Fate) -> Fated:
        match fate:
            case None:
                return Fated(COMPLETED)
            case Along(writes, messages):
                return Fated(COMPLETED, [self._write_told(each) for each in writes], list(map(_published, messages)))
            case Again(after_ms):
                return Fated(f"to be tried again after {after_ms / 1000:g} s", is_again=True)
            case _:
                details = msgspec.json.decode(fate, type=Details)
                kind = "rejected" if details.type == Reject.__name__ else f"failed: {details.type}"
                return Fated(f"{kind}: {details.reason}")

    def _whence(self, error: BaseException) -> str:
        """The last line of the user's own that it went through."""
        own = [each for each in traceback.walk_tb(error.__traceback__) if self.own.has(each[0].f_code)]
        return f" ({Path(own[-1][0].f_code.co_filename).name}, line {own[-1][1]})" if own else ""

    def _write_told(self, write: Write) -> str:
        name = write.key.removeprefix(self._home.data)
        return " ".join([write.command, name, *map(_text, write.arguments)])


def _trouble(ended: Ended) -> str | None:
    if ended.trouble is not None:
        return ended.trouble
    return next((each.reason for each in ended.records if isinstance(each, Refused)), None)


def _published(followup: Followup) -> str:
    """Without its id, which is another one each time."""
    parts = unpack(followup.envelope)
    later = f" after {followup.delay_ms / 1000:g} s" if followup.delay_ms else ""
    return message_told(parts.kind, parts.key if parts.key != parts.id else "", parts.body) + later


def _text(value: str | bytes | int) -> str:
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


def _encoded(body: Any, most: int) -> bytes:
    try:
        data = encode_body(body)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"{type(body).__name__} can be no body of a message: {error}.") from None
    if len(data) > most:
        raise UsageError(f"a body of {len(data):,} bytes is larger than max_body allows ({most:,}).")
    return data
