"""Waiting for a named condition instead of sleeping and hoping."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], T], within: float = 30, what: str = "") -> T:
    """Ask every 10 ms; return the first answer that is true. `what` names the condition when it never comes."""
    give_up = time.monotonic() + within
    while not (answer := condition()):
        assert time.monotonic() < give_up, f"not within {within:g} s: {what or condition}"
        time.sleep(0.01)
    return answer
