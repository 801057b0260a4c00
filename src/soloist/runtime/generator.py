"""The generator's part of an instance: a reader for each source, a scheduler, and one sender for all of them."""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from soloist.declared import DeclaredSource
from soloist.durations import duration
from soloist.runtime.alarm import Alarm
from soloist.runtime.played_term import PlayedTerm
from soloist.runtime.reader import Reader
from soloist.runtime.scheduler import Scheduler
from soloist.runtime.sender import Sender
from soloist.schedules.schedule import Schedule

if TYPE_CHECKING:
    import threading

    from soloist.runtime.instance import Instance

FAILING = 30.0
"""Seconds for which a source may fail until the part is left to another."""


class Generator:
    """Plays the generator's part of an instance while it holds the term.

    Args:
        until: stop at this sequence number, None for never.
    """

    def __init__(
        self,
        instance: "Instance",
        sources: Sequence[DeclaredSource],
        schedules: Mapping[str, Schedule],
        until: int | None = None,
    ) -> None:
        self._sender = Sender(instance, until)
        self.readers = [Reader(instance, source, self._sender) for source in sources]
        self._scheduler = Scheduler(instance, schedules, self._sender)
        self._alarm = Alarm(instance)
        self._actors: Sequence[Reader | Scheduler | Alarm] = (*self.readers, self._scheduler, self._alarm)

    @property
    def threads(self) -> "list[threading.Thread]":
        return [actor.thread for actor in self._actors]

    @property
    def is_caught(self) -> bool:
        """Whether a source still runs for a term that is over: until it returns, somebody else has to generate."""
        return any(reader.is_caught for reader in self.readers)

    @property
    def unfit(self) -> str | None:
        """Why another should generate instead, if one may; None if all is well."""
        return next((trouble for reader in self.readers if (trouble := _trouble(reader)) is not None), None)

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def begin(self, term: PlayedTerm) -> None:
        """The instance was elected."""
        for actor in self._actors:
            actor.begin(term)

    def heard(self, agenda: int) -> None:
        """A beat told which version of the agenda there is."""
        self._scheduler.heard(agenda)

    def stop(self, within: float) -> bool:
        """Publish no more; True if the call in hand is known."""
        for actor in self._actors:
            actor.stop()
        deadline = time.monotonic() + within
        for thread in self.threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self.threads)

    def hang_up(self, within: float) -> None:
        """The instance has left: leave no connection behind."""
        self._sender.hang_up()
        self._alarm.hang_up(time.monotonic() + within)


def _trouble(reader: Reader) -> str | None:
    """What is so wrong with a source that another instance should try it."""
    overdue, failing, timeout = reader.overdue, reader.failing, reader.declared.timeout
    if overdue is not None:
        return f"source {reader.name} has not returned for {duration(overdue * 1000)}"
    if reader.has_timed_out and timeout is not None:
        return f"source {reader.name} took longer than {timeout:g} s"
    if failing is None:
        return None
    lasts = time.monotonic() - failing[0]
    return f"source {reader.name} has failed for {duration(lasts * 1000)}: {failing[1]}" if lasts > FAILING else None
