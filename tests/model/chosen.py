"""Chance whose every choice comes from bytes: whoever chooses the bytes chooses the history."""

import random
from collections.abc import Iterator


class Chosen(random.Random):
    """Two bytes for every choice; where they are zero or at an end, nothing unusual happens.

    Hypothesis draws the bytes and shrinks them to fewer and smaller ones, and so a history to the few steps that it
    takes to break a rule. (Its own `randoms()` needs a hundred times as long for each of the choices.)
    """

    def __init__(self, choices: bytes) -> None:
        super().__init__(0)
        self._left: Iterator[int] = iter(choices)

    def random(self) -> float:
        """At least 0 and below 1; rare things happen when it is small."""
        number = 256 * next(self._left, 0) + next(self._left, 0)
        return 1 - (number + 1) / 65537
