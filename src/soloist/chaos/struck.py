"""What a strike answers."""

from collections.abc import Callable
from dataclasses import dataclass

from soloist.chaos.fleet import Slot


def nothing() -> None:
    """It is over by itself."""


@dataclass(frozen=True)
class Struck:
    """A fault that has begun.

    Attributes:
        told: what was done, for people.
        slot: whom it hit; None: the server, or everybody.
        take_back: what ends it, when its time is over.
    """

    told: str
    slot: Slot | None = None
    take_back: Callable[[], None] = nothing
