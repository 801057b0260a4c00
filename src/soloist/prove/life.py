"""What an attempt lives in: the App's lifespan, its event loop, and a thread for the user's function, as in an instance."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from soloist.errors import UsageError
from soloist.prove.child import Crashed, Refused, Report, Seen, crash
from soloist.prove.crash_points import END, Place, Watch
from soloist.prove.own_code import OwnCode
from soloist.runtime.lifespan import Lifespan
from soloist.runtime.loop import Loop

if TYPE_CHECKING:
    from soloist.app import App

T = TypeVar("T")

PATIENCE = 10.0
"""Seconds that an attempt may take if the handler has no timeout of its own: so long nobody waits at a terminal."""

CLOSING = 2.0
"""Seconds for what the user's code left running, and again for the end of the lifespan."""


class Life:
    """One life, in a process of its own.

    Args:
        crash_at: the number of the crash point at which it is killed; 0: when all is done; None: it is not.
        waits: at its end, for threads that the user's code began. An instance lives on, and they come to theirs.

    Attributes:
        ctx: what the lifespan yielded.
    """

    def __init__(self, report: Report, own: OwnCode, crash_at: int | None, *, waits: bool) -> None:
        self.ctx: Any = None
        self.loop = Loop()
        self._report = report
        self._crash_at = crash_at
        self._waits = waits
        self._watch = Watch(own, crash_at, self._crash)

    @contextmanager
    def of(self, app: "App") -> Iterator[None]:
        """From the beginning of the lifespan to its end; afterwards the crash points that were seen are told.

        Raises:
            UsageError: the lifespan fails.
        """
        self._watch.install()
        lifespan = Lifespan(app.lifespan, self.loop)
        self.ctx = lifespan.enter()
        yield
        if self.ends_in_a_crash:
            self._crash(END)
        lifespan.leave(CLOSING)
        self.loop.stop(CLOSING)
        self._report.write(Seen(self._watch.places, self._watch.seen, self._has_lasting_threads()))

    @property
    def ends_in_a_crash(self) -> bool:
        """It is to be killed when all is done, before anything is closed."""
        return self._crash_at == 0

    def on_thread(self, work: Callable[[], None], name: str) -> None:
        """Have something done by a thread, as in an instance: what the lifespan opened is used by another than its own."""
        raised: list[BaseException] = []

        def guarded() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is told on the other thread
                raised.append(error)

        worker = threading.Thread(target=guarded, name=name, daemon=True)
        worker.start()
        worker.join()
        if raised:
            raise raised[0]

    def watched(self, call: Callable[[], T]) -> T:
        """Call the user's function, and be killed in it if that is what this life is for."""
        before = self._tasks()
        self._watch.on()
        try:
            return call()
        finally:
            self._watch.off()
            self._wait_for(self._tasks() - before)

    def _crash(self, place: Place) -> None:
        self._report.write(Crashed(place))
        crash()

    def _has_lasting_threads(self) -> bool:
        """Wait for those that come to their end. Those of a handler are daemons, as the thread that it runs on."""
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - nobody else also ends idle executors
        if not self._waits:
            return False
        until = time.monotonic() + CLOSING
        others = [each for each in threading.enumerate() if each is not threading.current_thread()]
        for each in others:
            each.join(max(0.0, until - time.monotonic()))
        return any(each.is_alive() for each in others)

    def _tasks(self) -> "set[asyncio.Task[Any]]":
        """What runs in the loop, if there is one: asking for it would begin one."""
        return asyncio.all_tasks(self.loop.running) if self.loop.has_begun else set()

    def _wait_for(self, tasks: "set[asyncio.Task[Any]]") -> None:
        """Tasks that the function began and did not wait for: an instance lives on, and they come to their end."""
        if tasks and not self.ends_in_a_crash:
            self.loop.run(lambda: asyncio.wait(tasks, timeout=CLOSING))


def refused(report: Report, error: UsageError) -> None:
    """It could not begin: that is told, and is all of this life."""
    report.write(Refused(str(error)))
