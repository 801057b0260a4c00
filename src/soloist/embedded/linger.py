"""How long the server stays without a user."""

import os

from soloist.errors import UsageError

VARIABLE = "SOLOIST_EMBEDDED_LINGER"

LINGER_S = 10.0
"""Shorter, and a row of commands in a shell starts it again for each."""

MOST_S = 86400.0


def linger() -> float:
    """Seconds; looked at by the launcher too, whose user can still be told that they cannot be read."""
    said = os.environ.get(VARIABLE)
    if said is None:
        return LINGER_S
    try:
        seconds = float(said)
    except ValueError:
        seconds = float("nan")
    if not 0 <= seconds <= MOST_S:  # nan is in no range
        raise UsageError(f"environment variable {VARIABLE}: {said!r} is not allowed; write 0 to {MOST_S:g} (seconds).")
    return seconds
