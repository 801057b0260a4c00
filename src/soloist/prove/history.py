"""What happened in one run: the processes one after another, and what came of it in the end."""

from dataclasses import dataclass, field

from soloist.prove.child import Ended
from soloist.prove.crash_points import END, Place, Point, numbered
from soloist.prove.outcome import Outcome


@dataclass
class History:
    """One run of a handler or a source, from the first process to the last.

    Attributes:
        trouble: why it did not come to its end as it should, if it did not.
        fate: what became of the message, of several the first that was not completed; where it was raised, if it was.
    """

    processes: list[Ended] = field(default_factory=list)
    outcome: Outcome = field(default_factory=Outcome)
    trouble: str | None = None
    fate: str = "completed"

    def add(self, ended: Ended) -> None:
        self.processes.append(ended)

    @property
    def crashed(self) -> Place | None:
        """Where it was killed, if it was."""
        return next((each.crashed for each in self.processes if each.crashed is not None), None)

    @property
    def points(self) -> list[Point]:
        """Every moment at which it could have been killed."""
        found = [point for process, each in enumerate(self.processes) for point in numbered(each.seen.places, process)]
        return [*found, Point(len(self.processes) - 1, 0, END)]

    @property
    def many(self) -> int:
        """How many of these there were; more than points if a loop is very long."""
        return sum(each.seen.many for each in self.processes) + 1
