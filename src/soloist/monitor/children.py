"""The processes that the monitor started: start, freeze, kill, end. None of them outlives it (see lab/leash.py)."""

import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from soloist.cli.output import harmless
from soloist.lab.leashed import Leash
from soloist.monitor.model import GONE_FOR, Child, Phase

NAP = 0.05
"""Seconds between readings of what they tell: 20 instances tell up to 400 lines a second, most of which are totals."""
HEAR_OUT = 0.5
"""Seconds for which what a failed one has said may take to be read."""
LAST_WORDS = 5
"""Lines of stderr that are kept of each."""
JOINED, ELECTED = b'{"event": "joined"', b'{"event": "elected"'


class _Process:
    """One of them."""

    def __init__(self, popen: "subprocess.Popen[bytes]") -> None:
        self.popen = popen
        self.number = 0
        self.phase = Phase.RUNNING
        self.ended_at = 0.0
        self.unread = b""
        self.is_heard_out = False
        """All that it said on stderr was read."""
        self.words: deque[bytes] = deque(maxlen=LAST_WORDS)

    def look(self, now: float) -> None:
        """See whether it has ended. One that failed is heard out first: its last words say why."""
        code = self.popen.poll()
        if code is None or self.phase is Phase.ENDED:
            return
        self.ended_at = self.ended_at or now
        if code <= 0 or self.is_heard_out or now - self.ended_at > HEAR_OUT:
            self.phase = Phase.ENDED

    @property
    def child(self) -> Child:
        words = harmless(self.words[-1]) if self.words else ""
        return Child(self.popen.pid, self.number, self.phase, self.popen.returncode, self.ended_at, words)


class Children:
    """Starts and ends processes. All but `states` is for one thread, the main one: lab/leash.py says why.

    Args:
        words: what an instance is started with, after `python -m soloist`.
        environment: on top of ours.
        changed: called, from a thread of its own, when one of them joined, was elected or ended.
    """

    def __init__(
        self, words: Sequence[str], environment: Mapping[str, str], changed: Callable[[], None] = lambda: None
    ) -> None:
        self._words = list(words)
        self._environment = dict(environment)
        self.changed = changed
        self.leash = Leash()
        self._lock = threading.Lock()
        self._processes: dict[int, _Process] = {}
        self._selector = selectors.DefaultSelector()
        self._closing = False
        self._listener = threading.Thread(target=self._listen, name="children", daemon=True)
        self._listener.start()

    def start(self) -> int:
        """Start one; answers its process number."""
        popen = self.leash.start(
            [sys.executable, "-m", "soloist", *self._words],
            env={**os.environ, **self._environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        process = _Process(popen)
        with self._lock:
            self._processes[popen.pid] = process
        for pipe in (popen.stdout, popen.stderr):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, process)
        return popen.pid

    def stop(self, pid: int) -> None:
        """Ask it to leave in order; one that is frozen is thawed for it."""
        self._send(pid, signal.SIGTERM, Phase.LEAVING)
        self._send(pid, signal.SIGCONT, Phase.LEAVING)

    def kill(self, pid: int) -> None:
        """Pull the plug."""
        self._send(pid, signal.SIGKILL)

    def freeze(self, pid: int) -> None:
        self._send(pid, signal.SIGSTOP, Phase.FROZEN)

    def thaw(self, pid: int) -> None:
        self._send(pid, signal.SIGCONT, Phase.RUNNING)

    def stop_all(self) -> None:
        for child in self.states():
            if child.phase is not Phase.LEAVING:
                self.stop(child.pid)

    def kill_all(self) -> None:
        for child in self.states():
            self.kill(child.pid)

    def states(self) -> tuple[Child, ...]:
        """What became of each of them, in the order of their start."""
        now = time.monotonic()
        with self._lock:
            for process in self._processes.values():
                process.look(now)
            over = [pid for pid, each in self._processes.items() if each.ended_at and now - each.ended_at > GONE_FOR]
            for pid in over:
                del self._processes[pid]
            return tuple(process.child for process in self._processes.values())

    @property
    def is_over(self) -> bool:
        """Whether none of them runs."""
        return all(child.phase is Phase.ENDED for child in self.states())

    def close(self) -> None:
        """Kill whoever is left, and wait until it is gone."""
        self.kill_all()
        with self._lock:
            processes = list(self._processes.values())
        for process in processes:
            process.popen.wait()
        self._closing = True
        self._listener.join(5)
        self.leash.let_go()
        self._selector.close()
        for process in processes:
            for pipe in (process.popen.stdout, process.popen.stderr):
                if pipe is not None:
                    pipe.close()

    def _send(self, pid: int, number: signal.Signals, phase: Phase | None = None) -> None:
        with self._lock:
            process = self._processes.get(pid)
            if process is None or process.popen.poll() is not None:
                return
            process.popen.send_signal(number)
            if phase is not None and process.phase is not Phase.LEAVING:
                process.phase = phase
        if number is signal.SIGKILL:
            with suppress(subprocess.TimeoutExpired):
                process.popen.wait(0.05)  # so that the screen shows it at once

    # ---- what they tell ------------------------------------------------------------------------------------------------

    def _listen(self) -> None:
        while not self._closing:
            news = False
            for key, _ in self._selector.select(NAP):
                news |= self._read(key.fd, key.data)
            if news:
                self.changed()
            time.sleep(NAP)

    def _read(self, descriptor: int, process: _Process) -> bool:
        """Read what is there; True if it changes anything."""
        is_stderr = process.popen.stderr is not None and descriptor == process.popen.stderr.fileno()
        try:
            data = os.read(descriptor, 2**16)
        except BlockingIOError:
            return False
        if not data:
            self._selector.unregister(descriptor)
            process.is_heard_out |= is_stderr
            return True
        if is_stderr:
            process.words.extend(line for line in data.splitlines() if line.strip())
            return False
        *lines, process.unread = (process.unread + data).split(b"\n")
        heeded = [self._heed(process, line) for line in lines if line.startswith((JOINED, ELECTED))]
        return any(heeded)

    def _heed(self, process: _Process, line: bytes) -> bool:
        try:
            told = json.loads(line)
        except ValueError:
            return False  # what an App printed
        process.number = int(told.get("number", process.number))
        return True
