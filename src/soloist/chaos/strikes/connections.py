"""Faults of connections: those of one instance, which has a fault proxy of its own between itself and the server."""

from collections.abc import Callable, Mapping

from soloist.chaos.connection import Connection
from soloist.chaos.faults import Cut, Delay, Drop, Fault, HalfOpen, TooLate, Trickle
from soloist.chaos.fleet import Way
from soloist.chaos.plan import Step
from soloist.chaos.proxy import FaultProxy
from soloist.chaos.rule import Rule
from soloist.chaos.stage import Stage
from soloist.chaos.struck import Struck
from soloist.store.messages import NEXT, PUBLISH
from soloist.store.presence import BEAT

SCRIPTS = {"publish": PUBLISH.sha, "next": NEXT.sha, "beat": BEAT.sha}
WILL = "SSUBSCRIBE"


def cut(stage: Stage, step: Step) -> Struck | None:
    fault = Cut(reset=step.chance < 0.5)
    return _struck(stage, step, "all connections are cut", lambda proxy: proxy.strike(fault))


def lost_reply(stage: Stage, step: Step) -> Struck | None:
    """Of one of the calls that matter; or it comes too late, or with the end of the connection."""
    name = [*SCRIPTS][int(step.chance * 997) % len(SCRIPTS)]
    faults: list[Fault] = [Drop(), TooLate(), Cut()]
    fault, nth = faults[int(step.chance * 991) % len(faults)], 1 + int(step.chance * 983) % 3
    what = {Drop: "is lost", TooLate: "comes too late", Cut: "is cut off"}[type(fault)]
    return _struck(stage, step, f"a reply to {name} {what}", lambda proxy: proxy.rule(fault, SCRIPTS[name], nth))


def delay(stage: Stage, step: Step) -> Struck | None:
    """Everything that it sends arrives only when the fault is over, also what it has given up meanwhile."""
    told = f"what it sends is {step.seconds:.1f} s late"
    return _struck(stage, step, told, lambda proxy: proxy.strike(Delay(of="command"), lasting=True))


def half_open(stage: Stage, step: Step) -> Struck | None:
    closed = HalfOpen(closed="server" if step.chance < 0.5 else "client")
    return _struck(stage, step, "all connections are half-open", lambda proxy: proxy.strike(closed))


def trickle(stage: Stage, step: Step) -> Struck | None:
    told = f"everything comes in drops for {step.seconds:.1f} s"
    return _struck(stage, step, told, lambda proxy: proxy.strike(Trickle(64, 0.001), lasting=True))


def heartbeat(stage: Stage, step: Step) -> Struck | None:
    told = f"its heartbeats are lost for {step.seconds:.1f} s"
    return _struck(stage, step, told, lambda proxy: proxy.rule(Drop(of="command"), BEAT.sha, None))


def will(stage: Stage, step: Step) -> Struck | None:
    """The subscription is cut, and every new one until it is over."""

    def subscribed(connection: Connection) -> bool:
        return connection.has_sent(WILL)

    def strike(proxy: FaultProxy) -> Rule:
        rule = proxy.rule(Cut(of="command"), WILL, None)
        proxy.strike(Cut(), on=subscribed)
        return rule

    return _struck(stage, step, f"its last will is cut for {step.seconds:.1f} s", strike)


def _struck(stage: Stage, step: Step, told: str, strike: Callable[[FaultProxy], Rule]) -> Struck | None:
    slot = stage.victim(step, Way.PROXIED)
    if slot is None or slot.proxy is None:
        return None
    return Struck(f"process {slot.pid}: {told}", slot, strike(slot.proxy).release)


CONNECTION_STRIKES: Mapping[str, Callable[[Stage, Step], Struck | None]] = {
    "cut": cut,
    "lost-reply": lost_reply,
    "delay": delay,
    "half-open": half_open,
    "trickle": trickle,
    "heartbeat": heartbeat,
    "will": will,
}
