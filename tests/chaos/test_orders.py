"""Orders of chaos to an instance come with a signal: only one that listens may get it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from soloist.chaos.fleet import Fleet, Slot, Way
from soloist.chaos.plan import Step
from soloist.chaos.strikes.instances import slow
from soloist.lab.leashed import Leash
from soloist.settings import Settings

STEP = Step(at=0.0, kind="slow", seconds=1.0, on_generator=False, chance=0.0)


@pytest.fixture
def slot() -> Iterator[Slot]:
    """With a process that ends when the signal comes, as one does that has only begun."""
    process = subprocess.Popen(["sleep", "60"])
    yield Slot(Way.DIRECT, "", process=process)
    process.kill()
    process.wait()


def stage(slot: Slot, folder: Path, *, has_joined: bool) -> Any:
    with Leash() as leash:
        fleet = Fleet(leash, Settings(), {}, folder, lambda pid: has_joined and pid == slot.pid)
    fleet.slots.append(slot)
    return SimpleNamespace(fleet=fleet, folder=folder, victim=lambda _: slot)


def test_one_that_has_not_joined_is_passed_over(slot: Slot, tmp_path: Path) -> None:
    """Else it would die of it, and the run would call that a crash."""
    assert slow(stage(slot, tmp_path, has_joined=False), STEP) is None
    assert slot.is_alive
    assert list(tmp_path.iterdir()) == []


def test_one_that_has_joined_gets_its_orders(slot: Slot, tmp_path: Path) -> None:
    assert slow(stage(slot, tmp_path, has_joined=True), STEP) is not None
    assert slot.process is not None
    assert slot.process.wait(10) < 0
