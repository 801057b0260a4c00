"""What was handled, written down where a kill cannot reach it: a byte per message, in a file of each process.

Counting in memory that is a file costs a fraction of a microsecond a message (`cost_us` tells); what was counted is
there whatever becomes of the process. Each process has a file of its own, so nobody counts over another.
"""

import mmap
import os
import tempfile
import timeit
from collections import Counter
from collections.abc import Callable, Iterable
from functools import reduce
from operator import add
from pathlib import Path
from typing import NamedTuple

from soloist.message import Message

TRIALS = 10_000


class Handled(NamedTuple):
    """How many messages were never handled, and how often one was handled once more."""

    lost: int
    duplicated: int


def marker(folder: Path, messages: int) -> Callable[[Message], None]:
    """What marks a message as handled, for this process. Messages are numbered from 1."""
    path = folder / f"handled-{os.getpid()}"
    with path.open("w+b") as file:
        file.truncate(messages + 1)
        counts = mmap.mmap(file.fileno(), messages + 1)

    def mark(message: Message) -> None:
        envelope = message._envelope  # noqa: SLF001 - its number, and nothing else of it, as quickly as may be
        counts[int(envelope[: envelope.index(b"-")])] += 1

    return mark


def read(folder: Path, messages: int) -> Handled:
    """Add up what all processes have written down."""
    columns = [path.read_bytes()[1:] for path in sorted(folder.glob("handled-*"))]
    often = Counter(_together(columns) if columns else bytes(messages))
    return Handled(often[0], sum((times - 1) * many for times, many in often.items() if times > 1))


def verdict(seen: Handled | None, recorded: int, messages: int) -> tuple[int | None, int | None]:
    """How many are lost and how often one was done once more; None: nobody kept books.

    Args:
        seen: what the ledger says, if one was kept.
        recorded: how many completions and failures the server counts; those beyond the messages are doubled, too, and
            tell so without a ledger. (One that was handled twice and recorded twice is counted once.)
    """
    surplus = max(0, recorded - messages)
    if seen is None:
        return None, surplus or None
    return seen.lost, max(seen.duplicated, surplus)


def _together(columns: Iterable[bytes]) -> Iterable[int]:
    return reduce(lambda one, other: map(add, one, other), columns)


def cost_us() -> float:
    """What marking one message takes here, µs: so much of a handler's time goes into the verdict."""
    with tempfile.TemporaryDirectory() as folder:
        mark = marker(Path(folder), TRIALS)
        messages = [Message(b"%d-0123456789ab default 1 1790000000000 0 0 text" % number) for number in range(TRIALS)]
        return 1e6 * min(timeit.repeat(lambda: [mark(each) for each in messages], number=1, repeat=5)) / TRIALS
