"""What a `next` names by its places among what its caller holds, by docs/protocol.md: written down without any script."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from soloist.store.messages import CommittedMessage, FailedMessage, RetriedMessage, Run, TurnCall


@dataclass(frozen=True)
class Named:
    """The ids that leave the caller's hands, each in the order of claiming.

    Attributes:
        completed: also those that commit something.
        specials: those of which there is more to say.
    """

    completed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    retried: list[str] = field(default_factory=list)
    back: list[str] = field(default_factory=list)
    specials: list[FailedMessage | RetriedMessage | CommittedMessage] = field(default_factory=list)

    @property
    def all(self) -> set[str]:
        return {*self.completed, *self.failed, *self.retried, *self.back}

    @property
    def committed(self) -> list[CommittedMessage]:
        return [each for each in self.specials if isinstance(each, CommittedMessage)]

    @property
    def refused(self) -> list[str]:
        return [each.id.decode() for each in self.committed if is_refused(each)]

    @property
    def must_be_given(self) -> list[str]:
        """Of these the lists of their kind are needed."""
        return [*self.back, *self.retried, *(each.id.decode() for each in self.committed)]


def is_refused(committed: CommittedMessage) -> bool:
    """Whether the server would refuse what it writes: of what histories write, only to expire in no time."""
    return any(write.command == "expire" and int(write.arguments[0]) < 1 for write in committed.writes)


def named(turn: TurnCall, held: Sequence[str]) -> Named | None:
    """What the call says of what is held; None if it does not fit, and must be refused."""
    found, places = Named(), list[int]()
    for run in turn.runs:
        of_run = range(run.place, run.place + run.length)
        if not of_run or of_run[0] not in range(len(held)) or of_run[-1] not in range(len(held)):
            return None
        if held[run.place] != run.id.decode() or not _specials_fit(run, held):
            return None
        places += of_run
        found.specials.extend(run.specials)
        fates = {special.place: special for special in run.specials}
        for place in of_run:
            special = fates.get(place)
            if isinstance(special, FailedMessage):
                found.failed.append(held[place])
            elif isinstance(special, RetriedMessage):
                found.retried.append(held[place])
            else:
                (found.back if run.is_back else found.completed).append(held[place])
    tallies = turn.kinds.values()
    counted = tuple(sum(getattr(tally, name) for tally in tallies) for name in ("completed", "failed", "retried"))
    in_order = places == sorted(set(places))
    right = (len(found.completed), len(found.failed), len(found.retried))
    return found if in_order and counted == right else None


def _specials_fit(run: Run, held: Sequence[str]) -> bool:
    """Within the run, in order, each once, under their ids, and none of what is given back."""
    places = [special.place for special in run.specials]
    if places != sorted(set(places)) or (places and run.is_back):
        return False
    return all(
        run.place <= special.place < run.place + run.length and held[special.place] == special.id.decode()
        for special in run.specials
    )
