"""Real beats and workers of one Celery project on one server, started and ended here."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from soloist.inspector import Inspector, Snapshot
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
CELERY = (sys.executable, "-m", "celery")
EVERY = 0.25


@dataclass
class Beat:
    """One `celery beat`."""

    process: "subprocess.Popen[str]"
    log: Path

    def kill(self) -> None:
        """Pull the plug: no exit handler runs."""
        self.process.kill()
        self.process.wait(timeout=30)

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def end(self) -> int:
        self.process.terminate()
        return self.process.wait(timeout=60)


class Project:
    """A project with its beats and workers.

    Args:
        conf: settings of Celery's beside those that keep tests apart.
        schedule: name to seconds.
        scheduler: that of its beats.
    """

    def __init__(
        self,
        url: str,
        namespace: str,
        folder: Path,
        *,
        conf: Mapping[str, Any] | None = None,
        schedule: Mapping[str, float] | None = None,
        scheduler: str = "soloist",
    ) -> None:
        self.url = url
        self.namespace = namespace
        self.folder = folder
        self.prefix = f"{namespace}:"
        self.conf = {
            "soloist_namespace": namespace,
            "broker_transport_options": {"global_keyprefix": self.prefix},
            "worker_enable_remote_control": False,
            **(conf or {}),
        }
        self.schedule = {"often": EVERY} if schedule is None else schedule
        self.scheduler = scheduler
        self.beats: list[Beat] = []
        self._workers: list[subprocess.Popen[str]] = []
        self.keys = Keys(namespace)
        self.link = Link(Server(url), timeout=5)
        self._inspector = Inspector(Server(url), namespace)

    def environment(self, url: str | None = None) -> dict[str, str]:
        return {
            **os.environ,
            "BROKER": url or self.url,
            "CONF": json.dumps(self.conf),
            "SCHEDULE": json.dumps(self.schedule),
            "FOLDER": str(self.folder),
        }

    def start(
        self,
        *,
        program: Sequence[str] = CELERY,
        environment: Mapping[str, str] | None = None,
        url: str | None = None,
        joins: bool = True,
    ) -> Beat:
        """Start a beat, and wait until it has joined, if it does."""
        before = self.joined()
        log = self.folder / f"beat-{len(self.beats)}.log"
        with log.open("wb") as into:
            process = subprocess.Popen(
                [*program, "-A", "tests.celery.project", "beat", "-S", self.scheduler, "-l", "INFO"],
                stdout=into,
                stderr=into,
                text=True,
                cwd=ROOT,
                env={**self.environment(url), **(environment or {})},
            )
        self.beats.append(Beat(process, log))
        if joins:
            wait_until(lambda: self.joined() > before or process.poll() is not None, what="a beat has joined")
            assert process.poll() is None, log.read_text()
        return self.beats[-1]

    def start_worker(self) -> None:
        log = self.folder / f"worker-{len(self._workers)}.log"
        with log.open("wb") as into:
            words = ("worker", "-P", "solo", "--without-gossip", "--without-mingle", "--without-heartbeat")
            self._workers.append(
                subprocess.Popen(
                    [*CELERY, "-A", "tests.celery.project", *words],
                    stdout=into,
                    stderr=into,
                    text=True,
                    cwd=ROOT,
                    env=self.environment(),
                )
            )

    def joined(self) -> int:
        """How many have ever joined."""
        return int(self.link.command("HGET", self.keys.meta, "numbers") or 0)

    def snapshot(self) -> Snapshot:
        return self._inspector.snapshot()

    def total(self, name: str) -> int:
        return int(self.link.command("HGET", self.keys.totals, name) or 0)

    @property
    def term(self) -> int:
        return int(self.link.command("HGET", self.keys.term, "term") or 0)

    def leader(self) -> Beat:
        """The beat that sends, as soon as one does."""

        def found() -> list[Beat]:
            term = self.snapshot().term
            pids = {each.pid for each in self.snapshot().instances if term and each.id == term.instance}
            return [beat for beat in self.beats if beat.process.pid in pids]

        return wait_until(found, what="one of the beats leads")[0]

    def others(self) -> list[Beat]:
        leader = self.leader()
        return [beat for beat in self.beats if beat is not leader and beat.process.poll() is None]

    def wait_for_line(self) -> None:
        wait_until(lambda: self.snapshot().line, what="a beat is in line")

    def waiting(self) -> list[tuple[str, str]]:
        """What stands in Celery's own queue: entry and tick, oldest first."""
        found = self.link.command("LRANGE", self.prefix + "celery", 0, -1)
        return [_told(json.loads(each)) for each in reversed(found)]

    def done(self) -> list[tuple[str, str]]:
        """What the workers wrote down."""
        ledger = self.folder / "ledger"
        lines = ledger.read_text().splitlines() if ledger.exists() else []
        return [(line.rpartition(" ")[0], line.rpartition(" ")[2]) for line in lines]

    def sent(self) -> list[tuple[str, str]]:
        """All of it, wherever it is. One that a worker takes in between is seen the next time."""
        return [*self.done(), *self.waiting()]

    def wait_for_more(self, many: int = 3, of: str = "often") -> None:
        """So many more are sent."""
        before = sum(name == of for name, _ in self.sent())
        wait_until(lambda: sum(name == of for name, _ in self.sent()) >= before + many, what=f"{many} more are sent")

    def runs(self, of: str = "often") -> int:
        """How often it was sent, by what is stored with its last run."""
        return int(self.link.command("HGET", self.keys.term, f"cursor:schedule:{of}") or 0)

    def check_ticks(self) -> None:
        """Each tick was sent once, and each is on the rhythm of the first. Of those missed in a row the latest is sent."""
        counted = Counter(self.sent())
        twice = {tick: times for tick, times in counted.items() if times > 1}
        assert not twice, f"sent more than once: {twice}"
        ticks: defaultdict[str, list[float]] = defaultdict(list)
        for name, tick in counted:
            ticks[name].append(datetime.fromisoformat(tick).timestamp())
        for name, seconds in self.schedule.items():
            steps = [round((tick - min(ticks[name])) / seconds, 3) for tick in sorted(ticks[name])]
            assert all(step == int(step) for step in steps), f"{name} lost its rhythm: {steps}"

    def release(self) -> None:
        """End everything, and take away what Celery keeps."""
        for process in (*(beat.process for beat in self.beats), *self._workers):
            if process.poll() is None:
                process.kill()
                process.wait(timeout=30)
        with closing(self.link) as link:
            theirs = link.command("KEYS", f"{self.prefix}*")
            if theirs:
                link.command("DEL", *theirs)
            # Who was killed last of all is reclaimed by nobody.
            ours = [*link.command("KEYS", self.keys.instance("*")), *link.command("KEYS", self.keys.claimed("*"))]
            if ours:
                link.command("DEL", *ours)


def _told(message: dict[str, Any]) -> tuple[str, str]:
    headers = message["headers"]
    return headers["argsrepr"].strip("[](),'\""), headers["soloist_tick"]
