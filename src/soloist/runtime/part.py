"""What an instance may do, and by which clocks."""

from collections.abc import Callable
from dataclasses import dataclass

from soloist.declared import DeclaredSource
from soloist.runtime.cadence import Cadence


@dataclass(frozen=True)
class Part:
    """What an instance may do.

    Attributes:
        may_generate: False for one that only handles.
        until: the generator stops at this sequence number.
        schedule_clock: what time it is for schedules, ms; None: the server's.
        plans: whether a schedule is on, by its name and last tick; None: each is.
        cadence: when a source is called, by it and its last tick; None: every so often, as it says.
    """

    may_generate: bool = True
    until: int | None = None
    schedule_clock: Callable[[], float] | None = None
    plans: Callable[[str, int], bool] | None = None
    cadence: Callable[[DeclaredSource, int | None], Cadence] | None = None
