"""Faults of the server, which is a private one: ended, stalled, emptied, or made to refuse."""

import shutil
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from soloist.chaos.plan import Step
from soloist.chaos.stage import Stage
from soloist.chaos.struck import Struck, nothing
from soloist.errors import SoloistError
from soloist.lab.private_server import PrivateServer

FARTHEST = 60
"""Seconds by which the clock is moved at most."""


def restart(stage: Stage, step: Step) -> Struck | None:
    server = _server(stage)
    server.kill()
    return Struck(f"the server is killed, and started again after {step.seconds:.1f} s", None, partial(_start, server))


def stall(stage: Stage, step: Step) -> Struck | None:
    server = _server(stage)
    server.send_signal(signal.SIGSTOP)
    told = f"the server stands still for {step.seconds:.1f} s"
    return Struck(told, None, lambda: server.send_signal(signal.SIGCONT))


def script_flush(stage: Stage, step: Step) -> Struck | None:  # noqa: ARG001 - all of them, at once
    _say(stage, "SCRIPT", "FLUSH")
    return Struck("the server forgets all scripts")


def client_kill(stage: Stage, step: Step) -> Struck | None:  # noqa: ARG001 - all of them, at once
    for kind in ("normal", "pubsub"):
        _say(stage, "CLIENT", "KILL", "TYPE", kind)
    return Struck("the server ends all connections")


def memory_full(stage: Stage, step: Step) -> Struck | None:
    _say(stage, "CONFIG", "SET", "maxmemory", 1)
    told = f"the server's memory is full for {step.seconds:.1f} s"
    return Struck(told, None, lambda: _say(stage, "CONFIG", "SET", "maxmemory", 0))


def read_only(stage: Stage, step: Step) -> Struck | None:
    _say(stage, "REPLICAOF", "127.0.0.1", 1)
    told = f"the server is read-only for {step.seconds:.1f} s"
    return Struck(told, None, lambda: _say(stage, "REPLICAOF", "NO", "ONE"))


def misconf(stage: Stage, step: Step) -> Struck | None:
    """A save fails, since something is in its way; then the server takes no writes until one succeeds."""
    in_its_way = _server(stage).folder / "dump.rdb"
    with suppress(OSError):
        in_its_way.unlink()
    in_its_way.mkdir(exist_ok=True)
    _say(stage, "BGSAVE")

    def mend() -> None:
        with suppress(OSError):
            in_its_way.rmdir()
        _say(stage, "BGSAVE")

    return Struck(f"the server cannot save for {step.seconds:.1f} s", None, mend)


def clock(stage: Stage, step: Step) -> Struck | None:
    """Forward or back; and where it was before, when the fault is over."""
    moved = stage.clock
    if moved is None:
        return None
    by = round((2 * step.chance - 1) * FARTHEST) or FARTHEST
    moved.move_to(by)
    told = f"the server's clock goes {'forward' if by > 0 else 'back'} by {abs(by)} s for {step.seconds:.1f} s"
    return Struck(told, None, lambda: moved.move_to(0))


def roll_back(stage: Stage, step: Step) -> Struck | None:
    """What is written from now on until the fault is over is lost, as in a failover."""
    server = _server(stage)
    kept = server.folder / "kept"
    server.send_signal(signal.SIGSTOP)  # a copy while it writes might be torn
    _copy(server.folder / "appendonlydir", kept)
    server.send_signal(signal.SIGCONT)

    def go_back() -> None:
        server.kill()
        _copy(kept, server.folder / "appendonlydir")
        server.start()

    return Struck(f"the server loses what it will acknowledge within {step.seconds:.1f} s", None, go_back)


def empty(stage: Stage, step: Step) -> Struck | None:  # noqa: ARG001 - at once
    _say(stage, "FLUSHALL")
    return Struck("the server is emptied", None, nothing)


def heal(stage: Stage) -> None:
    """Whatever was done to it is undone."""
    server = stage.server
    if server is None:
        return
    server.send_signal(signal.SIGCONT)
    if stage.clock is not None:
        stage.clock.move_to(0)
    _start(server)
    with suppress(OSError):
        (server.folder / "dump.rdb").rmdir()
    _say(stage, "CONFIG", "SET", "maxmemory", 0)
    _say(stage, "REPLICAOF", "NO", "ONE")
    _say(stage, "BGSAVE")


def _start(server: PrivateServer) -> None:
    if not server.is_running:
        server.start()


def _copy(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)


def _say(stage: Stage, *words: str | int) -> None:
    with suppress(SoloistError):  # another fault is in the way
        stage.link.command(*words)


def _server(stage: Stage) -> PrivateServer:
    assert stage.server is not None, "only a server that chaos started itself is harmed"
    return stage.server


SERVER_STRIKES: Mapping[str, Callable[[Stage, Step], Struck | None]] = {
    "restart": restart,
    "stall": stall,
    "script-flush": script_flush,
    "client-kill": client_kill,
    "memory-full": memory_full,
    "read-only": read_only,
    "misconf": misconf,
    "clock": clock,
    "roll-back": roll_back,
    "empty": empty,
}
