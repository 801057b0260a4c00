"""What the instances of a run of chaos are told by the one that runs it: through the environment, and by orders."""

import os
import time
from pathlib import Path

import msgspec

VARIABLE = "SOLOIST_CHAOS"

COMPLETED = "completed"
"""Where completions are written along with their messages, by id: the name of a list."""

PLAIN = 8
"""Every so many-th message asks for nothing to be written along: those take another way through the scripts."""


class Task(msgspec.Struct, frozen=True):
    """What to publish and where to write down what happens.

    Attributes:
        folder: for ledgers and orders.
        target: MODULE:APP of the user's own App; empty: the one that chaos has.
        messages: so many are published in all,
        seconds: evenly within this time
        begun: after this (wall clock, seconds).
    """

    folder: str
    target: str = ""
    messages: int = 0
    seconds: float = 0.0
    begun: float = 0.0

    def due(self) -> int:
        """How many messages should be published by now."""
        gone = time.time() - self.begun
        return min(self.messages, int(self.messages * gone / self.seconds)) if gone > 0 else 0

    def variables(self) -> dict[str, str]:
        """What a process gets it by."""
        return {VARIABLE: msgspec.json.encode(self).decode()}


class Order(msgspec.Struct, frozen=True):
    """What an instance is to do to itself, as no signal can: read when SIGUSR1 comes.

    Attributes:
        what: `lock`: hold the interpreter lock; `slow`: take long over the next message; `die`: end, without a word, in the
            midst of the next message.
    """

    what: str
    seconds: float = 0.0

    def write(self, folder: Path, pid: int) -> None:
        path = _path(folder, pid)
        path.with_suffix(".new").write_bytes(msgspec.json.encode(self))
        path.with_suffix(".new").replace(path)


def given() -> Task:
    """The task of this process."""
    return msgspec.json.decode(os.environ[VARIABLE], type=Task)


def order_for(folder: Path, pid: int) -> Order:
    return msgspec.json.decode(_path(folder, pid).read_bytes(), type=Order)


def _path(folder: Path, pid: int) -> Path:
    return folder / f"order-{pid}"
