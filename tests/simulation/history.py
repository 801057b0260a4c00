"""One history: real instances and drainers on the stage, what the plan says happens to them, and the verdict."""

import json
import random
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from soloist.cli import get_errors
from soloist.errors import SoloistError, Unavailable
from soloist.events import Event, Events
from soloist.message import Message
from soloist.runtime.instance import Instance
from soloist.settings import Settings
from soloist.store.keys import Keys
from soloist.target import Target
from tests.simulation import application
from tests.simulation.backend import Backend
from tests.simulation.connection import SimulatedServer
from tests.simulation.faults import Faults
from tests.simulation.ledger import Ledger
from tests.simulation.network import Network
from tests.simulation.plan import Plan
from tests.simulation.presences import Presences
from tests.simulation.process import Process
from tests.simulation.scheduler import Overrun, Scheduler
from tests.simulation.simulated import WALL_CLOCK, Thread, stage
from tests.simulation.trace import Trace
from tests.simulation.verdict import JOBS_SOURCE, End, judge

NAMESPACE = "simulated"
LOOK = 0.25
"""Virtual seconds between looks at whether all is done."""

PATIENCE = 60.0
"""Virtual seconds after the last fault within which all must be done."""

LOOK_AT = """
local base, waiting = ARGV[1], {}
local function add(envelopes)
  for _, envelope in ipairs(envelopes) do waiting[#waiting + 1] = string.match(envelope, '^[^ ]*') end
end
for _, kind in ipairs({ 'default', 'ticks', 'more', 'schedule:jobs' }) do
  for _, list in ipairs({ 'pending:', 'again:', 'suspect:' }) do add(redis.call('LRANGE', base .. list .. kind, 0, -1)) end
  add(redis.call('ZRANGE', base .. 'delayed:' .. kind, 0, -1))
end
local present = redis.call('ZRANGE', base .. 'instances', 0, -1)
local drainers = redis.call('ZRANGE', base .. 'drainers', 0, -1)
for _, id in ipairs(present) do add(redis.call('LRANGE', base .. 'claimed:' .. id, 0, -1)) end
local errors = redis.call('HKEYS', base .. 'errors')
for _, id in ipairs(drainers) do
  for _, held in ipairs(redis.call('HKEYS', base .. 'drained:' .. id)) do errors[#errors + 1] = held end
end
local term = redis.call('HMGET', base .. 'term', 'seq', 'cursor:pages')
return { redis.call('HGETALL', base .. 'totals'), waiting, term[1] or '0', term[2] or '0',
  redis.call('LRANGE', base .. 'data:done', 0, -1), redis.call('GET', base .. 'data:sum') or '0', errors, present, drainers }
"""


@dataclass(frozen=True)
class Outcome:
    """What came of a history.

    Attributes:
        wrong: what was wrong with it.
        calls: how many scripts the server carried out.
        recovered: messages that were begun more than once and have one outcome.
        seconds: how long it lasted, in virtual time.
    """

    wrong: list[str]
    trace: Trace
    calls: int
    switches: int
    recovered: int
    seconds: float


class History:
    """Plays a plan."""

    def __init__(self, backend: Backend, plan: Plan) -> None:
        self.plan = plan
        self.scheduler = Scheduler()
        self.chance = random.Random(plan.seed)
        self.trace = Trace()
        self.ledger = Ledger()
        self.network = Network(self.scheduler, backend, self.trace, self.chance)
        self.network.trips = plan.trips
        self.network.server_ahead_us = int(WALL_CLOCK * 1_000_000)
        self.settings = Settings().changed(
            heartbeat=plan.heartbeat,
            lease=plan.lease,
            claim_lease=plan.claim_lease,
            max_pending=plan.max_pending,
            max_attempts=plan.max_attempts,
            stop_timeout=5.0,
        )
        self.keys = Keys(NAMESPACE)
        self.processes: dict[str, Process] = {}
        self.instances: dict[str, Instance] = {}
        self._letters = iter([*string.ascii_uppercase, *(f"A{number}" for number in range(100))])
        self._ticks = self._tags = 0
        self._is_ending = False
        self.faults = Faults(self)
        stage.begin(self)
        self.presences = Presences(backend.listens)
        backend.begin(self._watch)
        self.backend = backend
        self.app = application.make(self)
        self.server = SimulatedServer(self.network)

    def play(self) -> Outcome:
        """From the first join to the verdict."""
        self._hold_up()
        wrong: list[str] = []
        settled: float | None = None
        try:
            for _ in range(self.plan.instances):
                self.start()
                self.scheduler.sleep(0.01)
            self.faults.schedule()
            self.scheduler.sleep(max(0.0, self.faults.over_at - self.scheduler.now))
            self.trace.happened(self.scheduler.now, "everything heals")
            self.faults.heal()
            settled = self._settle()
            self._stop_all()
        except Overrun as overrun:
            wrong.append(str(overrun))
        finally:
            end = self._end(settled)
            try:
                self._close()
            except Overrun as overrun:
                wrong.append(str(overrun))
        wrong += judge(self.plan, self.ledger, end)
        recovered = sum(1 for times in self.ledger.begun.values() if times > 1)
        return Outcome(wrong, self.trace, self.backend.calls, self.scheduler.switches, recovered, self.scheduler.now)

    # What the runtime and the user's code find on the stage.

    def new_id(self) -> str:
        owner = self.scheduler.current.owner
        assert isinstance(owner, Process)
        ident = owner.new_id()
        self.ledger.owners[ident] = owner.name
        return ident

    def new_tag(self) -> str:
        self._tags += 1
        return f"k{self._tags}"

    def reached(self, point: str) -> None:
        self.scheduler.point()
        self.faults.reached(point)

    def write_lines(self, lines: Sequence[str]) -> int:
        process = self.scheduler.current.owner.name
        self.ledger.printed += [(process, json.loads(line)["id"]) for line in lines]
        self.scheduler.sleep(0.01)
        return len(lines)

    @property
    def is_ending(self) -> bool:
        return self._is_ending

    def sleep(self, seconds: float) -> None:
        self.scheduler.sleep(seconds)

    def die(self) -> None:
        process = self.scheduler.current.owner
        assert isinstance(process, Process)
        self.trace.happened(self.scheduler.now, f"{process.name} dies of a message")
        self.scheduler.at(self.scheduler.now, process.kill)
        self.scheduler.sleep(1.0)

    def began(self, message: Message) -> None:
        name = self.scheduler.current.owner.name
        self.ledger.began(name, message.id)

    def new_tick(self) -> str:
        self._ticks += 1
        return f"tick {self._ticks}"

    def _watch(self, name: str, words: list[bytes], answer: list[Any]) -> None:
        self.ledger.watch(name, words, answer)
        wrong = self.presences.watch(name, words, answer, self.backend.now_us)
        if wrong and not self.plan.bends_time:
            self.ledger.wrong.append(wrong)

    # Who takes part.

    @property
    def living(self) -> list[str]:
        """Instances that run and were not asked to stop, in the order in which they were started."""
        return [
            name
            for name, instance in self.instances.items()
            if not self.processes[name].has_ended and not instance.is_leaving
        ]

    @property
    def generator(self) -> str | None:
        return next((name for name in self.living if self.instances[name].played), None)

    def process(self, name: str, main: Callable[[Process], None]) -> None:
        """Start one."""
        process = self.processes[name] = Process(name, self.scheduler, self.chance)
        before, self.scheduler.current.owner = self.scheduler.current.owner, process
        try:
            Thread(lambda: main(process), "main").start()
        finally:
            self.scheduler.current.owner = before

    def start(self) -> None:
        """Start another instance."""
        name = next(self._letters)
        self.trace.happened(self.scheduler.now, f"{name} is started")
        self.process(name, self._run_instance)

    def drain(self) -> None:
        """Somebody runs getErrors."""
        name = f"{next(self._letters)}!"
        self.trace.happened(self.scheduler.now, f"getErrors {name} is started")
        self.process(name, self._run_drainer)

    def _run_instance(self, process: Process) -> None:
        events = Events(lambda event: self._told(process, event))
        instance = Instance(self.app, self.server, NAMESPACE, self.settings, events)
        try:
            instance.start()
        except Unavailable:
            process.failed_to_start = True
            return
        self.instances[process.name] = instance
        instance.wait()
        instance.stop()
        if instance.failure is not None:
            self.ledger.wrong.append(f"{process.name} failed: {instance.failure!r} {instance.failure.__cause__!r}")

    def _run_drainer(self, process: Process) -> None:
        try:
            get_errors.drain(lambda: Target(self.server, NAMESPACE, self.settings, embedded=False), True, None)
        except Unavailable:
            self.trace.happened(self.scheduler.now, f"getErrors {process.name} has given up")
        except SoloistError as error:
            self.ledger.wrong.append(f"{process.name} failed: {error!r}")

    def _told(self, process: Process, event: Event) -> None:
        if event.event not in ("generated", "handled"):
            self.ledger.told.append((self.scheduler.now, process.name, event.event, event.fields))
            self.trace.happened(self.scheduler.now, f"{process.name} as {event.instance}: {event.event} {event.fields}")

    def _hold_up(self) -> None:
        """Hold threads up now and then, between any two of their steps."""
        mean = self.plan.stalls
        if not mean:
            return
        stalls = (0.0, 0.0, 0.001, 0.02) if self.plan.mode == "mild" else (0.0, 0.0, 0.001, 0.02, 0.2)

        def stall() -> float:
            self.scheduler.pause_at = self.scheduler.points + self.chance.randint(1, 2 * mean)
            return self.chance.choice(stalls)

        self.scheduler.stall = stall
        self.scheduler.pause_at = self.chance.randint(1, 2 * mean)

    # The end.

    def _settle(self) -> float | None:
        """Wait until all is published and done; how long that took, None if it never was."""
        began = self.scheduler.now
        self._is_ending = True
        self.backend.ask("HSET", self.keys.paused, JOBS_SOURCE, 1)
        self.backend.ask("HINCRBY", self.keys.meta, "agenda", 1)
        while self.scheduler.now < began + PATIENCE:
            while len(self.living) + self._starting < 2:
                self.start()
            self.scheduler.sleep(LOOK)
            _, waiting, _, cursor, *_ = self._look()
            if not waiting and int(cursor) >= self.plan.messages:
                return self.scheduler.now - began
        return None

    @property
    def _starting(self) -> int:
        return sum(
            1
            for name, each in self.processes.items()
            if name not in self.instances and "!" not in name and not each.has_ended
        )

    def _stop_all(self) -> None:
        self.scheduler.sleep(LOOK)
        self.stopped_last = self.living
        for name in self.stopped_last:
            self.instances[name].ask_to_stop()
        until = self.scheduler.now + 15.0
        while self.scheduler.now < until and not all(self.processes[name].has_ended for name in self.stopped_last):
            self.scheduler.sleep(0.05)
        for name in self.stopped_last:
            if not self.processes[name].has_ended:
                running = [task.name for task in self.processes[name].tasks if not task.has_ended]
                self.ledger.wrong.append(f"{name} does not end: {running}")

    stopped_last: list[str] = []  # noqa: RUF012 - replaced, never changed

    def _look(self) -> list[Any]:
        found: list[Any] = self.backend.ask("EVAL", LOOK_AT, 0, self.keys.base)
        return found

    def _end(self, settled: float | None) -> End:
        totals, waiting, seq, cursor, done, summed, errors, present, drainers = self._look()
        pairs = iter(totals)
        left = {self.instances[name].incarnation.id for name in self.stopped_last}
        return End(
            totals={name.decode(): int(value) for name, value in zip(pairs, pairs, strict=True)},
            waiting=[ident.decode() for ident in waiting],
            seq=int(seq),
            cursor=int(cursor),
            done=[ident.decode() for ident in done],
            summed=int(summed),
            errors=sorted(ident.decode() for ident in errors),
            settled=settled,
            present=sorted(ident.decode() for ident in (*present, *drainers) if ident.decode() in left),
            open_streams=[
                name
                for name, process in self.processes.items()
                if process.has_ended and not process.is_dead and any(stream.is_open_here for stream in process.streams)
            ],
        )

    def _close(self) -> None:
        tasks = []
        for process in self.processes.values():
            process.is_dead = True
            tasks += process.tasks
        self.scheduler.close(tasks)
        self.backend.end()
