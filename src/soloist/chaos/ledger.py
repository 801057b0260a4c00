"""The ledger: what instances did, written down where no fault reaches it: a line for each, in a file of each process.

A line is written with one call to the system, so it is whole however the process ends. Two sorts: a page that was
accepted, and a message that was begun. What was completed and failed is asked of the server, in the end.
"""

import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Publication:
    """A page that the server has accepted, as its generator was told.

    Attributes:
        at_ms: when it was told (wall clock; all processes are on one machine).
        first: the number of its first message.
    """

    at_ms: int
    term: int
    first: int
    count: int


@dataclass(frozen=True)
class Accounts:
    """What all processes have written down.

    Attributes:
        publications: in the order in which they were accepted.
        starts: how often each message was begun, by its id.
        begun_ms: when it was begun last.
    """

    publications: list[Publication] = field(default_factory=list)
    starts: Counter[str] = field(default_factory=Counter)
    begun_ms: dict[str, int] = field(default_factory=dict)


class Ledger:
    """Written by one process."""

    def __init__(self, folder: Path) -> None:
        path = folder / f"ledger-{os.getpid()}"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def accepted(self, term: int, first: int, count: int) -> None:
        self._write(f"P {_now_ms()} {term} {first} {count}\n")

    def begun(self, ident: str) -> None:
        self._write(f"S {_now_ms()} {ident}\n")

    def _write(self, line: str) -> None:
        os.write(self._file, line.encode())


def read(folder: Path) -> Accounts:
    """What all have written down."""
    accounts = Accounts()
    for path in sorted(folder.glob("ledger-*")):
        for sort, rest in _lines(path):
            if sort == "P":
                accounts.publications.append(Publication(*map(int, rest.split())))
            else:
                at_ms, ident = rest.split(" ")
                accounts.starts[ident] += 1
                accounts.begun_ms[ident] = max(int(at_ms), accounts.begun_ms.get(ident, 0))
    accounts.publications.sort(key=lambda page: page.at_ms)
    return accounts


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    with path.open() as file:
        for line in file:
            yield line[0], line[2:].rstrip("\n")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
