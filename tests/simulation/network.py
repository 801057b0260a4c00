"""The simulated network: streams between processes and the server, of which each end may know less than the other.

As TCP does it: what is sent on one stream arrives in order or not at all; what was sent before its end still arrives, also
when the sender has given up or died. A link of the runtime sees only what the client library's connection would show it.
"""

import random
from collections import deque
from collections.abc import Sequence
from math import inf
from typing import Any

from redis.exceptions import ConnectionError as Broken
from redis.exceptions import TimeoutError as TooLate

from tests.simulation.backend import Backend, unpack
from tests.simulation.process import CallFault, Process
from tests.simulation.scheduler import Scheduler, Task
from tests.simulation.trace import Trace

LOCAL = 0.0002
"""Seconds that a trip takes where nothing is wrong."""

LATER = object()
"""The server answers when somebody rings."""

SCRIPT_CALLS = (b"EVALSHA", b"EVAL")


class Stream:
    """One TCP connection. Its two ends are told apart: `here` is the process's, `there` the server's.

    Attributes:
        is_silent: nothing gets through any more, and nobody is told.
        inbox: answers that have arrived, and Broken where the stream has ended.
        channel: to which it is subscribed.
        waits: how often it has waited at a bell.
    """

    def __init__(self, network: "Network", process: Process) -> None:
        self._network = network
        self.process = process
        self.is_open_here = True
        self.is_open_there = True
        self.is_silent = False
        self.inbox: deque[Any] = deque()
        self.reader: Task | None = None
        self.channel = b""
        self.waits = 0
        self._sent_by = 0.0
        self._answered_by = 0.0

    # At the process's end.

    def send(self, frame: bytes) -> None:
        if Broken in self.inbox:
            raise Broken("the connection is broken")
        network, process, scheduler = self._network, self.process, self._network.scheduler
        words = unpack(frame)
        name = network.backend.name_of(words)
        _, fate, seconds, resets = network.fate_of(name) or ("", "", 0.0, False)
        network.trace.sent(scheduler.now, process.name, scheduler.current.name, name, fate)
        sent = max(self._sent_by, process.plugged_at, scheduler.now) + network.trip()
        arrives = self._sent_by = sent + (seconds if fate == "call late" else 0.0)
        if fate == "repeated":
            scheduler.at(arrives + seconds, network.deliver_copy, process, frame, words)
        if fate == "call lost":
            self._fall_silent(resets)
        elif not self.is_silent and arrives < inf:
            late = seconds if fate == "reply late" else 0.0
            scheduler.at(arrives, self._arrive, frame, words, fate == "reply lost", resets, late)

    def receive(self, within: float) -> Any:
        """The next answer; raises as the client library does."""
        scheduler = self._network.scheduler
        until = scheduler.now + within
        while not self.inbox:
            if not self.wait(until - scheduler.now):
                raise TooLate("Timeout reading from socket")
        answer = self.inbox[0]
        if answer is Broken:
            raise Broken("Connection closed by server.")
        self.inbox.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def wait(self, within: float) -> bool:
        """Until something has arrived; True if so."""
        scheduler = self._network.scheduler
        scheduler.point()
        if not self.inbox and within > 0:
            self.reader = scheduler.current
            try:
                scheduler.wait(within)
            finally:
                self.reader = None
        return bool(self.inbox)

    def close(self) -> None:
        """The process has no use for it any more; the server is told, if anything gets through."""
        if self.is_open_here:
            self.is_open_here = False
            scheduler = self._network.scheduler
            ends = max(self._sent_by, self.process.plugged_at, scheduler.now) + LOCAL
            if ends < inf and not self.is_silent:
                scheduler.at(ends, self.end_there)

    def shut(self) -> None:
        """Another thread of the process ends it under the hands of the one that reads."""
        self._hear(Broken)
        self.close()

    def _hear(self, answer: Any) -> None:
        if self.is_open_here:
            self.inbox.append(answer)
            if self.reader is not None:
                self._network.scheduler.wake(self.reader)

    def _fall_silent(self, resets: bool) -> None:
        self.is_silent = True
        if resets:
            self.reset()

    # At the server's end.

    def _arrive(self, frame: bytes, words: list[bytes], is_lost: bool, resets: bool, late: float) -> None:
        network = self._network
        if not self.is_open_there:
            return
        if network.stalled_until > network.scheduler.now:
            network.scheduler.at(network.stalled_until, self._arrive, frame, words, is_lost, resets, late)
            return
        answer = network.execute(self, frame, words)
        if is_lost:
            self._fall_silent(resets)
        elif answer is not LATER:
            self.answer(answer, late)

    def answer(self, answer: Any, late: float = 0.0) -> None:
        if self.is_silent or not self.is_open_there:
            return
        network, now = self._network, self._network.scheduler.now
        when = self._answered_by = max(self._answered_by, self.process.plugged_at, now) + network.trip() + late
        if when < inf:
            network.scheduler.at(when, self._pass_on, answer)

    def _pass_on(self, answer: Any) -> None:
        if not self.is_silent:
            self._hear(answer)

    def end_there(self) -> None:
        """The server drops it, and what hangs on it."""
        if self.is_open_there:
            self.is_open_there = False
            self._network.backend.leave_bell(self)
            if self.channel:
                self._network.backend.unsubscribe(self.channel)

    def reset(self) -> None:
        """It breaks, and both ends are told; the process when something gets through."""
        self.end_there()
        self.is_silent = True
        scheduler = self._network.scheduler
        when = max(self.process.plugged_at, scheduler.now) + LOCAL
        if when < inf:
            scheduler.at(when, self._hear, Broken)


class Network:
    """Between all processes and the server.

    Attributes:
        stalled_until: the server reads nothing before that.
        is_down: the server is not there.
        trips: seconds that a trip may take.
        server_ahead_us: what the server's clock shows when the history begins.
    """

    def __init__(self, scheduler: Scheduler, backend: Backend, trace: Trace, chance: random.Random) -> None:
        self.scheduler = scheduler
        self.backend = backend
        self.trace = trace
        self._chance = chance
        self.stalled_until = 0.0
        self.is_down = False
        self.trips: Sequence[float] = (LOCAL,)
        self.streams: list[Stream] = []
        self.server_ahead_us = 0
        self.call_faults: list[CallFault] = []

    def fate_of(self, script: str) -> CallFault | None:
        """What happens to a call of this script, if anything is to happen to the next one."""
        for fault in self.call_faults:
            if fault.script == script:
                self.call_faults.remove(fault)
                return fault
        return None

    def trip(self) -> float:
        return self._chance.choice(self.trips)

    def connect(self, process: Process, within: float) -> Stream:
        """Raises as the client library does."""
        scheduler = self.scheduler
        answered = max(process.plugged_at, self.stalled_until) - scheduler.now
        if answered > 0:
            scheduler.sleep(min(answered, within))
            if answered > within:
                raise TooLate("Timeout connecting to server")
        scheduler.sleep(self.trip())
        if self.is_down:
            raise Broken("Error 111 connecting to simulated:1. Connection refused.")
        stream = Stream(self, process)
        self.streams.append(stream)
        process.streams.append(stream)
        return stream

    def execute(self, stream: Stream, frame: bytes, words: list[bytes]) -> Any:
        """What the server does with it."""
        backend, command, now = self.backend, words[0], self.scheduler.now
        if command in SCRIPT_CALLS:
            backend.now_us = max(self.server_ahead_us + int(now * 1_000_000), backend.now_us)
            answer = backend.run_script(frame, words)
            self.trace.executed(now, stream.process.name, backend.name_of(words), words, answer)
            return answer
        if command == b"BLPOP":
            token = backend.wait_at_bell(stream, words[1])
            if token is not None:
                return token
            stream.waits += 1
            self.scheduler.at(now + float(words[2]), self._give_up_waiting, stream, stream.waits)
            return LATER
        if command == b"SSUBSCRIBE":
            stream.channel = words[1]
            backend.subscribe(stream.channel)
            return [b"ssubscribe", words[1], 1]
        assert command == b"PING", f"nobody has told what the server does with {words!r}"
        return [b"pong", b""]

    def deliver_copy(self, process: Process, frame: bytes, words: list[bytes]) -> None:
        """A copy arrives by itself, late, and nobody hears the answer."""
        if not self.is_down and words[0] in SCRIPT_CALLS:
            self.trace.happened(
                self.scheduler.now, f"a copy arrives of the {self.backend.name_of(words)} of {process.name}"
            )
            self.execute(Stream(self, process), frame, words)

    def _give_up_waiting(self, stream: Stream, waits: int) -> None:
        if stream.waits == waits and self.backend.leave_bell(stream):
            stream.answer(None)

    # What happens to the server.

    def clock_jumps(self, seconds: float) -> None:
        self.server_ahead_us += int(seconds * 1_000_000)
        self.backend.now_us = self.server_ahead_us + int(self.scheduler.now * 1_000_000)

    def stall(self, seconds: float) -> None:
        """The server reads nothing for so long."""
        self.stalled_until = self.scheduler.now + seconds

    def restart(self, seconds: float) -> None:
        """It ends, keeps what it has acknowledged, and is back after so long; all connections and scripts are gone."""
        self.is_down = True
        for stream in self.streams:
            if stream.is_open_there:
                stream.reset()
        self.backend.forget_scripts()
        self.scheduler.at(self.scheduler.now + seconds, self._back)

    def _back(self) -> None:
        self.is_down = False

    def refuse(self, answer: str, scripts: Sequence[str], seconds: float) -> None:
        """It answers this to these scripts, or to all, for so long."""
        self.backend.refuses = answer, frozenset(scripts)
        self.scheduler.at(self.scheduler.now + seconds, self._accept)

    def _accept(self) -> None:
        self.backend.refuses = None
