"""A `next` as its caller means it, by ids; and the same as it is sent, by places in the order of what is held."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from soloist.store.messages import FailedMessage, Run, Tally, TurnCall


@dataclass
class Done:
    """What a handler has done of one kind since its last call, and how many more it wants."""

    want: int = 0
    completed: list[bytes] = field(default_factory=list)
    failed: list[tuple[bytes, bytes]] = field(default_factory=list)
    back: list[bytes] = field(default_factory=list)

    @property
    def tally(self) -> Tally:
        return Tally(self.want, len(self.completed), len(self.failed))


class Named(NamedTuple):
    """A message that leaves the caller's hands. `is_held`: the id at that place is this one, and not named before."""

    place: int
    id: bytes
    is_back: bool
    details: bytes | None
    is_held: bool


def turn_call(turn: int, stamp: str, held: Sequence[bytes], done: Mapping[str, Done]) -> TurnCall:
    """The call that says so, to be sent by one that holds these, in this order.

    Neighbours of the same fate are one run. What is not held (or is named for the second time) is named at a place at
    which a message stands that is not named, so that only its id tells; and behind the end, if there is none.
    """
    runs: list[Run] = []
    for each in _placed(held, done):
        failures = [] if each.details is None else [FailedMessage(each.place, each.id, each.details)]
        before = runs[-1] if runs else None
        # The id of a completed one is compared only at the head of a run, that of a failed one anywhere.
        may_follow = each.is_held or each.details is not None
        if before and (before.place + before.length, before.is_back) == (each.place, each.is_back) and may_follow:
            runs[-1] = Run(before.place, before.length + 1, before.id, [*before.specials, *failures], before.is_back)
        else:
            runs.append(Run(each.place, 1, each.id, failures, each.is_back))
    return TurnCall(turn, stamp, {kind: of.tally for kind, of in done.items()}, runs)


def _placed(held: Sequence[bytes], done: Mapping[str, Done]) -> list[Named]:
    places = {ident: place for place, ident in enumerate(held)}
    found, strange = list[Named](), list[tuple[bytes, bool, bytes | None]]()
    for ident, is_back, details in _fates(done):
        place = places.pop(ident, None)
        if place is None:
            strange.append((ident, is_back, details))
        else:
            found.append(Named(place, ident, is_back, details, is_held=True))
    free = [*places.values()]
    for at, (ident, is_back, details) in enumerate(strange):
        place = free[at] if at < len(free) else len(held) + at - len(free)
        found.append(Named(place, ident, is_back, details, is_held=False))
    return sorted(found)


def _fates(done: Mapping[str, Done]) -> Iterator[tuple[bytes, bool, bytes | None]]:
    for of in done.values():
        yield from ((ident, False, None) for ident in of.completed)
        yield from ((ident, False, details) for ident, details in of.failed)
        yield from ((ident, True, None) for ident in of.back)
