"""The ticks of a schedule as messages. No I/O."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from soloist.schedules.schedule import Schedule
from soloist.schedules.times import in_utc
from soloist.store.envelope import pack


@dataclass(frozen=True)
class TickSheet:
    """A page of one schedule: a message for each tick. No tick, no message: then it only says which are passed over."""

    schedule: Schedule
    ticks: Sequence[int]
    cursor: None = None

    @property
    def many(self) -> int:
        return len(self.ticks)

    def envelopes(self, first: int, tag: str, at_ms: int) -> dict[str, list[bytes]]:
        """Numbered from the first, in the order of the ticks."""
        schedule, body = self.schedule, self.schedule.body.encode()
        return {
            schedule.kind: [
                pack(f"{number}-{tag}", schedule.kind, at_ms, body, key_of(schedule.name, tick), headers_of(tick))
                for number, tick in enumerate(self.ticks, first)
            ]
        } if self.ticks else {}  # fmt: skip


def key_of(name: str, tick: int) -> bytes:
    """The same for the same tick, whoever publishes it: what makes this run the one that it is."""
    return f"{name}@{in_utc(tick)}".encode()


def headers_of(tick: int) -> bytes:
    return msgspec.json.encode({"scheduled_for": tick})
