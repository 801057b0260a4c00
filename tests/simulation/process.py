"""A simulated process: its threads, its clocks, its end of the network, and what is about to happen to its calls."""

import random
from typing import TYPE_CHECKING, NamedTuple

from tests.simulation.scheduler import Owner, Scheduler
from tests.simulation.simulated import names

if TYPE_CHECKING:
    from tests.simulation.network import Stream


class CallFault(NamedTuple):
    """What happens to the next call of a script.

    Attributes:
        script: its name; empty: whichever is next.
        fate: see network.py.
        seconds: how late it, its answer or its copy is.
        resets: the process is told at once that its connection broke; else it waits until its time is over.
    """

    script: str
    fate: str
    seconds: float
    resets: bool


class Process(Owner):
    """One process on a machine of its own.

    Attributes:
        streams: its connections.
        plugged_at: from when on anything gets through; never, after a power cut.
        failed_to_start: the server could not be reached.
    """

    def __init__(self, name: str, scheduler: Scheduler, chance: random.Random) -> None:
        super().__init__(name)
        self._scheduler = scheduler
        self.monotonic_ahead = chance.uniform(100, 1_000_000)
        self.wall_ahead = chance.uniform(-3600, 3600)
        self.new_id = names(name)
        self.streams: list[Stream] = []
        self.plugged_at = 0.0
        self.failed_to_start = False

    @property
    def has_ended(self) -> bool:
        return self.is_dead or all(task.has_ended for task in self.tasks)

    # What happens to it. Only from what happens, not from one of its own tasks.

    def kill(self) -> None:
        """Its kernel lives on, sends what was to be sent and closes its connections."""
        if not self.is_dead:
            self.is_dead, self.is_frozen = True, False
            for stream in self.streams:
                stream.close()
            self._scheduler.unwind(self.tasks)

    def lose_power(self) -> None:
        """Nobody is told."""
        if not self.is_dead:
            self.plugged_at = float("inf")
            self.is_dead, self.is_frozen = True, False
            self._scheduler.unwind(self.tasks)

    def freeze(self, seconds: float) -> None:
        """It stands still for so long; its clocks go on."""
        if not self.is_dead and not self.is_frozen:
            self.is_frozen = True
            self._scheduler.at(self._scheduler.now + seconds, self._thaw, 0.0)

    def suspend(self, seconds: float) -> None:
        """The same, and its monotonic clock stands still, too: its machine was put to sleep."""
        if not self.is_dead and not self.is_frozen:
            self.is_frozen = True
            self._scheduler.at(self._scheduler.now + seconds, self._thaw, seconds)

    def _thaw(self, seconds: float) -> None:
        if self.is_frozen:
            self.is_frozen = False
            self.monotonic_ahead -= seconds
            self._scheduler.thaw(self)

    def unplug(self, seconds: float) -> None:
        """Nothing gets through for so long; what was sent meanwhile does then."""
        if not self.is_dead:
            self.plugged_at = max(self.plugged_at, self._scheduler.now + seconds)

    def cut(self, *, will_only: bool = False) -> None:
        """Its connections break."""
        for stream in self.streams:
            if stream.is_open_here and stream.is_open_there and (stream.channel or not will_only):
                stream.reset()

    def mute(self) -> None:
        """Nothing gets through its present connections any more, and neither end is told."""
        for stream in self.streams:
            stream.is_silent = True
