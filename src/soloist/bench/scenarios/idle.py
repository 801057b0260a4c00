"""What instances cost that have nothing to do."""

import time
from collections.abc import Callable
from typing import Any

from soloist.bench.arena import Arena
from soloist.bench.environment import environment
from soloist.bench.result import Column, Result
from soloist.bench.session import Session
from soloist.lab import memory, processor_time
from soloist.store.fitness import info
from soloist.store.link import Link

MANY = (1, 10, 100)
SETTLE = 5.0
SECONDS = 20.0
TICK = "3600"
"""Seconds between messages: none comes while it is measured."""

SENT = ("evalsha", "eval", "blpop", "ping", "ssubscribe")
"""What instances send; what scripts call in turn (TIME, in every one) is counted by the server as well, and is not meant."""


def idle(session: Session) -> Result:
    """Commands and processor time a second."""
    with session.arena() as arena:
        rows = [_of(session, arena, many) for many in MANY]
        about = environment(arena)
    return Result(
        "idle",
        "Idle instances",
        f"So many instances of the default application with nothing to do, over {SECONDS:g} s. Commands: what they send.",
        (
            Column("instances", "instances", "d"),
            Column("commands_per_second", "commands a second", ",.1f"),
            Column("server_cpu_percent", "server, % of a core", ".2f"),
            Column("client_cpu_percent", "an instance, % of a core", ".2f"),
            Column("instance_mb", "resident memory of the largest, MB", ".1f"),
        ),
        rows,
        ("server_cpu_percent", "commands_per_second"),
        about,
    )


def _of(session: Session, arena: Arena, many: int) -> dict[str, Any]:
    with arena.ground() as ground, arena.instances(ground) as instances:
        with session.shown(f"start of {many}", many) as at:
            for number in range(many):
                instances.start("--interval", TICK)
                at(number + 1)
            instances.wait_until(
                lambda: len(ground.inspector.snapshot().instances) == many, f"the start of {many}", within=60 + 2 * many
            )
        with session.shown(f"{many} idle", 100) as at:
            _rest(SETTLE, lambda _: None)
            sent, server = _sent(ground.link), processor_time.of_server(ground.link)
            clients, begun = processor_time.of_processes(instances.pids), time.monotonic()
            _rest(SECONDS, at)
            seconds = time.monotonic() - begun
            instances.check()
            return {
                "instances": many,
                "commands_per_second": round((_sent(ground.link) - sent) / seconds, 1),
                "server_cpu_percent": round(100 * (processor_time.of_server(ground.link) - server) / seconds, 2),
                "client_cpu_percent": round(
                    100 * (processor_time.of_processes(instances.pids) - clients) / seconds / many, 2
                ),
                "instance_mb": round(memory.of_processes(instances.pids) / 1e6, 1),
            }


def _rest(seconds: float, at: Callable[[int], None]) -> None:
    begun = time.monotonic()
    while (passed := time.monotonic() - begun) < seconds:
        at(round(100 * passed / seconds))
        time.sleep(min(0.2, seconds - passed))


def _sent(link: Link) -> int:
    about = info(link)
    counts = [about.get(f"cmdstat_{name}", "calls=0,") for name in SENT]
    return sum(int(each.partition("calls=")[2].partition(",")[0]) for each in counts)
