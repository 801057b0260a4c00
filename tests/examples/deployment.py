"""Instances of an example, started as its page says, and looked at as an operator would."""

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from soloist.inspector import Inspector, Snapshot
from soloist.store.server import Server
from tests.processes.crew import ROOT, SOLOIST
from tests.waiting import wait_until


class Deployment:
    """The instances of one App on one namespace. What they print is kept in files of the folder.

    Args:
        target: MODULE:APP.
        environment: what the page of the example asks for.
    """

    def __init__(
        self, target: str, url: str, namespace: str, folder: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self._words = [*SOLOIST, "run", target, "--url", url, "--namespace", namespace]
        self._environment = {**os.environ, **(environment or {})}
        self._folder = folder
        self._inspector = Inspector(Server(url), namespace)
        self._started: list[subprocess.Popen[bytes]] = []

    def give(self, **environment: str) -> None:
        """For those that are started from now on."""
        self._environment.update(environment)

    @property
    def running(self) -> list["subprocess.Popen[bytes]"]:
        return [process for process in self._started if process.poll() is None]

    @property
    def ended(self) -> list["subprocess.Popen[bytes]"]:
        return [process for process in self._started if process.poll() is not None]

    def start(self, count: int = 1) -> None:
        """So many more; returns when they have joined."""
        new = [self._start() for _ in range(count)]
        for process in new:
            self._wait_for(process)

    def _wait_for(self, process: "subprocess.Popen[bytes]") -> None:
        wait_until(lambda: process.poll() is not None or process.pid in self._pids(), what="an instance has joined")
        # Some are killed so soon that nobody sees them join; one that refuses to start ends with a code.
        assert process.poll() in (None, -signal.SIGKILL), f"an instance ended at once:\n{self.errors()}"

    def _start(self) -> "subprocess.Popen[bytes]":
        number = len(self._started)
        with self._file("out", number).open("wb") as out, self._file("err", number).open("wb") as err:
            process = subprocess.Popen(self._words, stdout=out, stderr=err, cwd=ROOT, env=self._environment)
        self._started.append(process)
        return process

    def _file(self, stream: str, number: int) -> Path:
        return self._folder / f"{stream}-{number}"

    def _pids(self) -> set[int]:
        return {instance.pid for instance in self._inspector.snapshot().instances}

    def snapshot(self) -> Snapshot:
        seen = self._inspector.snapshot()
        assert seen.adds_up, f"messages were lost or doubled: {seen}"
        return seen

    def generator(self) -> "subprocess.Popen[bytes]":
        """The process that generates, as soon as one of the living does."""

        def found() -> list["subprocess.Popen[bytes]"]:
            seen = self.snapshot()
            pids = {each.pid for each in seen.instances if seen.term is not None and each.id == seen.term.instance}
            return [process for process in self.running if process.pid in pids]

        return wait_until(found, what="one of the living generates")[0]

    def kill_generator(self) -> None:
        """Pull the plug: no exit handler runs."""
        generator = self.generator()
        generator.kill()
        generator.wait(timeout=30)

    def wait_until_handled(self, messages: int, within: float = 60) -> Snapshot:
        """Wait until so many are published and none is pending or claimed."""

        def handled() -> Snapshot | None:
            seen = self.snapshot()
            return seen if seen.published >= messages and seen.pending + seen.claimed == 0 else None

        return wait_until(handled, within=within, what=f"{messages} messages are handled") or self.snapshot()

    def printed(self) -> list[str]:
        """All lines that all of them wrote to stdout."""
        texts = (self._file("out", number).read_text() for number in range(len(self._started)))
        return [line for text in texts for line in text.splitlines()]

    def errors(self) -> str:
        """What all of them wrote to stderr."""
        return "".join(self._file("err", number).read_text() for number in range(len(self._started)))

    def end(self) -> list[int]:
        """Ask all to stop, and wait; their exit codes."""
        ending = self.running
        for process in ending:
            process.send_signal(signal.SIGTERM)
        return [process.wait(timeout=60) for process in ending]

    def release(self) -> None:
        """Kill whatever is left."""
        for process in self.running:
            process.kill()
            process.wait(timeout=30)
