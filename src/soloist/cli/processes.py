"""`run --processes N`: a parent that keeps N instances running, each in a process of its own.

The parent does nothing but that: it imports nothing of the App's and talks to no server. None of its children outlives it
(lab/leash.py), a child that dies is started again, and what they write passes through it line by line, whole.
"""

import logging
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType
from typing import IO

from soloist.cli.one_instance import INTERRUPTED, ONE_SIGNAL, SELDOM
from soloist.cli.output import reader_is_gone, write_whole
from soloist.errors import OutputError, ServerError, UsageError
from soloist.lab.leashed import Leash
from soloist.runtime.wellness import Systemd

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 30.0
"""Seconds before one that died is started again: each death in a row doubles them."""

LONG_ENOUGH = 30.0
"""Seconds after which a death is not one in a row."""

FINISH = 2.0
"""Seconds for which what the children have written may take to be read."""

HOPELESS = (UsageError.exit_code, ServerError.exit_code)
"""Codes of a child that will end in the same way if it is started again."""

JOINED = re.compile(rb'\{"event": "joined"|\d\d:\d\d:\d\d  #\d+  joined$')
"""How a child tells that it takes part, with --events and without."""

OF_THE_PARENT = ("NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC")
"""Variables by which systemd speaks to the process that it started, and to no other."""

log = logging.getLogger("soloist")


def pause_after(deaths: int) -> float:
    """Seconds before the next attempt, after so many deaths in a row."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(deaths - 1, 30))


def words_of_one(words: Sequence[str]) -> list[str]:
    """A command line without --processes."""
    kept: list[str] = []
    rest = list(words)
    while rest and rest[0] != "--":
        word = rest.pop(0)
        if word == "--processes":
            rest.pop(0)
        elif not word.startswith("--processes="):
            kept.append(word)
    return [*kept, *rest]


class Child:
    """A process, and the threads that read what it writes."""

    def __init__(self, popen: "subprocess.Popen[bytes]") -> None:
        self.popen = popen
        self.began = time.monotonic()
        self.has_joined = False
        self.readers: list[threading.Thread] = []

    @property
    def lived(self) -> float:
        return time.monotonic() - self.began


@dataclass
class Place:
    """One of the N, whoever fills it.

    Attributes:
        deaths: in a row.
        due: when the next child is to be started; None: not before one of the others has joined.
        is_done: its child had nothing left to do.
    """

    child: Child | None = None
    deaths: int = 0
    due: float | None = None
    is_done: bool = False


class Processes:
    """Starts them, starts them again, passes signals on, and waits until all have left. For the main thread.

    Args:
        words: of the command line of each, after `python -m soloist`.
        as_events: what they write to stdout is one JSON object per line.
        ends: they end by themselves when everything is done.
    """

    def __init__(self, words: Sequence[str], count: int, *, as_events: bool, ends: bool) -> None:
        self._words = list(words)
        self._as_events = as_events
        self._ends = ends
        self._places = [Place() for _ in range(count)]
        self._leash = Leash()
        self._wakes, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        self._writing = {1: threading.Lock(), 2: threading.Lock()}
        self._received: list[int] = []
        self._first_at = 0.0
        self._is_ready = False
        self._is_stopping = False
        self._code = 0
        self._failure: OutputError | None = None
        self._is_closed = False
        self._readers: list[threading.Thread] = []
        self._systemd = Systemd(self)

    @property
    def is_alive(self) -> bool:
        """For systemd: as long as it can be asked, it runs."""
        return True

    def run(self) -> int:
        """Keep them running until a signal, or until there is nothing left to do; answers the exit code."""
        self._listen_for_signals()
        try:
            self._places[0].due = time.monotonic()  # alone at first: what is wrong is then told once, not N times
            while True:
                self._look()
                if all(place.child is None and (self._is_stopping or place.is_done) for place in self._places):
                    break
                self._start_those_due()
                self._sleep()
        finally:
            signal.set_wakeup_fd(-1)
            self._kill_all()
            self._leash.let_go()
        deadline = time.monotonic() + FINISH
        for reader in self._readers:
            reader.join(max(0.0, deadline - time.monotonic()))
        if self._failure is not None:
            raise self._failure
        return self._code or (INTERRUPTED if signal.SIGINT in self._received else 0)

    # ---- the children ----------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """See what became of them."""
        if (self._received or self._is_closed or reader_is_gone()) and not self._is_stopping:
            self._stop(self._received[0] if self._received else signal.SIGTERM)
        for place in self._places:
            child = place.child
            if child is not None and (code := child.popen.poll()) is not None:
                place.child = None
                self._ended(place, child, code)

    def _ended(self, place: Place, child: Child, code: int) -> None:
        if self._is_stopping:
            if code not in (0, INTERRUPTED) and code > 0:
                self._code = self._code or code
            return
        if self._ends and code == 0:
            place.is_done = True
            return
        others_work = any(other.child is not None and other.child.has_joined for other in self._places)
        if code in HOPELESS and not others_work:
            self._code = code  # it has said why
            self._stop(signal.SIGTERM)
            return
        place.deaths = 1 if child.lived > LONG_ENOUGH else place.deaths + 1
        pause = pause_after(place.deaths)
        place.due = time.monotonic() + pause
        how = f"signal={signal.Signals(-code).name}" if code < 0 else f"code={code}"
        log.error("process.ended pid=%d %s; another is started in %g s", child.popen.pid, how, pause)

    def _start_those_due(self) -> None:
        somebody_joined = any(place.child is not None and place.child.has_joined for place in self._places)
        if somebody_joined and not self._is_ready:
            self._is_ready = True
            self._systemd.ready()
        for place in self._places:
            is_new = place.due is None and somebody_joined
            is_due = place.due is not None and place.due <= time.monotonic()
            if place.child is None and not place.is_done and not self._is_stopping and (is_new or is_due):
                place.child = self._start()

    def _start(self) -> Child:
        """Of a thread, the main one: see lab/leash.py."""
        environment = {name: value for name, value in os.environ.items() if name not in OF_THE_PARENT}
        popen = self._leash.start(
            [sys.executable, "-m", "soloist", *self._words],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        child = Child(popen)
        log.info("process.started pid=%d", popen.pid)
        for descriptor, pipe in ((1, popen.stdout), (2, popen.stderr)):
            reader = threading.Thread(target=self._relay, args=(child, pipe, descriptor), name="relay", daemon=True)
            reader.start()
            self._readers.append(reader)
        self._readers = [reader for reader in self._readers if reader.is_alive()]
        return child

    def _stop(self, number: int) -> None:
        """Ask all to leave in order; one that is frozen is thawed for it."""
        self._is_stopping = True
        self._systemd.stopping()
        for place in self._places:
            if place.child is not None:
                place.child.popen.send_signal(number)
                place.child.popen.send_signal(signal.SIGCONT)

    def _kill_all(self) -> None:
        for place in self._places:
            if place.child is not None and place.child.popen.returncode is None:
                with suppress(ProcessLookupError):
                    os.kill(place.child.popen.pid, signal.SIGKILL)

    # ---- waiting ---------------------------------------------------------------------------------------------------------

    def _listen_for_signals(self) -> None:
        """The first signal is passed on; the second kills, and nothing is lost then either."""

        def on_signal(number: int, _frame: FrameType | None) -> None:
            if not self._received:
                self._received.append(number)
                self._first_at = time.monotonic()
            elif time.monotonic() - self._first_at > ONE_SIGNAL:
                self._kill_all()
                os._exit(INTERRUPTED if number == signal.SIGINT else 0)

        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGINT, on_signal)
        signal.signal(signal.SIGTERM, on_signal)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # the wake-up is all that is wanted of it

    def _sleep(self) -> None:
        """Until a child ends or joins, a signal comes, or another child is due."""
        dues = [place.due for place in self._places if place.child is None and place.due is not None]
        until_due = min(dues, default=time.monotonic() + SELDOM) - time.monotonic()
        if select.select([self._wakes], [], [], max(0.0, min(SELDOM, until_due)))[0]:
            os.read(self._wakes, 2**12)

    # ---- what they write -------------------------------------------------------------------------------------------------

    def _relay(self, child: Child, pipe: IO[bytes], descriptor: int) -> None:
        """Pass lines on, whole. Of one that was killed the last may be torn: it is ended, or (as_events) left out."""
        with pipe:
            for line in pipe:
                if descriptor == 1 and not child.has_joined and JOINED.match(line):
                    child.has_joined = True
                    self._wake_up()
                if line.endswith(b"\n"):
                    self._write(line, descriptor)
                elif descriptor == 2 or not self._as_events:
                    self._write(line + b"\n", descriptor)

    def _write(self, line: bytes, descriptor: int) -> None:
        """Not through sys.stdout: at its end this process would wait there for a thread whose reader does not read."""
        try:
            with self._writing[descriptor]:
                write_whole(descriptor, line)
        except OSError as error:
            if descriptor == 2 or self._is_closed:
                return  # nobody can be told
            if not isinstance(error, BrokenPipeError):
                self._failure = OutputError(f"the output cannot be written: {error.strerror}")
            self._is_closed = True
            self._wake_up()

    def _wake_up(self) -> None:
        with suppress(BlockingIOError):
            os.write(self._wake, b"\0")
