"""A schedule as data: what is published when. Declared in code or added at run time, it is kept in Redis as JSON."""

from typing import Literal, TypeAlias

import msgspec

Missed: TypeAlias = Literal["skip", "once", "all"]
"""What becomes of the ticks that fell into a gap: none of them is made up for, the latest, each."""

Overlap: TypeAlias = Literal["allow", "skip", "queue"]
"""What becomes of a tick while the run before it still works: it runs beside it, is skipped, waits for its end (one at
most waits; others are skipped meanwhile)."""

Origin: TypeAlias = Literal["code", "data"]
"""Whether the App's code declares it, or somebody added it at run time."""


KIND = "schedule:"
"""What the kind of a job begins with that the App's code schedules; then comes its name."""


class Schedule(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One schedule. Either `cron` or `every_ms` says when.

    Attributes:
        kind: of the messages that it publishes; of one that decorates its job schedule:NAME.
        cron: five fields, or six with seconds first.
        every_ms: distance of the ticks; the first one is so long after it was first seen.
        tz: the IANA name of the time zone in which `cron` is read.
        jitter_ms: each tick is published so much later at most, always the same for the same tick.
        body: of each message, as text.
    """

    name: str
    kind: str
    cron: str = ""
    every_ms: int = 0
    tz: str = "UTC"
    jitter_ms: int = 0
    missed: Missed = "once"
    overlap: Overlap = "allow"
    body: str = ""
    origin: Origin = "data"
