"""What a run of chaos is played on: the server, the instances, and everything that faults take hold of."""

from dataclasses import dataclass, field
from pathlib import Path

from soloist.chaos.catalogue import Family
from soloist.chaos.clock import ServerClock
from soloist.chaos.fleet import Fleet, Slot, Way
from soloist.chaos.plan import Step
from soloist.chaos.witness import Witness
from soloist.lab.leashed import Leash
from soloist.lab.private_server import PrivateServer
from soloist.settings import Settings
from soloist.store.link import Link


@dataclass(frozen=True)
class Hit:
    """A fault that has happened.

    Attributes:
        at_ms, ended_ms: wall clock; ended: when it was over, or taken back.
        pid: of the process that it hit; 0: none.
        term: the term that was played then, by that process if `was_generator`.
        told: what was done, for people.
    """

    kind: str
    family: Family
    at_ms: int
    ended_ms: int
    pid: int
    term: int
    was_generator: bool
    told: str


@dataclass
class Stage:
    """Everything that takes part.

    Attributes:
        near: the server's own address, which no fault of a connection is in the way of.
        link: reaches it directly, without patience.
        server: the private server, if it is ours to break.
        clock: the private server's, if it can be moved.
        drains: files into which getErrors printed, and whether it was killed.
        begins: when the plan does (wall clock, seconds).
    """

    folder: Path
    namespace: str
    near: str
    settings: Settings
    leash: Leash
    link: Link
    fleet: Fleet
    witness: Witness
    server: PrivateServer | None = None
    clock: ServerClock | None = None
    drains: list[tuple[Path, bool]] = field(default_factory=list)
    begins: float = 0.0

    def victim(self, step: Step, *ways: Way) -> Slot | None:
        """Whom a fault hits: the generator if it is meant and can be, else one of the others."""
        generator = self.witness.generator_pid
        able = [
            slot for slot in self.fleet.slots if slot.is_alive and not slot.holds and (not ways or slot.way in ways)
        ]
        meant = [slot for slot in able if (slot.pid == generator) == step.on_generator] or able
        return meant[int(step.chance * len(meant))] if meant else None
