"""Real instances in real processes, told apart by what they tell (`--events`)."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from soloist.inspector import Inspector, Snapshot
from soloist.runtime.drainer import Drainer
from soloist.settings import Settings
from soloist.store.history import Sample
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
SOLOIST = (sys.executable, "-m", "soloist")


def is_frozen(process: "subprocess.Popen[str]") -> bool:
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


class Running:
    """One instance: its process, and every event that it has told, in a list."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.events: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.events.append(json.loads(line))

    def told(self, event: str, **fields: Any) -> list[dict[str, Any]]:
        """The events of this name with these fields."""
        wanted = {"event": event, **fields}
        return [each for each in self.events.copy() if wanted.items() <= each.items()]

    def wait_for(self, event: str, count: int = 1, within: float = 30, **fields: Any) -> dict[str, Any]:
        """Wait until it has told this so many times."""
        what = f"{count} x {event} {fields} of process {self.process.pid}"
        return wait_until(lambda: self._at_least(count, event, **fields), within=within, what=what)[-1]

    def _at_least(self, count: int, event: str, **fields: Any) -> list[dict[str, Any]]:
        told = self.told(event, **fields)
        if len(told) < count:
            assert self.process.poll() is None or self._reader.is_alive(), f"it ended with {self.process.returncode}"
            return []
        return told

    @property
    def id(self) -> str:
        """Its present id."""
        return str(self.wait_for("joined")["instance"])

    @property
    def is_frozen(self) -> bool:
        return is_frozen(self.process)

    def kill(self) -> None:
        """Pull the plug: no exit handler runs."""
        self.process.kill()
        self.process.wait(timeout=30)

    def freeze(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to stop and wait; answers its exit code."""
        self.process.send_signal(how)
        code = self.process.wait(timeout=60)
        self._reader.join(30)
        return code


class Crew:
    """The instances of one namespace on one server, started and ended here."""

    def __init__(self, url: str, namespace: str, folder: Path) -> None:
        self.url = url
        self.namespace = namespace
        self.folder = folder
        self.running: list[Running] = []
        """Everybody that was ever started here."""
        self.program: Sequence[str] = SOLOIST
        self.environment: Mapping[str, str] = {}
        self._inspector = Inspector(Server(url), namespace)

    @property
    def connection(self) -> tuple[str, ...]:
        return ("--url", self.url, "--namespace", self.namespace)

    def start(
        self,
        *options: str | float,
        environment: Mapping[str, str] | None = None,
        before: Sequence[str] = (),
        program: Sequence[str] = (),
        joins: bool = True,
    ) -> Running:
        """Start an instance and wait until it has joined, if it does.

        Args:
            before: stands before the command (ip netns exec …).
            program: soloist, or what stands for it; else that of the crew.
        """
        process = subprocess.Popen(
            [*before, *(program or self.program), "run", *self.connection, "--events", *map(str, options)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, **self.environment, "FOLDER": str(self.folder), **(environment or {})},
        )
        running = Running(process)
        self.running.append(running)
        if joins:
            running.wait_for("joined")
        return running

    def command(self, *words: str, **options: Any) -> "subprocess.CompletedProcess[str]":
        """Run another command on the same namespace to its end."""
        return subprocess.run(
            [*self.program, *words, *self.connection],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**os.environ, **self.environment},
            timeout=60,
            check=False,
            **options,
        )

    def snapshot(self) -> Snapshot:
        seen = self._inspector.snapshot()
        assert seen.adds_up, f"messages were lost or doubled: {seen}"
        return seen

    def wait_until_handled(self, messages: int, within: float = 60) -> Snapshot:
        """Wait until so many are published and none is pending or claimed."""

        def handled() -> Snapshot | None:
            seen = self.snapshot()
            return seen if seen.published >= messages and seen.pending + seen.claimed == 0 else None

        return wait_until(handled, within=within, what=f"{messages} messages are handled") or self.snapshot()

    def numbers_in_error_store(self) -> list[int]:
        """Drain the error store: the numbers of all failed messages, in a list, so that a double shows.

        As getErrors does, but in this process: starting one takes longer than all the rest.
        """
        numbers: list[int] = []
        with Drainer(Server(self.url), self.namespace, Settings()) as drainer:
            for batch in drainer.batches():
                numbers += [int(record.id.split("-")[0]) for record in batch]
                drainer.confirm(batch)
        return numbers

    def numbers(self) -> list[int]:
        """The numbers of all messages that wait, and of all that failed (these are drained), in a list."""
        keys = Keys(self.namespace).of_kinds(self.snapshot().kinds)
        with closing(Link(Server(self.url), timeout=5)) as link:
            envelopes = [link.command("LRANGE", key, 0, -1) for key in keys if ":bell:" not in key]
        waiting = [int(envelope.split(b"-", 1)[0]) for of_key in envelopes for envelope in of_key]
        return waiting + self.numbers_in_error_store()

    def history(self) -> list[Sample]:
        return self._inspector.history()

    def line(self) -> list[bytes]:
        """The places of the line as they stand in Redis: "ID LAST IDLE_JUDGE"."""
        places: list[bytes] = self._inspector._link.command("HVALS", self._inspector._keys.line)
        return places

    def generator_of(self, everyone: list[Running]) -> Running:
        """The one of these that generates, as soon as one does."""

        def found() -> list[Running]:
            term = self.snapshot().term
            return [running for running in everyone if term is not None and running.id == term.instance]

        return wait_until(found, what="one of these generates")[0]

    def ledger(self) -> list[str]:
        """What the handlers of tests/processes/apps.py wrote down, in order."""
        path = self.folder / "ledger"
        return path.read_text().splitlines() if path.exists() else []

    def release(self) -> None:
        """Kill whatever is left; what waits at the gate may go."""
        (self.folder / "gate").touch()
        for running in self.running:
            if running.process.poll() is None:
                running.kill()
            if running.process.stdout is not None:
                running._reader.join(30)
                running.process.stdout.close()
