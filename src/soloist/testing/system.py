"""A system under test: instances of one App in this process, and all that a test does with them."""

import asyncio
import threading
from collections.abc import Callable, Collection
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from typing import Any, Self, Unpack

from soloist.app import App
from soloist.error_store import ErrorStore
from soloist.errors import UsageError
from soloist.inspector import Inspector, Snapshot
from soloist.message import ErrorRecord
from soloist.publishing import Asked, wanted
from soloist.running import narrowed
from soloist.settings import Given
from soloist.store.keys import Keys
from soloist.store.rehearsal import Outstanding, outstanding, read_data
from soloist.testing import place
from soloist.testing.clock import HandClock
from soloist.testing.failures import SourceFailed
from soloist.testing.member import Member
from soloist.testing.producer import KitProducer
from soloist.testing.shared_link import SharedLink
from soloist.testing.staff import TIMEOUT, Staff
from soloist.testing.stepping import Stepper
from soloist.testing.waiting import Looks, NotEmpty, picture, unhandled, wait_for

LINK_TIMEOUT = 10.0
MOST_INSTANCES = 50


def run(
    app: App,
    instances: int = 1,
    *,
    url: str | None = None,
    base: str | None = None,
    now: datetime | None = None,
    kinds: Collection[str] | None = None,
    sources: bool = False,
    raise_errors: bool = True,
    **settings: Unpack[Given],
) -> "System":
    """A system of this App, for `with` or `async with`. What is asked of the App meanwhile goes there.

    Args:
        instances: how many, in this process; the first generates.
        url: the server; else SOLOIST_TEST_URL, else a private one, started when it is first needed.
        base: what the namespace begins with, for another system that goes on where one has ended; else all of it is removed.
        now: what time it is for schedules when it begins; else the server's.
        kinds: handle only these.
        sources: call them in their own rhythm, too; else only `poll` does.
        raise_errors: raise at the end for what handlers raised and the test has not looked at.
        settings: those of docs/operations.md; else the App's own.
    """
    if not 0 <= instances <= MOST_INSTANCES:
        raise UsageError(f"testing.run(…): instances={instances!r} is not possible; write 0 to {MOST_INSTANCES}.")
    if now is not None and now.tzinfo is None:
        raise UsageError(f"testing.run(…, now={now!r}): of which time zone? Write datetime(…, tzinfo=ZoneInfo(…)).")
    narrowed(app, kinds).check()
    system = System(app, kinds, url, base, now, dict(settings), sources=sources)
    system.raises, system.first = raise_errors, instances
    return system


class System(Staff):
    """Instances of one App, and their namespace. Made by `run`.

    Attributes:
        members: every instance that was started, also those that are gone.
    """

    raises = True
    first = 1

    def __init__(
        self,
        app: App,
        kinds: Collection[str] | None,
        url: str | None,
        base: str | None,
        now: datetime | None,
        settings: dict[str, Any],
        *,
        sources: bool,
    ) -> None:
        super().__init__(narrowed(app, kinds), sources=sources)
        self.app = app
        self._said = (url, base, now, settings)
        self._looking = threading.Lock()
        self._known: tuple[str, ...] = ()
        self._ending = ExitStack()

    # its beginning and its end

    def __enter__(self) -> Self:
        url, base, now, settings = self._said
        with ExitStack() as undo:
            own = base or place.new_base()
            self.goal = place.place(self.app, own, url, settings)
            if base is None:
                undo.callback(place.remove, self.url, own)
            self.keys = Keys(self.namespace)
            self.link = undo.enter_context(closing(SharedLink(self.goal.server, LINK_TIMEOUT)))
            self._inspector = undo.enter_context(closing(Inspector(self.goal.server, self.namespace)))
            self._store = undo.enter_context(closing(ErrorStore(self.goal.server, self.namespace)))
            server_ms = self._inspector.now_ms()
            self.clock = HandClock(server_ms if now is None else round(now.timestamp() * 1000), server_ms)
            self._producer = KitProducer(self.goal, self.app.name, self.clock)
            undo.callback(self._producer.close)
            undo.enter_context(self.app.elsewhere(self.goal))
            undo.enter_context(self.app.publishing_by(self._producer, self.goal.settings.max_body))
            self._stepper = Stepper(self)
            undo.callback(self._end)
            self._begin(self.first)
            self._ending = undo.pop_all()
        return self

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> None:
        with self._ending:
            self._end()
            if error is None and self.raises:
                self.watch.raise_new(self._records())

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(self, kind: object, error: BaseException | None, at: object) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, at)

    @property
    def url(self) -> str:
        """Of the server, for a client of one's own."""
        return self.goal.server.url

    @property
    def namespace(self) -> str:
        return self.goal.namespace

    # its messages

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
        """`app.publish`, which does the same here; but this one may be called where an event loop runs, too."""
        asked = Asked(kind, body, key, unique, delay, at)
        return self._producer.publish([wanted(asked, self.goal.settings.max_body, "system.publish")])[0]

    def wait_until_empty(
        self, within: float = TIMEOUT, *, besides: Collection[str] = (), raise_errors: bool = True
    ) -> None:
        """Wait until nothing is pending or claimed. What is delayed and not due is not waited for: `step` makes it due.

        Args:
            within: seconds.
            besides: kinds that are not waited for.
            raise_errors: raise for what handlers raised, but for `Reject`.

        Raises:
            NotEmpty: it did not become so in that time, or cannot; with a picture of the system.
            HandlerFailed: caused by what the first of them raised.
        """
        looks = Looks(within)
        while not self._is_empty(besides):
            if not looks.again():
                raise self.not_so(f"not empty after {within:g} s")
        records = self._records()
        if raise_errors:
            self.watch.raise_new(records)
        self.watch.seen(records)

    async def await_until_empty(
        self, within: float = TIMEOUT, *, besides: Collection[str] = (), raise_errors: bool = True
    ) -> None:
        """`wait_until_empty` for asyncio: the event loop goes on meanwhile."""
        await asyncio.to_thread(self.wait_until_empty, within, besides=besides, raise_errors=raise_errors)

    def wait_until(self, condition: Callable[[], object], within: float = TIMEOUT) -> None:
        """Wait until something is so: that a handler has begun, say."""
        if not wait_for(lambda: bool(condition()), within):
            raise self.not_so(f"{getattr(condition, '__name__', condition)} is not so after {within:g} s")

    @property
    def errors(self) -> list[ErrorRecord]:
        """The error store, oldest first. Who has looked at it is not told of these any more."""
        records = self._records()
        self.watch.seen(records)
        return records

    @property
    def delayed(self) -> int:
        """How many messages wait for their time."""
        return sum(left.delayed for left in self.outstanding().kinds.values())

    def data(self, name: str) -> Any:
        """What handlers wrote under `message.key_for(name)`: text, dict, list, set, dict of scores, or None."""
        return read_data(self.link, self.keys, name)

    def inspect(self) -> Snapshot:
        """All instances, all messages, in one atomic read."""
        with self._looking:
            return self._inspector.snapshot()

    # its time

    @property
    def now(self) -> datetime:
        """What time it is for schedules."""
        return self.clock.now.astimezone(UTC)

    def step(
        self,
        by: float | timedelta = 0.0,
        *,
        to: datetime | None = None,
        wait: bool = True,
        within: float = TIMEOUT,
        raise_errors: bool = True,
    ) -> None:
        """Let time go by: each tick in between comes in order, and what is delayed gets due in between.

        Args:
            by: seconds, or a timedelta.
            to: a moment, instead.
            wait: handlers take no time: at each moment it is waited until the system is empty. False: what they still have
                in hand they keep, and later ticks find them at work.
            within: seconds for each moment.
            raise_errors: as for `wait_until_empty`.
        """

        def wait_until_empty() -> None:
            self.wait_until_empty(within, raise_errors=raise_errors)

        self._stepper.step(by, to, wait_until_empty if wait else None, within)

    async def astep(
        self,
        by: float | timedelta = 0.0,
        *,
        to: datetime | None = None,
        wait: bool = True,
        within: float = TIMEOUT,
        raise_errors: bool = True,
    ) -> None:
        """`step` for asyncio: the event loop goes on meanwhile."""
        await asyncio.to_thread(self.step, by, to=to, wait=wait, within=within, raise_errors=raise_errors)

    def poll(self, *names: str, within: float = TIMEOUT) -> None:
        """Have sources called, once each, or until a page says that there is no more; comes back when that is published.

        Args:
            names: of the sources; all, if none is named.

        Raises:
            SourceFailed: one of them raised something.
        """
        known = [source.name for source in self.app.sources]
        if self.has_rhythm:
            raise UsageError("system.poll(): with sources=True they are called in their own rhythm.")
        for name in names:
            if name not in known:
                raise UsageError(f"system.poll({name!r}): the App has no such source. It has: {', '.join(known)}.")
        polls = {name: self.polls.of(name) for name in names or known}
        for poll in polls.values():
            poll.asked += 1
        if not wait_for(lambda: all(poll.done >= poll.asked for poll in polls.values()), within):
            raise self.not_so(f"a source has not returned after {within:g} s, or waits as its page said")
        for reader in self.generator.instance.generator.readers:
            if reader.name in polls and reader.failing is not None:
                raise SourceFailed(f"the source {reader.declared.where} failed: {reader.failing[1]}")

    # what is said when something is not so

    def outstanding(self) -> Outstanding:
        """What is still to be done, kind by kind."""
        found = outstanding(self.link, self.keys, self._known)
        self._known = tuple(found.kinds)
        return found

    def _is_empty(self, besides: Collection[str]) -> bool:
        left = {kind: each for kind, each in self.outstanding().kinds.items() if kind not in besides}
        for member in self.members:
            if member.failure is not None and not self.running:
                raise self.not_so("the last instance has ended by itself") from member.failure
        if says := unhandled(left, self._handling.handlers if self.running else (), self.app.handlers):
            raise self.not_so(says)
        waits = any(member.is_generator and member.instance.generator.has_ticks_waiting for member in self.members)
        return not waits and not any(each.open for each in left.values())

    def not_so(self, says: str) -> NotEmpty:
        gone = [f"instance {each.number}: {_end_of(each)}" for each in self.members if not each.is_running]
        return NotEmpty(picture(says, self.outstanding().kinds, self.inspect(), self._records(), gone))

    def _records(self) -> list[ErrorRecord]:
        with self._looking:
            return list(self._store.oldest())


def _end_of(member: Member) -> str:
    if member.is_killed:
        return "was killed"
    reason = member.instance.stuck or member.failure
    return f"left: {reason}" if reason else "was stopped"
