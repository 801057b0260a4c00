"""cli/output.py: text from messages made harmless, and output that says when it cannot be written."""

import errno
import fcntl
import io
import os
import re
import sys
import threading
import unicodedata
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from soloist.cli.output import ClosedPipe, harmless, write, write_lines
from soloist.errors import OutputError

BIDI_CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""All characters with the Unicode property Bidi_Control."""

ESCAPE = re.compile(rb"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|(.))", re.DOTALL)


def read_back(shown: str) -> bytes:
    """The bytes that a line stands for."""

    def unescape(found: re.Match[bytes]) -> bytes:
        byte, character, short = found.groups()
        if byte:
            return bytes.fromhex(byte.decode())
        if character:
            return chr(int(character, 16)).encode()
        return {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"\\": b"\\"}[short]

    return ESCAPE.sub(unescape, shown.encode())


# Harmless text.


@pytest.mark.parametrize("text", ["", "plain words", "Größe – “字” 🎻", "a'b\"c $(d) `e` %s {f}", " blanks  stay "])
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    """Nothing is escaped that does no harm."""
    assert harmless(text.encode()) == text


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"two\nlines", r"two\nlines"),
        (b"\r\n", r"\r\n"),
        (b"a\tb", r"a\tb"),
        (b"a\x00b", r"a\x00b"),
        (b"\x07\x08\x0b\x0c\x7f", r"\x07\x08\x0b\x0c\x7f"),
        (b"\x1b[2J\x1b[31mred\x1b[0m", r"\x1b[2J\x1b[31mred\x1b[0m"),
        (b"\x1b]0;title\x07", r"\x1b]0;title\x07"),
        (b"\x1b]52;c;ZXZpbA==\x1b\\", r"\x1b]52;c;ZXZpbA==\x1b\\"),
        (b"\xff\xfe", r"\xff\xfe"),
        (b"caf\xe9", r"caf\xe9"),
        (b"\xed\xa0\x80", r"\xed\xa0\x80"),
        (b"C:\\new", r"C:\\new"),
        (rb"\n", r"\\n"),
        (rb"\x1b", r"\\x1b"),
        ("a\u2028b\u2029c".encode(), r"a\u2028b\u2029c"),
        ("abc\u202edcba".encode(), r"abc\u202edcba"),
    ],
)
def test_what_could_do_harm_is_escaped(data: bytes, shown: str) -> None:
    """Line ends, control characters, terminal sequences, bytes that are no text, the backslash itself."""
    assert harmless(data) == shown


@pytest.mark.parametrize("control", BIDI_CONTROLS, ids=lambda control: f"U+{ord(control):04X}")
def test_what_reorders_a_line_is_escaped(control: str) -> None:
    """All of the bidirectional controls: text must not be shown in another order than it is read."""
    assert harmless(f"a{control}b".encode()) == f"a\\u{ord(control):04x}b"


@given(st.binary())
@example("\x9b31m".encode())
def test_a_message_is_one_line_without_a_control_character(data: bytes) -> None:
    """Whatever is in it; the eight-bit controls of terminals are among them."""
    shown = harmless(data)

    assert len(f"{shown}.".splitlines()) == 1
    assert not [letter for letter in shown if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")]


@given(st.one_of(st.binary(), st.text().map(lambda text: text.encode(errors="surrogatepass"))))
@example(b"\x85")
@example("\x85".encode())
def test_a_line_stands_for_one_message_only(data: bytes) -> None:
    """It can be read back: a byte 85 that is no text and the control character U+0085 are not shown alike."""
    assert read_back(harmless(data)) == data


# Writing.


class Failing(io.StringIO):
    """An output that cannot be written."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def flush(self) -> None:
        raise self._error


def test_what_is_written_is_flushed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Printed means printed: an error record is removed after it."""
    flushed: list[str] = []
    output = io.StringIO()
    monkeypatch.setattr(output, "flush", lambda: flushed.append(output.getvalue()))
    monkeypatch.setattr(sys, "stdout", output)

    write("text\n")

    assert flushed == ["text\n"]


def test_a_reader_that_went_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """`| head` closes the pipe, and that is that."""
    monkeypatch.setattr(sys, "stdout", Failing(BrokenPipeError()))

    with pytest.raises(ClosedPipe):
        write("text")
    assert write_lines(["one\n", "two\n"]) == 0


@pytest.mark.parametrize(
    ("error", "says"),
    [(OSError(errno.ENOSPC, "No space left on device"), "No space left"), (ValueError("I/O on closed file"), "closed")],
)
def test_an_output_that_cannot_be_written_is_said(error: Exception, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk has its own exit code, and nothing counts as printed."""
    monkeypatch.setattr(sys, "stdout", Failing(error))

    with pytest.raises(OutputError, match=f"the output cannot be written: .*{says}"):
        write_lines(["one\n"])


def read_lines(reading: int, most: int) -> list[bytes]:
    """Read like `head -n MOST` that takes no more than it needs, and close."""
    lines: list[bytes] = []
    line = b""
    while len(lines) < most and (letter := os.read(reading, 1)):
        line += letter
        if letter == b"\n":
            lines.append(line)
            line = b""
    os.close(reading)
    return lines


@pytest.mark.parametrize(("most", "taken"), [(1, 1), (3, 3), (5, 5)])
def test_what_a_reader_did_not_read_does_not_count_as_printed(
    most: int, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`getErrors | head -3` removes three, not all that fits into the buffer of the pipe."""
    lines = [f"message {number}\n" for number in range(5)]
    read: list[bytes] = []
    reading, writing = os.pipe()
    reader = threading.Thread(target=lambda: read.extend(read_lines(reading, most)))
    reader.start()

    with suppress(BrokenPipeError), os.fdopen(writing, "w") as output:  # what is unread cannot be flushed at the end
        monkeypatch.setattr(sys, "stdout", output)
        counted = write_lines(lines)
    reader.join()
    assert counted == taken
    assert read == [line.encode() for line in lines[:taken]]


def test_a_line_that_was_read_counts_as_printed_even_if_the_reader_went_right_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The reader takes the line and closes the pipe just after we looked how much of it is unread."""
    reading, writing = os.pipe()
    look = fcntl.ioctl

    def look_and_let_read(*arguments: Any) -> Any:
        seen = look(*arguments)
        monkeypatch.setattr(fcntl, "ioctl", look)
        assert read_lines(reading, 1) == [b"one\n"]
        return seen

    monkeypatch.setattr(fcntl, "ioctl", look_and_let_read)
    with suppress(BrokenPipeError), os.fdopen(writing, "w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        counted = write_lines(["one\n", "two\n"])
    assert counted == 1


def test_all_lines_go_to_an_output_that_is_no_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file or a terminal takes them at once."""
    output = io.StringIO()
    monkeypatch.setattr(sys, "stdout", output)

    assert write_lines(["one\n", "two\n"]) == 2
    assert output.getvalue() == "one\ntwo\n"
