"""A private server's wall clock, moved by a library that is preloaded into it (clock.c). Built where it is used."""

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_name("clock.c")


class ServerClock:
    """Moves it.

    Args:
        folder: for the library, and for what it is told by.
    """

    def __init__(self, folder: Path) -> None:
        self._library = folder / "clock.so"
        self._offset = folder / "clock-offset"
        self.move_to(0)
        compiler = shutil.which("cc") or shutil.which("gcc") or "cc"
        words = [compiler, "-shared", "-fPIC", "-O1", "-o", str(self._library), str(SOURCE)]
        subprocess.run(words, check=True, capture_output=True, text=True)

    @property
    def variables(self) -> dict[str, str]:
        """What the server is started with."""
        return {"LD_PRELOAD": str(self._library), "CLOCK_OFFSET": str(self._offset)}

    def move_to(self, seconds: int) -> None:
        """So far from what it should be."""
        mode = os.O_RDWR | os.O_CREAT
        file = os.open(self._offset, mode, 0o600)
        try:
            os.pwrite(file, struct.pack("l", seconds), 0)  # in place: the server has it in its memory
        finally:
            os.close(file)


def why_not() -> str:
    """Why it cannot be moved here; empty if it can."""
    if not sys.platform.startswith("linux"):
        return "preloading is tried on Linux only"
    return "" if shutil.which("cc") or shutil.which("gcc") else "there is no C compiler"
