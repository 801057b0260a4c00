"""Lengths of time, as people read and write them."""

import re

UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
LONGEST = 100 * 366 * 86400
"""Seconds: beyond it nothing of ours can be."""


def duration(ms: float) -> str:
    """A length of time for people."""
    seconds = ms / 1000
    if seconds < 2:
        return f"{ms:.0f} ms"
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.1f} s"


def seconds_in(text: str) -> float | None:
    """What 90s, 15m, 2h or 1d come to; None if it is written in no such way."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|min|h|d)", text, re.ASCII)
    return min(float(LONGEST), float(found[1]) * UNITS[found[2]]) if found else None
