"""The scheduler that `celery beat -S soloist` runs."""

import copy
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from celery import beat
from celery.utils.log import get_logger
from kombu.exceptions import OperationalError

from soloist.celery.broker import server_of
from soloist.celery.clock import BeatClock
from soloist.celery.conf import configuration_of
from soloist.celery.courier import Courier, Outcome
from soloist.celery.member import Member, join
from soloist.celery.programme import Programme
from soloist.celery.ticks import Tick, from_ms, tick_of, to_ms, until_next
from soloist.celery.transport import Outbox, catching
from soloist.errors import SoloistError, Unavailable
from soloist.store.sending import Post, Undeliverable

LOOK = 1.0
"""Seconds after which a beat that nothing has stirred looks up: Celery may want to stop it, or the clocks were set."""

AGAIN = 1.0
"""Seconds between attempts at what the broker does not let us do now."""

ANSWERS_WITHIN = 5.0
"""Seconds for what kombu itself asks the broker (which queues are bound), unless the app says otherwise."""

TICK_HEADER = "soloist_tick"
"""Of each message: when the tick was due, in UTC. The same tick has the same, whoever sends it."""

log = get_logger("soloist.celery")


class Scheduler(beat.Scheduler):  # type: ignore[misc]  # Celery has no types
    """Celery's scheduler, but for three things: only who is elected sends, what it sends goes through the fence, and the last
    runs are kept in Redis.

    A refusal is a sentence on stderr and an exit code, as of `soloist`.
    """

    def __init__(self, app: Any, *args: Any, **kwargs: Any) -> None:
        with _in_words():
            self._server = server_of(app)
            self._configuration = configuration_of(app)
        self._outbox = Outbox()
        self._configured: dict[str, Any] = {}
        self._member: Member | None = None
        self._courier: Courier
        self._clock: BeatClock
        self._programme: Programme | None = None
        self._due: Tick | None = None
        self._is_ticking = False
        super().__init__(app, *args, **kwargs)

    @property
    def info(self) -> str:
        """For the banner."""
        return f"    . redis -> {self._server}\n    . namespace -> {self._configuration.namespace}"

    def setup_schedule(self) -> None:
        """In the order of the scheduler that `celery beat` runs by itself: its base class drops the entries of Celery's own."""
        self.merge_inplace(self.app.conf.beat_schedule)
        self.install_default_entries(self.schedule)
        self._configured = dict(self.schedule)
        with _in_words():
            self._try_to_join()

    def _try_to_join(self) -> None:
        """Later, if the server is not there now: Celery's own beat waits for its broker, too."""
        try:
            member = join(self._server, self._configuration)
        except Unavailable as error:
            log.error("beat: %s Trying again in %g s…", error, AGAIN)  # noqa: TRY400 - it says all
            return
        self._clock = BeatClock(self.app, member.clock)
        self._courier = Courier(member)
        for entry in self._configured.values():
            self._clock.set_in(entry.schedule)
        self._member = member

    def now(self) -> datetime:
        return self._clock.now()

    # one round of Celery's loop

    def tick(self, *_args: Any, **_kwargs: Any) -> float:
        """Send at most one entry; sleep here, where the heart can end it: Celery need not sleep any more."""
        self._is_ticking = True
        try:
            return self._tick()
        finally:
            self._is_ticking = False

    def _tick(self) -> float:
        member = self._member
        if member is None:
            self._try_to_join()
            return AGAIN if self._member is None else 0
        if member.failure is not None:
            raise member.failure
        member.stirred.clear()  # before the look: what happens behind it is seen the next time
        wait = super().tick() if self._has_programme(member) and self._is_connected() else LOOK
        if wait > 0:
            member.stirred.wait(min(wait, self.max_interval, LOOK))
        return 0

    def _has_programme(self, member: Member) -> bool:
        """Whether it is for us to send, and known what."""
        term, programme = member.term, self._programme
        if term is None or term.is_over:
            self._programme, self.schedule = None, {}
            return False
        if programme is None or programme.term is not term:
            programme = Programme(member, self._courier, term, self)
            if not programme.announce(self._configured):
                return False
            self._programme = programme
        if not programme.is_current:
            if not programme.read(self._configured):
                return False
            for entry in programme.entries.values():
                self._clock.set_in(entry.schedule)
            self.schedule = programme.entries
            self._heap = None
        return True

    def adjust(self, n: Any, drift: float = 0.0) -> Any:
        """Not a little early: it would wait for the rest without sleeping."""
        return super().adjust(n, drift)

    # one entry

    def is_due(self, entry: Any) -> Any:
        """Whether, and in how many seconds to ask again."""
        with self._clock.stopped() as now:
            is_due, wait = entry.is_due()
            self._due = tick_of(entry.schedule, entry.last_run_at, now) if is_due else None
            if self._due is not None:
                wait = until_next(entry.schedule, self._due.through, wait)
        return is_due, wait

    def reserve(self, entry: Any) -> Any:
        """The entry as it is once this tick was sent."""
        assert self._due is not None, "Celery reserves what is due"
        last_run_at = from_ms(to_ms(self._due.through), self._due.through)
        following = self.schedule[entry.name] = entry._next_instance(last_run_at)  # noqa: SLF001 - Celery's own way to say it
        return following

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        log.info("Scheduler: Sending due task %s (%s)", entry.name, entry.task)
        try:
            with self._composing():
                self.apply_async(entry, producer=producer, advance=False)
        except beat.SchedulingError as error:
            self._outbox.clear()
            if _is_connection_lost(error, self.connection):
                log.error("Message Error: %s Trying again in %g s…", error, AGAIN)  # noqa: TRY400 - it says all
                self._put_back(entry)
            else:
                log.exception("Message Error:")
            return
        post, settle = self._outbox.take()
        if not post.pushes and not post.broadcasts:
            log.warning("%s reached no queue: none is bound there, or its task is sent by other means", entry.name)
        self._deliver(entry, post, settle)

    @contextmanager
    def _composing(self) -> Iterator[None]:
        assert self._member is not None
        self._outbox.clear()
        self._member.composing.since = time.monotonic()
        try:
            yield
        finally:
            self._member.composing.since = None

    def apply_async(self, entry: Any, producer: Any = None, advance: bool = True, **kwargs: Any) -> Any:
        """Have Celery compose the message, which comes into the outbox."""
        marked = copy.copy(entry)
        if self._due is not None:
            at = self._due.at.astimezone(UTC).isoformat(timespec="milliseconds")
            marked.options = {**entry.options, "headers": {**(entry.options.get("headers") or {}), TICK_HEADER: at}}
        return super().apply_async(marked, producer=producer, advance=advance, **kwargs)

    def _deliver(self, entry: Any, post: Post, settle: Callable[[], None]) -> None:
        programme, following = self._programme, self.schedule[entry.name]
        assert programme is not None
        try:
            outcome = self._courier.deliver(
                programme.term,
                programme.agenda,
                entry.name,
                to_ms(following.last_run_at),
                following.total_run_count,
                post,
            )
        except Undeliverable as error:
            log.error("Message Error: %s: %s", entry.name, error)  # noqa: TRY400 - it says all
            return
        if outcome is Outcome.SENT:
            programme.sent(entry.name, following.last_run_at, following.total_run_count)
            log.debug("%s sent.", entry.task)
            settle()
        elif outcome is Outcome.CHANGED:
            programme.agenda = -1
        else:
            log.warning("%s was not sent: another beat has the term", entry.name)

    def _put_back(self, entry: Any) -> None:
        """It is still due; look again in a while."""
        assert self._member is not None
        self.schedule[entry.name] = entry
        self._heap = None
        self._member.stirred.wait(AGAIN)

    # connections

    @cached_property
    def connection(self) -> Any:
        made = self.app.connection_for_write()
        # Else a connection that is dead and does not say so would hold up all entries for half a minute.
        limits = {"socket_timeout": ANSWERS_WITHIN, "socket_connect_timeout": ANSWERS_WITHIN}
        made.transport_options = {**limits, **made.transport_options}
        exchanges = [queue.exchange for queue in self.app.amqp.queues.values()]
        made.transport_cls = catching(self._outbox, {exchange.name: exchange.type for exchange in exchanges})
        return made

    def _ensure_connected(self) -> Any:
        """Once: Celery's own way would sleep for up to half a minute between two attempts, and not notice who leads by then."""
        return self.connection.ensure_connection(max_retries=1, interval_start=0)

    def _is_connected(self) -> bool:
        """Whether there is a producer; it is made before the first message that somebody sends."""
        try:
            return self.producer is not None
        except (OperationalError, *self.connection.connection_errors) as error:
            log.error("beat: Connection error: %s. Trying again in %g s…", error, AGAIN)  # noqa: TRY400 - it says all
            return False

    def close(self) -> None:
        """Leave in order, so that another takes over at once.

        Celery calls it from the handler of a signal first, in the middle of whatever this thread does, and again when that
        is over: during a tick it is left to the second time.
        """
        if self._is_ticking:
            return
        super().close()
        member, self._member = self._member, None
        if member is not None:
            self._courier.close()
            member.ask_to_stop()
            member.stop()


@contextmanager
def _in_words() -> Iterator[None]:
    """Celery shows a traceback for every exception; a refusal is for the person at the terminal."""
    try:
        yield
    except SoloistError as error:
        here = " (Here: soloist_namespace and broker_url, in Celery's configuration.)" if " --" in str(error) else ""
        sys.stderr.write(f"soloist: {error}{here}\n")  # which Celery may have redirected to its log
        raise SystemExit(error.exit_code) from None


def _is_connection_lost(error: BaseException, connection: Any) -> bool:
    """Whether that was at the bottom of it. kombu counts KeyError among them, which it also raises for what is unknown."""
    lost = tuple(each for each in connection.connection_errors if each is not KeyError)
    below = error.__cause__ or error.__context__
    while below is not None:
        if isinstance(below, lost):
            return True
        below = below.__cause__ or below.__context__
    return False
