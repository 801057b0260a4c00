"""Kill points: named moments of the runtime at which a test kills or freezes a process.

They are comments, so they cost nothing in production; tests/rewriting.py runs soloist with a call in their place:

    # kill point: between handle and complete

Braces in a name are filled in as in an f-string.
"""

import os
import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import soloist

SOURCES = Path(soloist.__file__).parent
MARK = re.compile(r"^( +)# kill point: (.+)$", re.MULTILINE)
OF_A_SCRIPT = "{self.name}"
SCRIPTS = sorted(path.stem for path in (SOURCES / "store" / "lua").glob("*.lua"))
KILL, STOP = "KILL", "STOP"


def points() -> list[str]:
    """All names that stand in the sources."""
    marks = [name for path in sorted(SOURCES.rglob("*.py")) for _, name in MARK.findall(path.read_text())]
    return [
        mark.replace(OF_A_SCRIPT, script) for mark in marks for script in (SCRIPTS if OF_A_SCRIPT in mark else [""])
    ]


@dataclass(frozen=True)
class AtPoint:
    """What happens to a process that runs in this environment, once it is armed. It happens once."""

    point: str
    action: str
    armed: Path

    @property
    def environment(self) -> dict[str, str]:
        return {"KILL_POINT": self.point, "KILL_POINT_ACTION": self.action, "KILL_POINT_ARMED": str(self.armed)}

    def arm(self) -> None:
        """From now on."""
        self.armed.touch()


def reached(name: str) -> None:
    """What stands in the place of a comment."""
    if name != os.environ.get("KILL_POINT"):
        return
    try:
        Path(os.environ["KILL_POINT_ARMED"]).unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.Signals[f"SIG{os.environ['KILL_POINT_ACTION']}"])
    time.sleep(0.2)  # this thread runs on until the signal has reached all of them; the rest passes after the thaw
