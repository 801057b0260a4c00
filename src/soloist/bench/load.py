"""A measured load: one generator and some handlers work through so many messages, and what that took is told."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from soloist.bench import ledger
from soloist.bench.arena import Arena, Ground
from soloist.bench.instances import Instances
from soloist.bench.task import Task
from soloist.errors import Unavailable
from soloist.lab import memory, processor_time
from soloist.message import DEFAULT_KIND
from soloist.store.control import pause
from soloist.store.fitness import info

APP = "soloist.bench.app:app"
LOOK = 0.01
"""Seconds between looks at how far it is; the time that is told is as exact as that."""

STALLED = 60.0
"""Seconds without any progress after which the measurement is given up."""

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Load:
    """What is to be done.

    Attributes:
        messages: so many are handled in the measured time.
        handlers: by so many instances, beside the one that generates.
        fill: so many lie pending before the measured time begins.
        fresh: so many are published in the measured time; None: all that are handled, unless some lie pending.
        size: bytes of a body; None: texts of the default application.
        is_marked: whether every message is written down, for the verdict.
    """

    messages: int
    handlers: int
    fill: int = 0
    fresh: int | None = None
    size: int | None = None
    is_marked: bool = True

    def task(self, ground: Ground) -> Task:
        """What the instances are told."""
        fresh = self.fresh if self.fresh is not None else 0 if self.fill else self.messages
        return Task(str(ground.folder), self.fill, fresh, self.size, self.is_marked)


@dataclass(frozen=True)
class Measured:
    """What was seen in the measured time. Processor time in seconds, of all instances together; memory in bytes.

    Attributes:
        messages: how many were handled.
        moved: what processor time is divided by: the mean of handled and published, where any were published. (With a
            long queue the two need not keep step.)
        filled_bytes: what the messages take on the server that lie pending at its beginning.
        early_memory: resident, of the largest handler, when a tenth is handled; late_memory: at the end.
        lost: how many were never handled; None: nobody kept books.
        duplicated: how often one was handled, or recorded as handled, once more; None: nobody kept books, and the server
            has not counted too many either.
    """

    messages: int
    moved: float
    handlers: int
    seconds: float
    failed: int
    server_cpu: float
    client_cpu: float
    filled_bytes: int
    early_memory: int
    late_memory: int
    lost: int | None
    duplicated: int | None

    @property
    def rate(self) -> float:
        return self.messages / self.seconds

    @property
    def server_us(self) -> float:
        return 1e6 * self.server_cpu / self.moved

    @property
    def client_us(self) -> float:
        return 1e6 * self.client_cpu / self.moved


def measure(arena: Arena, load: Load, progress: Progress = lambda _: None) -> Measured:
    """Do it once, in a fresh namespace."""
    with arena.ground() as ground:
        task = load.task(ground)
        with arena.instances(ground, task.variables()) as instances:
            filled_bytes = get_ready(ground, instances, load)
            return _measure(ground, instances, load, task, progress, filled_bytes)


def get_ready(ground: Ground, instances: Instances, load: Load) -> int:
    """Everybody is there, what is to lie pending does, and nobody handles yet; answers what that takes."""
    instances.wait_until(lambda: not _is_clearing_up(ground), "the end of the clearing up after the run before")
    before = memory.of_server(ground.link)
    pause(ground.link, ground.keys, [DEFAULT_KIND], on=True)
    instances.start(APP)
    for _ in range(load.handlers):
        instances.start(APP, "--role", "handler")
    many = 1 + load.handlers
    instances.wait_until(lambda: ground.inspector.snapshot().term is not None, "the election of a generator")
    instances.wait_until(lambda: len(ground.inspector.snapshot().instances) == many, f"the start of {many} instances")
    instances.wait_until(
        lambda: ground.inspector.snapshot().published >= load.fill, "the filling of the queue", within=600
    )
    instances.wait_until(lambda: not _is_writing_anew(ground), "the end of the server's own housekeeping", within=600)
    return memory.of_server(ground.link) - before


def _is_clearing_up(ground: Ground) -> bool:
    """Whether the server still gives memory free that was used before."""
    return int(info(ground.link).get("lazyfree_pending_objects", 0)) > 0


def _is_writing_anew(ground: Ground) -> bool:
    """Whether the server writes its file anew, because of what was filled in: not what is to be measured."""
    about = info(ground.link)
    return any(int(about.get(name, 0)) for name in ("aof_rewrite_in_progress", "rdb_bgsave_in_progress"))


def _measure(
    ground: Ground, instances: Instances, load: Load, task: Task, progress: Progress, filled_bytes: int
) -> Measured:
    server_before = processor_time.of_server(ground.link)
    clients_before = processor_time.of_processes(instances.pids)
    begun = moved = time.monotonic()
    pause(ground.link, ground.keys, [DEFAULT_KIND], on=False)
    task.gate.touch()
    handled = fresh = early_memory = 0
    while handled < load.messages or fresh < task.messages:
        time.sleep(LOOK)
        completed, failed, published = totals(ground)
        now = time.monotonic()
        if (completed + failed, published - load.fill) != (handled, fresh):
            handled, fresh, moved = completed + failed, published - load.fill, now
            progress(handled)
            if not early_memory and 10 * handled >= load.messages:
                early_memory = memory.of_processes(instances.pids[1:])
            if handled >= load.messages and fresh < task.messages:  # as many as were asked for; others stay pending
                pause(ground.link, ground.keys, [DEFAULT_KIND], on=True)
        elif now - moved > STALLED:
            raise Unavailable(f"the measurement was given up: nothing was handled or published for {STALLED:g} s")
        instances.check()  # also after the last look: figures of fewer instances than were asked for are none
    seconds = now - begun
    client_cpu = processor_time.of_processes(instances.pids) - clients_before
    server_cpu = processor_time.of_server(ground.link) - server_before
    late_memory = memory.of_processes(instances.pids[1:])
    lost = duplicated = None
    if load.messages == task.in_all:  # nothing is to stay pending, so each can be accounted for
        instances.stop()
        recorded = sum(totals(ground)[:2])
        lost, duplicated = ledger.verdict(
            ledger.read(ground.folder, task.in_all) if load.is_marked else None, recorded, task.in_all
        )
    return Measured(
        handled,
        (handled + fresh) / 2 if fresh else handled,
        load.handlers,
        seconds,
        failed,
        server_cpu,
        client_cpu,
        filled_bytes,
        early_memory,
        late_memory,
        lost,
        duplicated,
    )


def totals(ground: Ground) -> tuple[int, int, int]:
    """Completed, failed, published so far."""
    counts = ground.link.command("HMGET", ground.keys.totals, "completed", "failed", "published")
    completed, failed, published = (int(value or 0) for value in counts)
    return completed, failed, published
