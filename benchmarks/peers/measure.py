"""One sample of one system: from the first publication to the last completion, with the processor time it took."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from protocol import PROGRESS
from server import Server

from soloist.demo import random_text

LOOK = 0.02
"""Seconds between two looks at the counters. They tell the time of the last completion themselves."""

STALLED = 30.0
"""Seconds without a completion after which a sample is given up."""

PATIENCE = 10.0
"""Seconds to end in order."""


class Failed(Exception):
    """A system gave no sample; the first line is the reason, what follows is what it said."""


@dataclass(frozen=True)
class Sample:
    """What one run showed. Processor times are microseconds a message."""

    messages: int
    failed: int
    seconds: float
    server_us: float
    client_us: float

    @property
    def rate(self) -> float:
        return self.messages / self.seconds


@dataclass(frozen=True)
class Peer:
    """Another queue.

    Args:
        command: its program, which keeps to protocol.py.
        messages: how many make a sample of a few seconds.
        environment: what its program needs beside ours.
    """

    name: str
    command: Sequence[str | Path]
    messages: int
    environment: Mapping[str, str] = field(default_factory=dict)

    def sample(self, server: Server, workers: int, folder: Path) -> Sample:
        """One producer and so many workers, all of them ready before the clock starts."""
        texts = folder / "texts"
        texts.write_text("".join(f"{random_text()}\n" for _ in range(self.messages)))
        files = [folder / f"progress-{number}" for number in range(workers)]
        log = folder / f"{self.name}.log"
        with ExitStack() as running:
            everyone = []
            for file in files:
                file.write_bytes(bytes(PROGRESS.size))
                everyone.append(running.enter_context(self._started("work", server.url, file, log, workers)))
            producer = running.enter_context(self._started("produce", server.url, texts, log, workers))
            everyone.append(producer)
            clients, servers = _processor_seconds(everyone), server.processor_seconds()
            begun = time.monotonic_ns()
            assert producer.stdin is not None
            producer.stdin.write(b"go\n")
            producer.stdin.flush()
            ended, failed = self._finish(everyone, files, log)
            return Sample(
                messages=self.messages,
                failed=failed,
                seconds=(ended - begun) / 1e9,
                server_us=(server.processor_seconds() - servers) / self.messages * 1e6,
                client_us=(_processor_seconds(everyone) - clients) / self.messages * 1e6,
            )

    def _finish(self, everyone: Sequence[subprocess.Popen[bytes]], files: Sequence[Path], log: Path) -> tuple[int, int]:
        """When the last message was handled, and how many were found erroneous."""
        seen, seen_at = 0, time.monotonic()
        while True:
            figures = [PROGRESS.unpack(file.read_bytes()) for file in files]
            handled = sum(count for _, _, count in figures)
            if handled >= self.messages:
                return max(at for at, _, _ in figures), sum(failed for _, failed, _ in figures)
            if handled > seen:
                seen, seen_at = handled, time.monotonic()
            if time.monotonic() - seen_at > STALLED or any(process.poll() is not None for process in everyone):
                raise Failed(f"{self.name} handled {handled} of {self.messages}\n{log.read_text()}")
            time.sleep(LOOK)

    @contextmanager
    def _started(self, role: str, url: str, file: Path, log: Path, workers: int) -> Iterator[subprocess.Popen[bytes]]:
        """A process of this peer that is ready; ended by the end of its input, like all that protocol.py tells of."""
        with log.open("ab") as errors:
            process = subprocess.Popen(
                [*self.command, role, url, file],
                env={**os.environ, **self.environment, "WORKERS": str(workers)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdout:
            try:
                if process.stdout.readline() != b"ready\n":
                    raise Failed(f"{self.name} does not start\n{log.read_text()}")
                yield process
            finally:
                process.stdin.close()
                try:
                    process.wait(PATIENCE)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


@dataclass(frozen=True)
class Soloist:
    """Ourselves, by our own command: it measures with the same meaning, and counts what is lost or duplicated besides.

    Args:
        options: of `soloist bench`, beyond the number of handlers and the server.
        messages: None for as many as the command chooses.
    """

    name: str
    options: Sequence[str] = ()
    messages: int | None = None

    def sample(self, server: Server, workers: int, folder: Path) -> Sample:
        words = [*self.options, "--json", "--handlers", str(workers), "--url", server.url]
        if self.messages is not None:
            words += ["--messages", str(self.messages)]
        with (folder / f"{self.name}.log").open("w+") as errors:
            said = _output([sys.executable, "-m", "soloist", "bench", *words], errors)
            errors.seek(0)
            try:
                told = json.loads(said)
            except ValueError:
                complaint = f"{said}{errors.read()}".strip()
                last = complaint.rpartition("\n")[2]
                raise Failed(f"no figures: {last}\n{complaint}") from None
        if told["lost"] or told["duplicated"]:
            raise Failed(f"{self.name}: {told['lost']} lost, {told['duplicated']} duplicated.")
        return Sample(
            messages=told["messages"],
            failed=told["failed"],
            seconds=told["seconds"],
            server_us=told["server_cpu_us_per_message"],
            client_us=told["client_cpu_us_per_message"],
        )


def _output(command: Sequence[str], errors: IO[str]) -> str:
    """What it prints. Interrupted, we let it end its instances first: they are not ours to end."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True)
    try:
        return process.communicate()[0]
    except BaseException:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise


def _processor_seconds(processes: Sequence[subprocess.Popen[bytes]]) -> float:
    """Spent by these and by their children that ended: fields 14 to 17 of /proc/PID/stat, after the name in brackets."""
    ticks = 0
    for process in processes:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")
