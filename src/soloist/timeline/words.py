"""Times and figures, for people."""

import time


def clock(at_ms: int, *, exact: bool = False) -> str:
    """The time of day here; exact: to the millisecond."""
    shown = time.strftime("%H:%M:%S", time.localtime(at_ms / 1000))
    return f"{shown}.{at_ms % 1000:03d}" if exact else shown


def day(at_ms: int) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at_ms / 1000))


def zone(at_ms: int) -> str:
    """Whose time of day it is: UTC+02:00."""
    ahead = time.localtime(at_ms / 1000).tm_gmtoff // 60
    return f"UTC{'-' if ahead < 0 else '+'}{abs(ahead) // 60:02d}:{abs(ahead) % 60:02d}" if ahead else "UTC"


def span(ms: float) -> str:
    """A length of time, short: 321 ms, 2.31 s, 12.3 s, 1 min 5 s, 2 h 3 min."""
    if ms < 1000:
        return f"{ms:.0f} ms"
    if ms < 59_950:
        return f"{ms / 1000:.{2 if ms < 10_000 else 1}f} s"
    minutes, seconds = divmod(round(ms / 1000), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = ((days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s"))
    first = next(at for at, (value, _) in enumerate(parts) if value)
    return " ".join(f"{value} {unit}" for value, unit in parts[first : first + 2] if value)


def figure(value: float) -> str:
    """A quantity, with as many digits as it deserves."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def count(number: int, one: str, more: str = "") -> str:
    """1 instance, 3 instances."""
    return f"{number:,} {one if number == 1 else more or one + 's'}"
