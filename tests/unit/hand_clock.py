"""A clock that is moved by hand, in place of the module `time`."""

import pytest


class HandClock:
    """Both clocks of a process; neither moves by itself. Whoever sleeps moves it."""

    def __init__(self, now: float = 1_000.0, wall: float = 1_700_000_000.0) -> None:
        self.now = now
        self.wall = wall
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.wall

    def time_ns(self) -> int:
        return round(self.wall * 1000) * 1_000_000

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.pass_by(seconds)

    def pass_by(self, seconds: float) -> None:
        self.now += seconds
        self.wall += seconds


def put_in_place(monkeypatch: pytest.MonkeyPatch, module: str) -> HandClock:
    """Let a module of ours read this clock."""
    clock = HandClock()
    monkeypatch.setattr(f"{module}.time", clock)
    return clock
