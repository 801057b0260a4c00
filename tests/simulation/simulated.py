"""What the runtime gets instead of `threading`, `time` and `queue`: the same, in virtual time.

Each of these is a point at which the scheduler may let others run, and at which a killed process ends.
"""

import string
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Protocol

from tests.simulation.scheduler import Scheduler, Task

WALL_CLOCK = 1_800_000_000.0
"""Seconds since the epoch at which every history begins."""


class Play(Protocol):
    """The history that is played; see history.py."""

    scheduler: Scheduler

    def new_id(self) -> str: ...
    def new_tag(self) -> str: ...
    def reached(self, point: str) -> None: ...
    def write_lines(self, lines: Sequence[str]) -> int: ...


class Stage:
    """Where the runtime finds the history that is played now."""

    scheduler: Scheduler
    play: Play

    def begin(self, play: Play) -> None:
        self.play, self.scheduler = play, play.scheduler

    def new_id(self) -> str:
        """`incarnation.new_id`."""
        return self.play.new_id()

    def new_tag(self) -> str:
        """`incarnation.new_tag`: one that was not used before."""
        return self.play.new_tag()

    def write_lines(self, lines: Sequence[str]) -> int:
        """What getErrors prints with."""
        return self.play.write_lines(lines)

    def reached(self, point: str) -> None:
        """A kill point."""
        self.play.reached(point)


stage = Stage()


class Lock:
    """`threading.Lock`: handed to whoever waits longest."""

    def __init__(self) -> None:
        self._holder: Task | None = None
        self._waiting: deque[Task] = deque()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        scheduler = stage.scheduler
        scheduler.point()
        task = scheduler.current
        if self._holder is None:
            self._holder = task
            return True
        if not blocking:
            return False
        self._waiting.append(task)
        try:
            scheduler.wait(None if timeout < 0 else timeout)
        finally:
            if self._holder is not task and task in self._waiting:
                self._waiting.remove(task)
        return self._holder is task

    def release(self) -> None:
        self._holder = self._waiting.popleft() if self._waiting else None
        if self._holder is not None:
            stage.scheduler.wake(self._holder)

    def locked(self) -> bool:
        return self._holder is not None

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class RLock(Lock):
    """`threading.RLock`."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        taken = self._holder is stage.scheduler.current or super().acquire(blocking, timeout)
        self._depth += taken
        return taken

    def release(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            super().release()


class Event:
    """`threading.Event`."""

    def __init__(self) -> None:
        self._is_set = False
        self._waiting: list[Task] = []

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        waiting, self._waiting = self._waiting, []
        for task in waiting:
            stage.scheduler.wake(task)

    def clear(self) -> None:
        self._is_set = False

    def wait(self, timeout: float | None = None) -> bool:
        scheduler = stage.scheduler
        scheduler.point()
        if not self._is_set:
            task = scheduler.current
            self._waiting.append(task)
            if scheduler.wait(timeout):
                return True
            if task in self._waiting:
                self._waiting.remove(task)
        return self._is_set


class Condition:
    """`threading.Condition`, with a lock of its own."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._waiting: list[Task] = []

    def __enter__(self) -> bool:
        return self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        scheduler = stage.scheduler
        task, depth = scheduler.current, self._lock._depth
        self._waiting.append(task)
        self._lock._depth = 1
        self._lock.release()
        try:
            return scheduler.wait(timeout)
        finally:
            if task in self._waiting:
                self._waiting.remove(task)
            self._lock.acquire()
            self._lock._depth = depth

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> bool:
        until = None if timeout is None else stage.scheduler.now + timeout
        while not (found := predicate()):
            left = None if until is None else until - stage.scheduler.now
            if left is not None and left <= 0:
                break
            self.wait(left)
        return bool(found)

    def notify_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        for task in waiting:
            stage.scheduler.wake(task)


class Thread:
    """`threading.Thread`, of the process whose thread makes it."""

    ident = None

    def __init__(
        self, target: Callable[..., None], name: str = "", args: Sequence[Any] = (), daemon: bool = True
    ) -> None:
        self.name = name
        self._task = Task(name, stage.scheduler.current.owner, lambda: target(*args), self)
        self._has_begun = False

    def start(self) -> None:
        self._has_begun = True
        self._task.owner.tasks.append(self._task)
        stage.scheduler.spawn(self._task)

    def is_alive(self) -> bool:
        return self._has_begun and not self._task.has_ended

    def join(self, timeout: float | None = None) -> None:
        scheduler = stage.scheduler
        scheduler.point()
        if self.is_alive():
            self._task.joined_by.append(scheduler.current)
            scheduler.wait(timeout)


class SimpleQueue:
    """`queue.SimpleQueue`."""

    def __init__(self) -> None:
        self._items: deque[Any] = deque()
        self._waiting: deque[Task] = deque()

    def put(self, item: Any) -> None:
        self._items.append(item)
        if self._waiting:
            stage.scheduler.wake(self._waiting.popleft())

    def get(self) -> Any:
        scheduler = stage.scheduler
        scheduler.point()
        while not self._items:
            self._waiting.append(scheduler.current)
            scheduler.wait(None)
        return self._items.popleft()


class Threading:
    """The module `threading`, as far as the runtime knows it."""

    Lock, RLock, Event, Condition, Thread = Lock, RLock, Event, Condition, Thread

    @staticmethod
    def current_thread() -> Any:
        return stage.scheduler.current.thread


class Time:
    """The module `time`. Each process has a clock of its own, which begins anywhere and may stand still."""

    @staticmethod
    def monotonic() -> float:
        scheduler = stage.scheduler
        scheduler.point()
        return scheduler.now + scheduler.current.owner.monotonic_ahead

    @staticmethod
    def time() -> float:
        scheduler = stage.scheduler
        return WALL_CLOCK + scheduler.now + scheduler.current.owner.wall_ahead

    @staticmethod
    def time_ns() -> int:
        return int(Time.time() * 1_000_000_000)

    @staticmethod
    def sleep(seconds: float) -> None:
        scheduler = stage.scheduler
        scheduler.point()
        scheduler.sleep(seconds)


class Machine:
    """What the runtime asks `os` and `socket` of the process that it is: the same on every machine."""

    @staticmethod
    def getpid() -> int:
        return 17

    @staticmethod
    def gethostname() -> str:
        return stage.scheduler.current.owner.name


def names(name: str) -> Callable[[], str]:
    """Ids of the incarnations of a process, that people can tell apart."""
    letters = (f"{name}{letter}" for letter in string.ascii_lowercase)
    numbers = (f"{name}z{number}" for number in count(1))
    return lambda: next(letters, None) or next(numbers)
