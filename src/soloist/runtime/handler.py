"""The handler: claims messages, runs the user's function, records the outcome.

One thread handles and calls; a second one, the recorder, steps in when a message takes longer than 10 ms: it records
what was done before it and gives back what waits behind it, so that a slow message holds up nothing else.
"""

import logging
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from soloist.errors import ForeignData, Reject, Unavailable
from soloist.message import Details, Message
from soloist.runtime.batching import FLUSH, Batching
from soloist.runtime.patience import Patience
from soloist.runtime.telling import text
from soloist.runtime.turns import Desk, Turns
from soloist.store.envelope import id_of
from soloist.store.link import Link
from soloist.store.replies import Superseded

if TYPE_CHECKING:
    from soloist.runtime.instance import Instance

TRACEBACK_LENGTH, REASON_LENGTH = 8192, 2048

SAY_FAILING = 10.0
"""Seconds between log lines about a handler that raises; every case is in the error store."""

BLOCK = 5.0
"""Seconds for which it waits at the bell at a time. The server serves those first that wait longest, so a short wait
would leave to chance who gets the work; a long one would leave a connection that died in silence unnoticed."""

log = logging.getLogger("soloist")


class Handler:
    """Plays the handler's part of an instance while it should."""

    def __init__(self, instance: "Instance", functions: Mapping[str, Callable[[Message], Any]]) -> None:
        self._instance = instance
        self._functions = functions
        self._kinds = tuple(functions)
        self._batching = Batching(instance.settings.batch)
        settings, server = instance.settings, instance.server
        patience = Patience("handler", instance.outage)
        self._turns = Turns(Link(server, settings.call_timeout), instance.keys, settings, self._kinds, patience)
        self._bell = Link(server, BLOCK + settings.call_timeout)
        self._bell_patience = Patience("bell", instance.outage)
        self._desk = Desk(instance.incarnation)
        self._wanted = threading.Event()
        self._awake = threading.Event()
        self._said_failing = -SAY_FAILING
        self._stopping = False
        self._interrupted = False
        self._at_the_bell = False
        self._done = threading.Event()
        self.threads = [
            threading.Thread(target=instance.guard(self._handle), name="handler", daemon=True),
            threading.Thread(target=instance.guard(self._record), name="recorder", daemon=True),
        ]

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def play(self, wanted: bool) -> None:
        """Handle, or (generating, paused) give back what was not begun and take no more."""
        if self._stopping:
            return
        self._interrupted = not wanted
        if wanted:
            self._wanted.set()
        else:
            self._wanted.clear()
            self._awake.set()

    @property
    def is_busy(self) -> bool:
        """Whether it holds a message now."""
        return not self._desk.is_empty

    @property
    def in_hand(self) -> bytes | None:
        """The id of the message that is being handled now."""
        envelope = self._desk.in_hand
        return None if envelope is None else id_of(envelope)

    def leave_the_bell(self) -> None:
        """Wait there on a new connection: the old one may have died in silence, and would be missed only after BLOCK."""
        if self._at_the_bell:
            self._bell.interrupt()

    def stop(self, within: float) -> bool:
        """Take no more, finish the message in hand; True if that was done in time.

        A handler that waits at the bell holds nothing: it is not waited for. A token that it takes then costs the
        others a heartbeat at most.
        """
        self._stopping = self._interrupted = True
        self._awake.set()
        self._wanted.set()
        deadline = time.monotonic() + within
        while not self._done.wait(0.005):
            if self._at_the_bell and self._desk.is_empty:
                return True
            if time.monotonic() >= deadline:
                return False
        return True

    # the thread that handles

    def _handle(self) -> None:
        try:
            while not self._stopping:
                desk = self._current_desk()
                if not self._wanted.is_set():
                    self._turn(desk, 0, give_back=True)
                    self._bell_patience.ended()
                    self._wanted.wait()
                    continue
                if self._turns.is_asked:
                    self._recording(desk, partial(self._turns.await_asked, desk, self._is_hopeless))
                else:
                    self._turn(desk, max(0, self._batching.size - len(desk.waiting)))
                if desk.waiting:
                    if self._batching.reaches_ahead(len(desk.waiting)) and not desk.hold:
                        self._turns.ask(desk, self._batching.size)
                        # kill point: the next batch asked for, this one not begun
                    self._work_through(desk)
                elif desk.is_empty and self._wait_at_the_bell(desk) and self._interrupted:
                    self._turn(desk, 0, even_if_empty=True)  # it rings again: the token was somebody else's
            self._turn(self._desk, 0, give_back=True)
        except ForeignData:
            self._turn(self._desk, 0, give_back=True)  # what is done is recorded all the same
            raise
        finally:
            self._done.set()

    def _current_desk(self) -> Desk:
        incarnation = self._instance.incarnation
        if self._desk.incarnation is not incarnation:
            self._desk = Desk(incarnation)
        return self._desk

    def _turn(self, desk: Desk, want: int, *, give_back: bool = False, even_if_empty: bool = False) -> None:
        if want or even_if_empty or not desk.is_empty or self._turns.is_asked:
            self._recording(
                desk, lambda: self._turns.take(desk, want, give_back=give_back, is_hopeless=self._is_hopeless)
            )

    def _recording(self, desk: Desk, call: Callable[[], tuple[int, int]]) -> None:
        try:
            recorded, failed = call()
        except Superseded as superseded:
            self._instance.be_reborn(desk.incarnation, superseded.what)
            return
        except Unavailable:
            return  # stopping, and the server is away: what we hold will be reclaimed
        if recorded:
            self._instance.events.count_handled(recorded, failed)

    def _is_hopeless(self) -> bool:
        return self._instance.is_out_of_time

    def _work_through(self, desk: Desk) -> None:
        functions, waiting, outcomes, incarnation = self._functions, desk.waiting, desk.outcomes, desk.incarnation
        self._awake.set()
        self._instance.heart.hurry_if_slow()
        begun = now = time.monotonic()
        until, count = begun + FLUSH, 0
        while now < until and not self._interrupted and not incarnation.over:
            try:
                desk.in_hand = waiting[0][1]
                kind, envelope = waiting.popleft()
            except IndexError:
                desk.in_hand = None
                break
            # kill point: in hand, not begun
            deaths, retries = desk.attempts.pop(id_of(envelope), (0, 0)) if desk.attempts else (0, 0)
            try:
                functions[kind](Message(envelope, 1 + deaths + retries))
                outcomes.append((kind, envelope, None))
            except BaseException as error:  # noqa: BLE001 - whatever the user's code raises, the message failed
                outcomes.append((kind, envelope, self._details(error, 1 + deaths + retries)))
            # kill point: between handle and complete
            desk.in_hand = None
            count += 1
            now = time.monotonic()
        self._batching.worked(count, now - begun)
        if len(waiting) > self._batching.size and not self._interrupted:
            self._turn(desk, 0, give_back=True)

    def _details(self, error: BaseException, attempt: int) -> bytes:
        rejected = isinstance(error, Reject)
        if not rejected and time.monotonic() - self._said_failing > SAY_FAILING:
            self._said_failing = time.monotonic()
            log.error(
                "handler.failed error=%r; it is in the error store (getErrors --json)",
                type(error).__name__,
                exc_info=error,
            )
        trace = None if rejected else text(lambda: "".join(traceback.format_exception(error)))[-TRACEBACK_LENGTH:]
        details = Details(
            reason=text(lambda: str(error))[:REASON_LENGTH] or type(error).__name__,
            type=type(error).__name__,
            handler=self._instance.incarnation.id,
            attempts=attempt,
            traceback=trace,
        )
        return msgspec.json.encode(details)

    def _wait_at_the_bell(self, desk: Desk) -> bool:
        """Block until there may be work; True if a token was taken.

        Beats ring where there is work and silence, so nothing is asked in vain when the wait ends without a token.
        """
        bells = [self._instance.keys.bell(kind) for kind in self._kinds]
        while self._wanted.is_set() and not self._stopping and desk.incarnation is self._instance.incarnation:
            self._at_the_bell = True
            try:
                token = self._bell.command("BLPOP", *bells, BLOCK)
            except Unavailable as error:
                time.sleep(self._bell_patience.failed(error))
                return False
            finally:
                self._at_the_bell = False
            self._bell_patience.well()
            if token is not None:
                # kill point: a token in hand
                return True
        return False

    # the thread that records what is done while a message takes long

    def _record(self) -> None:
        while not self._done.is_set():
            desk = self._desk
            if not desk.waiting and desk.in_hand is None:  # in the direction in which messages move
                self._awake.wait()
                self._awake.clear()
                desk = self._desk
            self._done.wait(FLUSH)
            if desk.in_hand is None or not (desk.outcomes or desk.waiting) or desk.incarnation.over:
                continue
            if time.monotonic() - desk.recorded_at > FLUSH or not self._wanted.is_set():
                # kill point: the recorder steps in
                self._turn(desk, 0, give_back=True)
