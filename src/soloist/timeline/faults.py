"""Where the faults of a chaos run go: a mark in the lane of the one that they hit, and what that one was meanwhile."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from soloist.cli.output import harmless
from soloist.timeline.model import FaultShown, Lane, Mark, Role, Stretch

ROLES = {
    "freeze": Role.FROZEN,
    "lock": Role.FROZEN,
    "cut": Role.CUT_OFF,
    "unplug": Role.CUT_OFF,
    "half-open": Role.CUT_OFF,
    "delay": Role.CUT_OFF,
    "trickle": Role.CUT_OFF,
}
"""The first word of a fault's kind -> what it makes of an instance. Others are marks only."""

Processes = Sequence[tuple[int, str, str]]
"""When, which process, which id it joined as; oldest first."""


def put_in(
    lanes: Sequence[Lane], faults: Sequence[FaultShown], processes: Processes, ended_ms: int
) -> tuple[list[Lane], list[Mark]]:
    """The lanes with the faults in them; and the marks of those that hit the server, or nobody that is known."""
    changed, everybody = list(lanes), []
    for fault in sorted(faults, key=lambda each: each.begun_ms):
        told = harmless(fault.told.encode(errors="surrogateescape"))
        mark = Mark(fault.begun_ms, fault.kind, told, fault.ended_ms, is_fault=True)
        at = _victim(changed, fault, processes)
        if at is None:
            everybody.append(mark)
        else:
            changed[at] = _hit(changed[at], fault, mark, ended_ms)
    return changed, everybody


def role_of(kind: str) -> Role | None:
    """What a fault of this kind makes of an instance while it lasts."""
    return ROLES.get(kind.replace("_", " ").partition(" ")[0])


def _victim(lanes: Sequence[Lane], fault: FaultShown, processes: Processes) -> int | None:
    """Its lane. Of several that had this process number it is the last that joined before, else the first."""
    named = [ident for at_ms, pid, ident in processes if pid == fault.instance and at_ms <= fault.begun_ms][-1:]
    named = named or [ident for _, pid, ident in processes if pid == fault.instance][:1]
    wanted = {fault.instance, *named}
    return next((at for at, lane in enumerate(lanes) if wanted & {lane.name, *lane.ids}), None)


def _hit(lane: Lane, fault: FaultShown, mark: Mark, ended_ms: int) -> Lane:
    stretches = list(_with_last_sign(lane.stretches, fault.begun_ms))
    role = role_of(fault.kind)
    if role is not None:
        until = ended_ms if fault.ended_ms is None else min(fault.ended_ms, ended_ms)
        stretches = [piece for each in stretches for piece in _with_role(each, role, fault.begun_ms, until)]
    return replace(
        lane, stretches=tuple(stretches), marks=tuple(sorted((*lane.marks, mark), key=lambda each: each.at_ms))
    )


def _with_last_sign(stretches: Sequence[Stretch], at_ms: int) -> Iterator[Stretch]:
    """Whoever was hit lived until then: its silence is drawn from there on, not from its last heartbeat on."""
    for at, stretch in enumerate(stretches):
        following = stretches[at + 1] if at + 1 < len(stretches) else None
        if following and following.role is Role.SILENT and following.begun_ms < at_ms < following.ended_ms:
            yield replace(stretch, ended_ms=at_ms)
        elif at and stretch.role is Role.SILENT and stretch.begun_ms < at_ms < stretch.ended_ms:
            yield replace(stretch, begun_ms=at_ms)
        else:
            yield stretch


def _with_role(stretch: Stretch, role: Role, begun_ms: int, ended_ms: int) -> Iterator[Stretch]:
    """The stretch with another role in this time. One that is gone stays so."""
    begun_ms, ended_ms = max(begun_ms, stretch.begun_ms), min(ended_ms, stretch.ended_ms)
    if stretch.role is Role.GONE or ended_ms <= begun_ms:
        yield stretch
        return
    if begun_ms > stretch.begun_ms:
        yield replace(stretch, ended_ms=begun_ms)
    yield replace(stretch, begun_ms=begun_ms, ended_ms=ended_ms, role=role)
    if ended_ms < stretch.ended_ms:
        yield replace(stretch, begun_ms=ended_ms, takeover_ms=0)
