"""Virtual time, and one thread at a time.

Every simulated thread runs on a real one, since the runtime's code is plain Python that waits wherever it likes. But it
runs only while it has the baton: whoever waits looks up what happens next, moves the clock there, and hands the baton to
whoever is woken by it. So a history needs no real time, and nothing in it depends on the machine.
"""

import _thread
import heapq
import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

MOST_EVENTS = 200_000
MOST_POINTS = 3_000_000
"""Of one history: beyond it somebody turns in circles."""


class Killed(BaseException):
    """The process of this thread is gone: unwind."""


class Overrun(Exception):
    """The history does not come to an end."""


class Owner:
    """What a task belongs to; see process.py. The stage's own tasks belong to one that nothing ever happens to.

    Attributes:
        is_dead: its tasks unwind.
        is_frozen: its tasks do not run.
        parked: those that were woken meanwhile.
        monotonic_ahead, wall_ahead: what its clocks show at the beginning of the history (seconds).
    """

    is_dead = False
    is_frozen = False
    monotonic_ahead = 0.0
    wall_ahead = 0.0

    def __init__(self, name: str) -> None:
        self.name = name
        self.tasks: list[Task] = []
        self.parked: list[Task] = []


class Task:
    """One simulated thread.

    Attributes:
        baton: released when it may run.
        ticket: which of its waits this is; one that is over cannot time out.
        is_waiting: whether it may be woken.
        was_woken: whether its last wait ended because somebody woke it.
    """

    __slots__ = (
        "baton",
        "has_ended",
        "is_waiting",
        "joined_by",
        "name",
        "owner",
        "run",
        "thread",
        "ticket",
        "was_woken",
    )

    def __init__(self, name: str, owner: Owner, run: Callable[[], None], thread: Any = None) -> None:
        self.name = name
        self.owner = owner
        self.run = run
        self.thread = thread
        self.ticket = 0
        self.is_waiting = False
        self.was_woken = False
        self.has_ended = False
        self.joined_by: list[Task] = []
        self.baton: _thread.LockType | None = None


class Scheduler:
    """Who runs, and what time it is.

    Attributes:
        now: virtual seconds since the history began.
        current: the task that has the baton.
        raised: what went wrong outside the tasks' own code, or what they let through.
        points: how many moments between two steps there were.
        pause_at: at which of them others run first.
        stall: says for how long, and sets the next `pause_at`.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.current = self.root = Task("stage", Owner("stage"), lambda: None)
        self.root.baton = _thread.allocate_lock()
        self.root.baton.acquire()
        self.raised: BaseException | None = None
        self.switches = 0
        self.points = 0
        self.pause_at: float = math.inf
        self.stall: Callable[[], float] = float
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._order = count()
        self._ready: deque[Task] = deque()
        self._happened = 0

    # What is to happen.

    def at(self, when: float, happens: Callable[..., None], *args: Any) -> None:
        """It happens then, or now if that is over. It may not wait."""
        heapq.heappush(self._events, (when, next(self._order), happens, args))

    def spawn(self, task: Task) -> None:
        """A new task; it runs when its turn comes."""
        worker = IDLE.pop() if IDLE else _Worker()
        worker.task, worker.scheduler = task, self
        task.baton = worker.baton
        self._make_ready(task)

    # What tasks do.

    def sleep(self, seconds: float) -> None:
        task = self.current
        if task.owner.is_dead:
            raise Killed
        task.is_waiting = False
        self.at(self.now + seconds, self._make_ready, task)
        self._block(task)

    def wait(self, within: float | None) -> bool:
        """Until somebody wakes the current task, or so many seconds; True if it was woken."""
        task = self.current
        if task.owner.is_dead:
            raise Killed
        task.ticket += 1
        task.is_waiting, task.was_woken = True, False
        if within is not None:
            self.at(self.now + within, self._time_out, task, task.ticket)
        self._block(task)
        return task.was_woken

    def wake(self, task: Task) -> None:
        """End its wait, if it waits."""
        if task.is_waiting:
            task.is_waiting, task.was_woken = False, True
            self._make_ready(task)

    def point(self) -> None:
        """A moment between two steps of the current task: it may die here, or others may run first."""
        task = self.current
        if task.owner.is_dead:
            raise Killed
        self.points += 1
        self.now += 1e-6  # so that nobody who looks at the clock again and again waits for ever
        if self.points > MOST_POINTS:
            self.raised = Overrun(f"{task.owner.name}, {task.name}: turns in circles")
            self.wait(None)
        if self.points >= self.pause_at:
            self.sleep(self.stall())

    def unwind(self, tasks: Iterable[Task]) -> None:
        """These belong to one that is dead. Only from what happens, not from a task: all tasks must wait."""
        for task in tasks:
            if not task.has_ended and task not in self._ready:
                task.ticket += 1
                task.is_waiting = False
                self._ready.append(task)

    def thaw(self, owner: Owner) -> None:
        parked, owner.parked = owner.parked, []
        self._ready.extend(parked)

    def close(self, tasks: Iterable[Task]) -> None:
        """The history is over: nothing happens any more, and these, of whom all are dead, unwind."""
        self.raised = None
        self._events.clear()
        self.unwind(tasks)
        self.sleep(0.0)

    # The baton.

    def _time_out(self, task: Task, ticket: int) -> None:
        if task.is_waiting and task.ticket == ticket:
            task.is_waiting = False
            self._make_ready(task)

    def _make_ready(self, task: Task) -> None:
        if not task.has_ended and task not in self._ready:
            self._ready.append(task)

    def _next(self) -> Task:
        """Whoever runs next; moves the clock to what makes somebody run."""
        while self.raised is None:
            while self._ready:
                task = self._ready.popleft()
                if not task.owner.is_frozen or task.owner.is_dead:
                    return task
                task.owner.parked.append(task)
            if not self._events:
                break
            self._happened += 1
            if self._happened > MOST_EVENTS:
                self.raised = Overrun("too much happens")
                break
            when, _, happens, args = heapq.heappop(self._events)
            self.now = max(self.now, when)
            try:
                happens(*args)
            except BaseException as error:  # noqa: BLE001 - it must not surface in whoever happens to have the baton
                self.raised = error
        return self.root

    def _block(self, task: Task) -> None:
        following = self._next()
        if following is not task:
            self.current = following
            self.switches += 1
            assert following.baton is not None
            assert task.baton is not None
            following.baton.release()
            task.baton.acquire()
        if task is self.root and self.raised is not None:
            raise self.raised
        if task.owner.is_dead:
            raise Killed

    def _finish(self, task: Task) -> None:
        """It has ended, on its own thread: hand the baton on, and do not wait for it."""
        task.has_ended = True
        for other in task.joined_by:
            self.wake(other)
        following = self._next()
        self.current = following
        assert following.baton is not None
        following.baton.release()


class _Worker:
    """A real thread; used by one task after another, also of other histories."""

    def __init__(self) -> None:
        self.baton = _thread.allocate_lock()
        self.baton.acquire()
        self.task: Task | None = None
        self.scheduler: Scheduler | None = None
        _thread.start_new_thread(self._work, ())

    def _work(self) -> None:
        while True:
            self.baton.acquire()
            task, scheduler = self.task, self.scheduler
            assert task is not None
            assert scheduler is not None
            try:
                if not task.owner.is_dead:
                    task.run()
            except Killed:
                pass
            except BaseException as error:  # noqa: BLE001 - told by the stage
                if not task.owner.is_dead and scheduler.raised is None:
                    scheduler.raised = error
            self.task = self.scheduler = None
            IDLE.append(self)
            scheduler._finish(task)


IDLE: list[_Worker] = []
"""Real threads without a task."""


@contextmanager
def one_core() -> Iterator[None]:
    """Handing the baton on costs a fifth where all threads run on one core. Threads that are made meanwhile stay there."""
    before = os.sched_getaffinity(0)
    cores = sorted(before)
    os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
