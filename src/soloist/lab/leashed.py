"""Processes that do not outlive the one that started them (see leash.py)."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

LEASH = Path(__file__).with_name("leash.py")


class Leash:
    """Starts them. For one thread, the main one: leash.py says why. With `with`, it lets go at the end."""

    def __init__(self) -> None:
        self.preferred = "kernel"
        """What holds them, where it can; else, and for tests, "guard"."""
        self._theirs, self._ours = os.pipe()  # neither end is inherited, but for the one that is named below

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.let_go()

    def start(self, program: Sequence[str], **options: Any) -> "subprocess.Popen[Any]":
        """Start one; the options are Popen's. Ctrl-C does not reach it: that is ours to pass on."""
        held = [sys.executable, "-I", "-S", str(LEASH), str(os.getpid()), str(self._theirs), self.preferred]
        return subprocess.Popen([*held, *program], pass_fds=(self._theirs,), start_new_session=True, **options)

    def let_go(self) -> None:
        """All of them have ended, or are to end now."""
        os.close(self._ours)
        os.close(self._theirs)
