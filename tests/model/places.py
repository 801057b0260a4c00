"""What a `next` names by its places among what its caller holds, by docs/protocol.md: written down without any script."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from soloist.store.messages import Run, TurnCall


@dataclass(frozen=True)
class Named:
    """The ids that leave the caller's hands, each in the order of claiming."""

    completed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    back: list[str] = field(default_factory=list)

    @property
    def all(self) -> set[str]:
        return {*self.completed, *self.failed, *self.back}


def named(turn: TurnCall, held: Sequence[str]) -> Named | None:
    """What the call says of what is held; None if it does not fit, and must be refused."""
    found, places = Named(), list[int]()
    for run in turn.runs:
        of_run = range(run.place, run.place + run.length)
        if not of_run or of_run[0] not in range(len(held)) or of_run[-1] not in range(len(held)):
            return None
        failed = _failed(run, held)
        if held[run.place] != run.id.decode() or failed is None:
            return None
        places += of_run
        found.failed.extend(held[place] for place in failed)
        (found.back if run.is_back else found.completed).extend(
            held[place] for place in of_run if place not in set(failed)
        )
    completed = sum(tally.completed for tally in turn.kinds.values())
    counted = (completed, sum(tally.failed for tally in turn.kinds.values()))
    in_order = places == sorted(set(places))
    return found if in_order and counted == (len(found.completed), len(found.failed)) else None


def _failed(run: Run, held: Sequence[str]) -> list[int] | None:
    """The places of those that failed: within the run, in order, each once, and none of what is given back."""
    places = [failure.place for failure in run.specials]
    if places != sorted(set(places)) or (places and run.is_back):
        return None
    for failure in run.specials:
        within = run.place <= failure.place < run.place + run.length
        if not within or held[failure.place] != failure.id.decode():
            return None
    return places
