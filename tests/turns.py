"""A `next` as its caller means it, by ids; and the same as it is sent, by places in the order of what is held."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from soloist.store.messages import (
    CommittedMessage,
    FailedMessage,
    Followup,
    RetriedMessage,
    Run,
    Special,
    Tally,
    TurnCall,
    Write,
)


@dataclass
class Done:
    """What a handler has done of one kind since its last call, and how many more it wants.

    Attributes:
        retried: ids, and after how many ms each is to be handled once more.
        committed: ids of completed ones, and what is written and published along with each.
    """

    want: int = 0
    completed: list[bytes] = field(default_factory=list)
    failed: list[tuple[bytes, bytes]] = field(default_factory=list)
    back: list[bytes] = field(default_factory=list)
    retried: list[tuple[bytes, int]] = field(default_factory=list)
    committed: list[tuple[bytes, Sequence[Write], Sequence[Followup]]] = field(default_factory=list)

    @property
    def tally(self) -> Tally:
        return Tally(self.want, len(self.completed) + len(self.committed), len(self.failed), len(self.retried))


class Named(NamedTuple):
    """A message that leaves the caller's hands. `is_held`: the id at that place is this one, and not named before."""

    place: int
    id: bytes
    is_back: bool
    special: Special | None
    is_held: bool


def turn_call(turn: int, stamp: str, held: Sequence[bytes], done: Mapping[str, Done]) -> TurnCall:
    """The call that says so, to be sent by one that holds these, in this order.

    Neighbours of the same fate are one run. What is not held (or is named for the second time) is named at a place at
    which a message stands that is not named, so that only its id tells; and behind the end, if there is none.
    """
    runs: list[Run] = []
    for each in _placed(held, done):
        specials = [] if each.special is None else [each.special._replace(place=each.place)]
        before = runs[-1] if runs else None
        # The id of a completed one is compared only at the head of a run, that of a special anywhere.
        may_follow = each.is_held or each.special is not None
        if before and (before.place + before.length, before.is_back) == (each.place, each.is_back) and may_follow:
            runs[-1] = Run(before.place, before.length + 1, before.id, [*before.specials, *specials], before.is_back)
        else:
            runs.append(Run(each.place, 1, each.id, specials, each.is_back))
    return TurnCall(turn, stamp, {kind: of.tally for kind, of in done.items()}, runs)


def _placed(held: Sequence[bytes], done: Mapping[str, Done]) -> list[Named]:
    places = {ident: place for place, ident in enumerate(held)}
    found, strange = list[Named](), list[tuple[bytes, bool, Special | None]]()
    for ident, is_back, special in _fates(done):
        place = places.pop(ident, None)
        if place is None:
            strange.append((ident, is_back, special))
        else:
            found.append(Named(place, ident, is_back, special, is_held=True))
    free = [*places.values()]
    for at, (ident, is_back, special) in enumerate(strange):
        place = free[at] if at < len(free) else len(held) + at - len(free)
        found.append(Named(place, ident, is_back, special, is_held=False))
    return sorted(found, key=lambda each: each.place)


def _fates(done: Mapping[str, Done]) -> Iterator[tuple[bytes, bool, Special | None]]:
    for of in done.values():
        yield from ((ident, False, None) for ident in of.completed)
        yield from ((ident, False, FailedMessage(0, ident, details)) for ident, details in of.failed)
        yield from ((ident, False, RetriedMessage(0, ident, after)) for ident, after in of.retried)
        yield from ((each[0], False, CommittedMessage(0, *each)) for each in of.committed)
        yield from ((ident, True, None) for ident in of.back)
