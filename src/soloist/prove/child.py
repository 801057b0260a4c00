"""One process that is begun only to be killed, or to come to its end: a fork of this one, and what it reported.

A fork and not a fresh interpreter: the user's module is imported once, so a proof takes milliseconds a line, not a second.
What the module had opened by then (a connection) is shared by all of them: the page docs/prove.md says so.
"""

import os
import select
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO, NoReturn, TypeAlias

import msgspec

from soloist.errors import Defect
from soloist.lab.leash import hold_by_kernel
from soloist.prove.crash_points import Place, no_tracing

LOOK = 0.05
"""Seconds between looks at a child whose end the pipe does not tell: a process that it began itself holds that open."""

SOON = 0.0005
"""Seconds from the end of its pipe to its own, about."""

DEFECT = 70
TOO_LATE = "did not return"


class Crashed(msgspec.Struct, tag=True):
    """It killed itself here."""

    place: Place


class Seen(msgspec.Struct, tag=True):
    """Which crash points it went by, and how many there were; written at the end of an orderly life."""

    places: list[Place]
    many: int
    has_lasting: bool = False
    """A thread that the user's code began did not end by itself."""


class Fated(msgspec.Struct, tag=True):
    """What became of a message."""

    fate: str
    committed: list[str] = []
    published: list[str] = []
    is_again: bool = False
    where: str = ""
    """In which line of the user's it was raised."""


class Accepted(msgspec.Struct, tag=True):
    """A page was published, and its cursor stored."""

    published: list[str]
    cursor: str | None


class Refused(msgspec.Struct, tag=True):
    """It could not begin, or could not go on: a sentence."""

    reason: str


class Told(msgspec.Struct, tag=True):
    """A value that was asked for, as JSON."""

    value: msgspec.Raw


class Broken(msgspec.Struct, tag=True):
    """A defect of ours in it."""

    trace: str


Record: TypeAlias = Crashed | Seen | Fated | Accepted | Refused | Told | Broken
_RECORD = msgspec.json.Decoder(Record)


class Report:
    """What a child tells: a line for each record, in a file that outlives it, whole before the next line of its code."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, record: Record) -> None:
        self._file.write(msgspec.json.encode(record) + b"\n")

    def read(self) -> Iterator[Record]:
        self._file.seek(0)
        for line in self._file:
            yield _RECORD.decode(line)


Work: TypeAlias = Callable[[Report], None]


@dataclass(frozen=True)
class Ended:
    """How a child ended.

    Attributes:
        trouble: in words, if it ended neither by itself nor by a crash that was asked for.
    """

    records: list[Record]
    trouble: str | None = None

    @property
    def crashed(self) -> Place | None:
        return next((each.place for each in self.records if isinstance(each, Crashed)), None)

    @property
    def seen(self) -> Seen:
        return next((each for each in self.records if isinstance(each, Seen)), Seen([], 0))


def run(work: Work, *, within: float, is_quiet: bool) -> Ended:
    """Fork, do the work there, and wait for its end.

    Args:
        within: seconds; then it is killed.
        is_quiet: what the user's code prints is dropped.
    """
    for output in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # closed: nobody reads it
            output.flush()  # else the child would print the rest of our line as well
    with tempfile.TemporaryFile(buffering=0) as file:
        report = Report(file)
        reading, writing = os.pipe()
        pid = _forked()
        if pid == 0:
            os.close(reading)
            _live(work, report, is_quiet)
        os.close(writing)
        try:
            status = _waited(pid, reading, within)
        finally:
            os.close(reading)
        records = list(report.read())
    for record in records:
        if isinstance(record, Broken):
            raise Defect(record.trace)
    return Ended(records, _trouble(status, records, within))


def crash() -> NoReturn:
    """End this process as `kill -9` does: no finally, no exit handler, no buffer is written."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError  # nobody comes here


def _forked() -> int:
    with warnings.catch_warnings():
        # Python warns of threads that the child does not have. Those of a test (a fake of an API) are meant to stay here.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _live(work: Work, report: Report, is_quiet: bool) -> NoReturn:
    """The child's whole life; whatever happens, it never goes on with what its parent was doing."""
    code = 0
    try:
        hold_by_kernel()  # where it can: killed ourselves, we leave nothing behind that hangs
        no_tracing()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        if is_quiet:
            _hush()
        work(report)
        for output in (sys.stdout, sys.stderr):
            output.flush()
    except BaseException:  # noqa: BLE001 - it must not get back into the parent's code
        code = DEFECT
        report.write(Broken(traceback.format_exc()))
    finally:
        os._exit(code)


def _hush() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    sys.stdout = sys.stderr = os.fdopen(nowhere, "w")


def _waited(pid: int, reading: int, within: float) -> int | None:
    """Its status; None if it took too long and was killed. Nothing of it is left, whatever ends the wait."""
    until = time.monotonic() + within
    watch = select.poll()
    watch.register(reading, select.POLLHUP)
    try:
        while time.monotonic() < until:
            is_closed = bool(watch.poll(1000 * min(LOOK, max(0.0, until - time.monotonic()))))
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return status
            if is_closed:
                time.sleep(SOON)
    except BaseException:
        _kill(pid)
        raise
    _kill(pid)
    return None


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _trouble(status: int | None, records: list[Record], within: float) -> str | None:
    if status is None:
        return f"{TOO_LATE} within {within:g} s"
    if any(isinstance(each, Crashed | Seen | Refused | Told) for each in records):
        return None
    if os.WIFSIGNALED(status):
        return f"ended its process by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"ended its process with exit code {os.WEXITSTATUS(status)}"
