"""Apps whose messages are odd, heavy or too large, for test_bad_messages.py. Their handlers look at every byte."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress

from soloist import App, Message, Reject
from tests.processes.apps import note, number_of

ODD: tuple[str | bytes, ...] = (
    "",
    b"",
    "\n",
    "two\nlines\r\nand a half\r",
    "a\0b",
    bytes(range(256)),
    b"\xff\xfe no UTF-8 \xc3\x28 \xed\xa0\x80",
    "\x1b[2J\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b31m \x08\x7f",
    "\u202egnp.txt \u2028 \u2066",
    "C:\\new \\x1b \\",
    "Größe 字 🎻",
    " ",
    "default 1 5 0 0 looks like an envelope",
    "x" * 2**20,
    os.urandom(2**20),
)
"""What somebody's source may return. (The last one is drawn anew in each process: it is known by its digest.)"""


def data_of(body: str | bytes) -> bytes:
    return body.encode() if isinstance(body, str) else body


def digest(data: bytes) -> str:
    return f"{len(data)}:{hashlib.sha256(data).hexdigest()}"


odd = App("odd")
"""Each body once; all are found erroneous, for a reason that is as odd as themselves."""

odd_bodies: Iterator[str | bytes] = iter(ODD)


@odd.generator(every=0)
def next_odd() -> str | bytes | None:
    body = next(odd_bodies, None)
    if body is not None:
        note("made", digest(data_of(body)))
    return body


@odd.handler
def reject(message: Message) -> None:
    note("got", number_of(message), digest(message.data))
    raise Reject(message.body[:1000])


HEAVY = int(os.environ.get("HEAVY", "0"))
"""How many messages of 100 KB there are."""

FILLING = bytes(range(256)) * 400

heavy = App("heavy", generator_handles=False)
heavy_numbers = iter(range(HEAVY))


@heavy.generator(every=0)
def next_heavy() -> bytes | None:
    number = next(heavy_numbers, None)
    return None if number is None else b"%08d" % number + FILLING


@heavy.handler
def weigh(message: Message) -> None:
    if message.data != b"%08d" % (number_of(message) - 1) + FILLING:
        raise ValueError("not what was published")


growing = App("growing")
"""Some bodies are larger than 1 KB."""

sizes = iter([10, 1024, 1025, 5000, 2**20, 20, 30])


@growing.generator(every=0.02)
def next_size() -> str | None:
    size = next(sizes, None)
    return None if size is None else "x" * size


@growing.handler
def measure(message: Message) -> None:
    note("got", number_of(message), len(message.data))


raising = App("raising-bodies")
"""What the handler raises quotes the message."""


@raising.generator(every=0.02)
def evil() -> str:
    return "\x1b[2J\x07evil"


@raising.handler
def quote(message: Message) -> None:
    raise ValueError(message.body)


noisy = App("noisy")
"""Its handler prints like a C library: to a number, not to Python's own stderr."""


@noisy.generator(every=0.005)
def hum() -> str:
    return "hum"


@noisy.handler
def hiss(_message: Message) -> None:
    with suppress(OSError):
        os.write(2, b"PING\r\n" * 3)
