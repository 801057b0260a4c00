"""What was asked for on the command line, and what scenarios measure with."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from soloist.bench.arena import Arena, named_arena, private_arena
from soloist.bench.bodies import maker
from soloist.bench.floor import floor_rate
from soloist.bench.load import Load, Measured, measure
from soloist.lab.private_server import Persistence
from soloist.lab.progress import Progress
from soloist.settings import Settings
from soloist.store.server import Server


@dataclass(frozen=True)
class Session:
    """The options, and the server if one is named.

    Attributes:
        messages: how many a measured load has; scenarios with slow parts take fewer.
        repeat: how often each figure is taken; the median is told.
        has_verdict: whether every handled message is written down, and lost and doubled ones are counted.
        has_floor: whether the floor is measured beside it.
    """

    messages: int
    handlers: int
    repeat: int
    persistence: Persistence
    has_verdict: bool
    has_floor: bool
    settings: Settings
    server: Server | None
    progress: Progress

    @contextmanager
    def arena(self, **changes: object) -> Iterator[Arena]:
        """A server to measure on, with instances that are set otherwise."""
        settings = replace(self.settings, **changes)  # type: ignore[arg-type]  # by name
        where = private_arena(settings, self.persistence) if self.server is None else named_arena(self.server, settings)
        with where as arena:
            yield arena

    def measure(self, arena: Arena, load: Load, what: str) -> Measured:
        """A load, with its progress shown."""
        load = replace(load, is_marked=load.is_marked and self.has_verdict)
        with self.shown(what, load.messages) as at:
            return measure(arena, load, at)

    def floor(self, arena: Arena, messages: int, size: int | None = None) -> float | None:
        """The floor with so many messages of such a size, messages a second; None if nobody wants to know."""
        if not self.has_floor:
            return None
        make = maker(size)
        with self.shown("floor", messages) as at:
            return floor_rate(arena.server, [make().encode() for _ in range(1000)], messages, at)

    @contextmanager
    def shown(self, what: str, of: int) -> Iterator[Callable[[int], None]]:
        """Progress of something with so many parts."""
        self.progress.begin(what, of)
        try:
            yield self.progress.at
        finally:
            self.progress.end()
