"""Lengths of time, for people."""


def duration(ms: float) -> str:
    """A length of time for people."""
    seconds = ms / 1000
    if seconds < 2:
        return f"{ms:.0f} ms"
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.1f} s"
