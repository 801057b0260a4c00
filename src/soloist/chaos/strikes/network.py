"""Faults of the network: an instance on a host of its own is unplugged, without a word to anybody, and plugged in again."""

from collections.abc import Callable, Mapping

from soloist.chaos.fleet import Way
from soloist.chaos.plan import Step
from soloist.chaos.stage import Stage
from soloist.chaos.struck import Struck


def unplug(stage: Stage, step: Step) -> Struck | None:
    slot = stage.victim(step, Way.FAR)
    if slot is None or slot.host is None:
        return None
    host = slot.host
    host.unplug()
    slot.holds.add("unplugged")

    def plug_in() -> None:
        slot.holds.discard("unplugged")
        host.plug_in()

    return Struck(f"process {slot.pid} is unplugged for {step.seconds:.1f} s", slot, plug_in)


NETWORK_STRIKES: Mapping[str, Callable[[Stage, Step], Struck | None]] = {"unplug": unplug}
