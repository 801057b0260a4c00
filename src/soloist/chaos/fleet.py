"""The instances of a run of chaos: real processes of `soloist run`. Whoever ends is replaced."""

import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from soloist.chaos.network import Host
from soloist.chaos.proxy import FaultProxy
from soloist.errors import Unavailable
from soloist.lab.instance import instance_environment, instance_words
from soloist.lab.leashed import Leash
from soloist.settings import Settings

APP = "soloist.chaos.app:app"
BEFORE_JOINING = (Unavailable.exit_code, -signal.SIGTERM)
"""How one may end that has not joined: the server was away, which it says, and whoever starts instances starts it again;
or it was told to leave before it could listen."""

LEAVES_WITHIN = 30.0
"""Seconds that all together may take to leave in order."""


class Way(StrEnum):
    """How an instance reaches the server, and so which faults can hit it."""

    DIRECT = "direct"
    PROXIED = "through the fault proxy"
    FAR = "over a network of its own"


@dataclass
class Slot:
    """A place for one instance after another.

    Attributes:
        way: how it reaches the server.
        url: the server, seen from there.
        proxy: what stands between it and the server, if it is proxied.
        host: where it runs, if it is far.
        holds: the names of faults that hold it now: it is not to be told anything else.
    """

    way: Way
    url: str
    proxy: FaultProxy | None = None
    host: Host | None = None
    process: "subprocess.Popen[bytes] | None" = None
    holds: set[str] = field(default_factory=set)

    @property
    def pid(self) -> int:
        return self.process.pid if self.process is not None else 0

    @property
    def is_alive(self) -> bool:
        return self.process is not None and self.process.poll() is None


class Fleet:
    """Starts them, replaces whoever has ended, and has them leave.

    Args:
        has_joined: whether the process of this number is known to have joined.

    Attributes:
        crashed: what those said in the end that ended by themselves, and not as they were told.
        started: how many were started in all.
    """

    def __init__(
        self,
        leash: Leash,
        settings: Settings,
        variables: Mapping[str, str],
        folder: Path,
        has_joined: Callable[[int], bool],
    ) -> None:
        self._leash = leash
        self._settings = settings
        self._variables = variables
        self._folder = folder
        self._has_joined = has_joined
        self._said: dict[int, Path] = {}
        self._told_to_end: set[int] = set()
        self._seen_ended: set[int] = set()
        self.slots: list[Slot] = []
        self.crashed: list[str] = []
        self.started = 0

    def add(self, slot: Slot, *words: str) -> Slot:
        """One more place, with an instance in it."""
        self.slots.append(slot)
        self.start(slot, *words)
        return slot

    def start(self, slot: Slot, *words: str) -> None:
        self.started += 1
        said = self._folder / f"said-{self.started}"
        environment = instance_environment(self._settings, {"SOLOIST_URL": slot.url, **self._variables})
        with said.open("wb") as errors:
            slot.process = self._leash.start(
                [*(slot.host.before if slot.host else ()), *instance_words(APP, *words)],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        self._said[slot.pid] = said

    def replace_ended(self) -> None:
        """Whoever has ended gets a successor; one that was not told to end has crashed."""
        for slot in self.slots:
            if not slot.is_alive:
                self._judge(slot)
                self.start(slot)

    def kill(self, slot: Slot) -> None:
        """Pull the plug."""
        self._told_to_end.add(slot.pid)
        self._signal(slot, signal.SIGKILL)

    def terminate(self, slot: Slot) -> None:
        """Have it leave in order."""
        self._told_to_end.add(slot.pid)
        self._signal(slot, signal.SIGTERM)

    def expect_death(self, slot: Slot) -> None:
        """It was told to end by itself."""
        self._told_to_end.add(slot.pid)

    def freeze(self, slot: Slot) -> None:
        self._signal(slot, signal.SIGSTOP)

    def thaw(self, slot: Slot) -> None:
        self._signal(slot, signal.SIGCONT)

    def listens(self, slot: Slot) -> bool:
        """Whether it could read orders: one that has only begun would die of the signal that they come with."""
        return slot.is_alive and self._has_joined(slot.pid)

    def order(self, slot: Slot) -> None:
        """Have it read its orders."""
        self._signal(slot, signal.SIGUSR1)

    def remove(self, slot: Slot) -> None:
        """It leaves in order, and nobody comes in its place."""
        self.slots.remove(slot)
        self.terminate(slot)

    def stop(self, wait_until: Callable[[Callable[[], bool], float], bool]) -> None:
        """All leave in order; whoever does not in time has crashed."""
        for slot in self.slots:
            self.terminate(slot)
        if not wait_until(lambda: not any(slot.is_alive for slot in self.slots), LEAVES_WITHIN):
            self.crashed.append(f"did not leave within {LEAVES_WITHIN:g} s")
        for slot in self.slots:
            self._judge(slot)

    def pull_all_plugs(self) -> None:
        """Whoever is left."""
        for slot in self.slots:
            if slot.process is not None:
                slot.process.kill()
                slot.process.wait()

    def require_alive(self) -> None:
        """Refuse to begin with one that has ended."""
        for slot in self.slots:
            if not slot.is_alive:
                raise Unavailable(f"an instance ended at once: {self._last_words(slot)}")

    def _judge(self, slot: Slot) -> None:
        if slot.process is None or slot.pid in self._seen_ended or slot.process.poll() is None:
            return
        self._seen_ended.add(slot.pid)
        code = slot.process.returncode
        if code in BEFORE_JOINING and not self._has_joined(slot.pid):
            return
        was_killed = code == -signal.SIGKILL
        if slot.pid not in self._told_to_end or (code != 0 and not was_killed):
            self.crashed.append(f"process {slot.pid} ended by itself with {code}: {self._last_words(slot)}")

    def _last_words(self, slot: Slot) -> str:
        with suppress(OSError, KeyError):
            return self._said[slot.pid].read_text(errors="replace").strip()[-1500:]
        return ""

    def _signal(self, slot: Slot, number: int) -> None:
        if slot.process is not None and slot.process.poll() is None:
            slot.process.send_signal(number)
