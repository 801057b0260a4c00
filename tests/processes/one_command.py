"""One command of the command line, run to its end: as a process of its own, or (a hundred times quicker) in this one."""

import os
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.processes.crew import ROOT, SOLOIST

USAGE, SERVER, OUTPUT = 2, 3, 4

WITHIN = 10.0
"""Seconds after which a process is hanging. A refusal takes 4 at most; the rest is for a busy machine."""

LOOKING = (
    ("status",),
    ("log",),
    ("timeline", "--out", "-"),
    ("errors", "list"),
    ("errors", "show", "1-tag"),
    ("errors", "export"),
    ("schedules",),
)
CHANGING = (
    ("run", "--interval", "3600"),
    ("getErrors",),
    ("errors", "requeue", "--all"),
    ("errors", "delete", "--all"),
    ("pause",),
    ("resume",),
    ("handover",),
    ("clean",),
    ("publish", "default", "text"),
    ("schedules", "add", "it", "--every", "60", "--kind", "default"),
)
EXPORTING = (("export",),)
"""It looks, too; but where nothing is, it has nothing to export."""

REMOVING = (("purge",), ("purge", "--yes"))
EXAMINING = (("doctor",),)
EVERY_COMMAND = (*LOOKING, *EXPORTING, *CHANGING, *REMOVING, *EXAMINING)
"""All that speak to a server that is named. Each must be refused, or come to its end by itself."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str

    def assert_refused(self, code: int, *parts: str) -> None:
        """It ended with this code and one sentence that says all of this: no traceback, nothing else."""
        assert self.code == code, self
        assert "Traceback" not in self.stdout + self.stderr, self
        said = [line for line in self.stderr.splitlines() if line]
        assert len(said) == 1, self
        assert said[0].startswith("soloist: "), self
        for part in parts:
            assert part in said[0], self


def soloist(*words: str, environment: Mapping[str, str] | None = None, within: float = WITHIN, **options: Any) -> Ended:
    """A process of its own. It prints how long it took."""
    begun = time.monotonic()
    done = subprocess.run(
        [*SOLOIST, *words],
        text=True,
        cwd=ROOT,
        timeout=within,
        check=False,
        env={**os.environ, **(environment or {})},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )
    print(f"soloist {' '.join(words)}: {time.monotonic() - begun:.2f} s")
    return Ended(done.returncode, done.stdout or "", done.stderr or "")


Says = Callable[..., Ended]
"""The fixture `says`: the same in this process, for what all commands have in common."""


def spelled(words: tuple[str, ...]) -> str:
    """The id of a test that is about a command."""
    return " ".join(words)
