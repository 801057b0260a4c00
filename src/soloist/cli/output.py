"""Text from messages, made harmless before it reaches a terminal, and output that says when it cannot be written."""

import fcntl
import io
import os
import re
import select
import stat
import struct
import sys
import termios
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

from soloist.errors import OutputError


class ClosedPipe(Exception):
    """The reader has closed the pipe: nothing is wrong. Not an OSError, of which click would make exit code 1."""


_MORE = "\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\udc80-\udcff"
_HARMFUL = re.compile(f"[\x00-\x1f\\\\{_MORE}]")
"""Control characters, backslash, what reorders or breaks a line, and (as surrogates) bytes that are no text."""
_HARMFUL_IN_LINES = re.compile(f"[\x00-\x08\x0b-\x1f{_MORE}]")
"""The same but for line ends, tabs and the backslash."""
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


def harmless(data: bytes) -> str:
    """One line: control characters, invalid bytes and backslashes escaped; the same on a terminal and in a pipe."""
    return _HARMFUL.sub(_escape, data.decode(errors="surrogateescape"))


def _escape(found: re.Match[str]) -> str:
    letter = found[0]
    if letter in _SHORT:
        return _SHORT[letter]
    code = ord(letter)
    if code >= 0xDC80 and code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 128 else f"\\u{code:04x}"


def harmless_lines(text: str) -> str:
    """Text of our own with lines of its own, which quotes messages now and then: a traceback."""
    return _HARMFUL_IN_LINES.sub(_escape, text)


class _Kept:
    """Stdout, if it is kept for our own lines.

    Attributes:
        descriptor: where it is now; None: it is where it always is.
    """

    descriptor: int | None = None


_kept = _Kept()


def keep_stdout() -> None:
    """From now on only `write` reaches stdout. What anything else here prints goes to stderr, in whatever way it does so:
    `print`, a library in C, a program that is started.
    """
    if sys.stdout is None or _kept.descriptor is not None:  # closed: writing says so
        return
    sys.stdout.flush()
    _kept.descriptor = os.dup(1)
    os.dup2(2, 1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # it may have been a pipe, and a line would be seen much later


def give_stdout_back() -> None:
    """For another program in the same process."""
    if _kept.descriptor is not None:
        os.dup2(_kept.descriptor, 1)


def write(text: str) -> None:
    """Write to stdout and flush.

    Raises:
        ClosedPipe: the reader has closed the pipe.
        OutputError: it cannot be written (disk full, closed).
    """
    try:
        if _kept.descriptor is None:
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            write_whole(_kept.descriptor, text.encode(errors="backslashreplace"))
    except BrokenPipeError:
        raise ClosedPipe from None
    except AttributeError:
        raise OutputError("the output cannot be written: stdout is closed") from None
    except (OSError, ValueError) as error:
        raise OutputError(f"the output cannot be written: {getattr(error, 'strerror', None) or error}") from None


def write_whole(descriptor: int, text: bytes) -> None:
    """Write until all of it is taken."""
    while text:
        try:
            text = text[os.write(descriptor, text) :]
        except BlockingIOError:  # whoever gave us the output has made it so
            select.select([], [descriptor], [])


def write_lines(lines: Sequence[str]) -> int:
    """Write lines and flush; answers how many of them were taken before the reader, if any, closed the pipe.

    Into a pipe they go one by one, each only when the one before it was read: so `getErrors | head -5` removes five,
    not all that fit into the pipe's buffer.
    """
    if not _is_pipe():
        try:
            write("".join(lines))
        except ClosedPipe:
            return 0
        return len(lines)
    for taken, line in enumerate(lines):
        try:
            write(line)
        except ClosedPipe:
            return taken
        if not _was_read():
            return taken
    return len(lines)


def _stdout() -> int:
    return sys.stdout.fileno() if _kept.descriptor is None else _kept.descriptor


def _is_pipe() -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(_stdout()).st_mode)
    except (AttributeError, OSError, ValueError):
        return False  # closed: writing says so


def reader_is_gone() -> bool:
    """Whether stdout is a pipe that nobody reads any more, found out without writing."""
    if not _is_pipe():
        return False
    watch = select.poll()
    watch.register(_stdout(), 0)
    return bool(watch.poll(0))


def note(text: str) -> None:
    """A sentence to stderr that does not collide with a line that is kept up to date on the same terminal.

    If it cannot be written there is nobody to tell, and nothing that was asked for has failed.
    """
    with suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(f"{wipe()}{harmless_lines(text)}\n")  # a server may have said it, and we only quote it
        sys.stderr.flush()


def wipe() -> str:
    """What removes the line that is kept up to date, if there is one on the terminal."""
    if _kept.descriptor is not None:
        return ""  # there is none among events
    return "\r\x1b[K" if is_terminal(sys.stderr) and is_terminal(sys.stdout) else ""


def is_terminal(output: TextIO | None) -> bool:
    """Whether somebody sits before it; None is an output that was closed."""
    return output is not None and output.isatty()


def _was_read() -> bool:
    """Wait until the pipe is empty; False if the reader closed it first."""
    output = _stdout()
    watch = select.poll()
    watch.register(output, 0)
    waited = 0
    while True:
        is_closed = bool(watch.poll(0))  # asked first: what is unread then stays so
        try:
            unread = struct.unpack("i", fcntl.ioctl(output, termios.FIONREAD, b"\0\0\0\0"))[0]
        except OSError:
            return True  # this system does not tell: flushed is all that can be known
        if unread == 0:
            return True
        if is_closed:
            return False
        waited += 1
        time.sleep(0 if waited < 50 else 0.001)
