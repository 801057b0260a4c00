"""What the processes of one measured run are told by the one that measures, through the environment."""

import os
import time
from pathlib import Path

import msgspec

VARIABLE = "SOLOIST_BENCH"
GATE = "gate"
LOOK = 0.001


class Task(msgspec.Struct, frozen=True):
    """What to publish and what to write down.

    Attributes:
        folder: of the run: the gate, and what each process writes down.
        fill: so many messages are published before the gate opens, and lie pending then.
        messages: so many are published after it.
        size: bytes of a body; None: the texts of the default application, of 80 to 100.
        is_marked: whether every message that is handled is written down.
    """

    folder: str
    fill: int = 0
    messages: int = 0
    size: int | None = None
    is_marked: bool = True

    @property
    def in_all(self) -> int:
        return self.fill + self.messages

    def wait_for_the_gate(self) -> None:
        while not self.gate.exists():
            time.sleep(LOOK)

    @property
    def gate(self) -> Path:
        return Path(self.folder) / GATE

    def variables(self) -> dict[str, str]:
        """What a process gets it by."""
        return {VARIABLE: msgspec.json.encode(self).decode()}


def given() -> Task:
    """The task of this process."""
    return msgspec.json.decode(os.environ[VARIABLE], type=Task)
