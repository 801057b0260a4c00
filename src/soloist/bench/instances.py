"""The instances of one measured run: real processes of `soloist run`, as a user would start them."""

import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from soloist.errors import Unavailable
from soloist.lab.instance import instance_environment, instance_words
from soloist.lab.leashed import Leash
from soloist.settings import Settings

LOOK = 0.005
WITHIN = 60.0
"""Seconds for what takes one."""


class Instances:
    """Starts and ends them.

    Args:
        variables: what they get by the environment: the server, the namespace, the task.
        folder: where they run, and where what they say goes.
    """

    def __init__(self, leash: Leash, variables: Mapping[str, str], settings: Settings, folder: Path) -> None:
        self._leash = leash
        self._environment = instance_environment(settings, variables)
        self._folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self._killed: set[subprocess.Popen[bytes]] = set()

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self.processes]

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        """Start one: `soloist run` with these words."""
        at = len(self.processes)
        with self.told_by(at).open("wb") as told, self._said_by(at).open("wb") as said:
            process = self._leash.start(
                instance_words(*words),
                env=self._environment,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=said,
            )
        self.processes.append(process)
        return process

    def told_by(self, at: int) -> Path:
        """The file with what one has written to stdout."""
        return self._folder / f"told-{at}"

    def _said_by(self, at: int) -> Path:
        return self._folder / f"said-{at}"

    def wait_until(self, is_so: Callable[[], bool], what: str, within: float = WITHIN) -> None:
        """Wait; an instance that ends meanwhile has failed."""
        deadline = time.monotonic() + within
        while not is_so():
            self.check()
            if time.monotonic() > deadline:
                raise Unavailable(f"the measurement was given up: {what} did not happen within {within:g} s")
            time.sleep(LOOK)

    def check(self) -> None:
        """Refuse to go on without one that has ended."""
        self._refuse(lambda process: process.poll() is not None)

    def kill_one(self, process: "subprocess.Popen[bytes]") -> None:
        """Pull the plug of this one. Whoever else is killed was killed by somebody, and `check` tells it."""
        self.check()
        self._killed.add(process)
        process.kill()

    def stop(self) -> None:
        """Have them leave in order; refuse to go on if one does not."""
        for process in self.processes:
            process.terminate()
        deadline = time.monotonic() + WITHIN
        for process in self.processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise Unavailable(f"an instance of the measurement did not stop within {WITHIN:g} s") from None
        self._refuse(lambda process: process.returncode != 0)

    def kill(self) -> None:
        """Pull the plug of whoever is left."""
        for process in self.processes:
            process.kill()
            process.wait()

    def _refuse(self, has_failed: "Callable[[subprocess.Popen[bytes]], bool]") -> None:
        for at, process in enumerate(self.processes):
            if process not in self._killed and has_failed(process):
                words = self._said_by(at).read_text(errors="replace").strip()
                raise Unavailable(f"an instance of the measurement ended with {process.returncode}: {words}")
