"""Faults of an instance: its process is ended, frozen, or made to suffer."""

import subprocess
import sys
from collections.abc import Callable, Mapping

from soloist.chaos.fleet import Slot, Way
from soloist.chaos.plan import Step
from soloist.chaos.stage import Stage
from soloist.chaos.struck import Struck
from soloist.chaos.task import Order
from soloist.lab.instance import instance_environment

LEFT_TO_PRINT = 0.3
"""Share of the drainers that are not killed."""


def kill(stage: Stage, step: Step) -> Struck | None:
    slot = stage.victim(step)
    if slot is None:
        return None
    pid = slot.pid
    stage.fleet.kill(slot)
    return Struck(f"process {pid} is killed", slot)


def terminate(stage: Stage, step: Step) -> Struck | None:
    slot = stage.victim(step)
    if slot is None:
        return None
    pid = slot.pid
    stage.fleet.terminate(slot)
    return Struck(f"process {pid} is told to leave", slot)


def freeze(stage: Stage, step: Step) -> Struck | None:
    slot = stage.victim(step)
    if slot is None:
        return None
    pid = slot.pid
    stage.fleet.freeze(slot)
    return Struck(
        f"process {pid} is frozen for {step.seconds:.1f} s", slot, _held(slot, lambda: stage.fleet.thaw(slot))
    )


def start(stage: Stage, step: Step) -> Struck | None:
    slot = stage.fleet.add(Slot(Way.DIRECT, stage.near))
    told = f"process {slot.pid} is one more, for {step.seconds:.1f} s"
    return Struck(told, slot, _held(slot, lambda: stage.fleet.remove(slot)))


def lock(stage: Stage, step: Step) -> Struck | None:
    return _ordered(stage, step, Order("lock", step.seconds), f"holds its interpreter lock for {step.seconds:.1f} s")


def slow(stage: Stage, step: Step) -> Struck | None:
    return _ordered(stage, step, Order("slow", step.seconds), f"takes {step.seconds:.1f} s over a message")


def die(stage: Stage, step: Step) -> Struck | None:
    struck = _ordered(stage, step, Order("die"), "dies of its next message")
    if struck is not None and struck.slot is not None:
        stage.fleet.expect_death(struck.slot)
    return struck


def get_errors(stage: Stage, step: Step) -> Struck | None:
    """The error store is printed; most of those who do are killed in the midst of it."""
    path, is_killed = stage.folder / f"printed-{len(stage.drains)}", step.chance >= LEFT_TO_PRINT
    stage.drains.append((path, is_killed))
    where = {"SOLOIST_URL": stage.near, "SOLOIST_NAMESPACE": stage.namespace}
    with path.open("wb") as printed:
        drainer = stage.leash.start(
            [sys.executable, "-P", "-m", "soloist", "getErrors", "--json"],
            env=instance_environment(stage.settings, where),
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.DEVNULL,
        )
    if is_killed:
        return Struck("getErrors prints, and is killed in the midst of it", None, drainer.kill)
    return Struck("getErrors prints")


def _ordered(stage: Stage, step: Step, order: Order, told: str) -> Struck | None:
    slot = stage.victim(step)
    if slot is None or not stage.fleet.listens(slot):
        return None
    order.write(stage.folder, slot.pid)
    stage.fleet.order(slot)
    return Struck(f"process {slot.pid} {told}", slot)


def _held(slot: Slot, take_back: Callable[[], None]) -> Callable[[], None]:
    """Until it is taken back, nothing else is done to the slot."""
    slot.holds.add("fault")

    def let_go() -> None:
        slot.holds.discard("fault")
        take_back()

    return let_go


INSTANCE_STRIKES: Mapping[str, Callable[[Stage, Step], Struck | None]] = {
    "kill": kill,
    "freeze": freeze,
    "terminate": terminate,
    "start": start,
    "lock": lock,
    "slow": slow,
    "die": die,
    "get-errors": get_errors,
}
