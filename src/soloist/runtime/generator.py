"""The generator's part of an instance: a reader for each source, one sender for all of them."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from soloist.declared import DeclaredSource
from soloist.runtime.played_term import PlayedTerm
from soloist.runtime.reader import Reader
from soloist.runtime.sender import Sender

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

    def __init__(self, instance: "Instance", sources: Sequence[DeclaredSource], until: int | None = None) -> None:
        sender = Sender(instance, until)
        self.readers = [Reader(instance, source, sender) for source in sources]

    @property
    def threads(self) -> "list[threading.Thread]":
        return [reader.thread for reader in self.readers]

    @property
    def is_caught(self) -> bool:
        """Whether a source still runs for a term that is over: until it returns, somebody else has to generate."""
        return any(reader.is_caught for reader in self.readers)

    @property
    def unfit(self) -> str | None:
        """Why another should generate instead, if one may; None if all is well."""
        for reader in self.readers:
            overdue, failing = reader.overdue, reader.failing
            if overdue is not None:
                return f"source {reader.name} has not returned for {overdue:.0f} s"
            if reader.has_timed_out:
                return f"source {reader.name} took longer than {reader.declared.timeout:g} s"
            if failing is not None and time.monotonic() - failing[0] > FAILING:
                return f"source {reader.name} has failed for {time.monotonic() - failing[0]:.0f} s: {failing[1]}"
        return None

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def begin(self, term: PlayedTerm) -> None:
        """The instance was elected."""
        for reader in self.readers:
            reader.begin(term)

    def stop(self, within: float) -> bool:
        """Publish no more; True if the call in hand is known."""
        for reader in self.readers:
            reader.stop()
        deadline = time.monotonic() + within
        for thread in self.threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self.threads)
