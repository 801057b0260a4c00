"""Setting the stage: a server, a fresh namespace, and instances that reach the server in the ways that the plan needs."""

import os
import tempfile
import time
from collections.abc import Container, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

from soloist.chaos.catalogue import KINDS, Family
from soloist.chaos.clock import ServerClock
from soloist.chaos.fleet import Fleet, Slot, Way
from soloist.chaos.network import Host
from soloist.chaos.plan import Plan
from soloist.chaos.proxy import FaultProxy
from soloist.chaos.stage import Stage
from soloist.chaos.task import Task
from soloist.chaos.wish import Wish
from soloist.chaos.witness import Witness
from soloist.errors import SoloistError
from soloist.inspector import Inspector
from soloist.lab.leashed import Leash
from soloist.lab.private_server import PrivateServer
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server
from soloist.store.snapshot import purge

HASTY = 0.5
"""Seconds that the nemesis and the witness wait for an answer: the server may be away because of them."""

SAVES = "3600 100000000"
"""When the private server saves by itself: practically never. But a server that never does does not mind a failed save."""

READY_WITHIN = 3.0
"""Seconds from the start of the instances to the beginning of the plan, in which they join."""

HOST_NUMBERS = 15_000
"""As many have addresses of their own."""

APART = 20
"""Numbers between those of two runs at the same time: of more than 40 instances, every second on a host of its own."""


@contextmanager
def set_stage(wish: Wish, plan: Plan) -> Iterator[Stage]:
    """Everything is there and at work; it is all gone afterwards."""
    names = {step.kind for step in plan.steps}
    families = {KINDS[name].family for name in names}
    with ExitStack() as ending:
        leash = ending.enter_context(Leash())
        folder = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="soloist-chaos-")))
        ways = ways_in(families, wish.instances)
        hosts = _hosts(ways.count(Way.FAR), ending)
        clock = ServerClock(folder) if "clock" in names else None
        server = None
        if wish.server is None:
            server = _private_server(wish, leash, folder, hosts, clock)
            ending.enter_context(server)
        near = wish.server.url if wish.server is not None else _url(server, "127.0.0.1")
        namespace = f"chaos-{uuid4().hex[:12]}"
        hasty = Server(f"{near}{'&' if '?' in near else '?'}socket_timeout={HASTY}")
        link = ending.enter_context(closing(Link(hasty, HASTY)))
        ending.callback(_purge, near, namespace)
        task = Task(str(folder), wish.target, wish.messages, plan.seconds, time.time() + READY_WITHIN)
        witness = Witness(Inspector(hasty, namespace))
        variables = {"SOLOIST_NAMESPACE": namespace, **task.variables()}
        fleet = Fleet(leash, wish.settings, variables, folder, witness.has_joined)
        ending.callback(fleet.pull_all_plugs)
        stage = Stage(
            folder, namespace, near, wish.settings, leash, link, fleet, witness, server, clock, begins=task.begun
        )
        unused = iter(hosts)
        for way in ways:
            fleet.add(_slot(stage, way, unused, ending))
        witness.start()
        ending.callback(witness.stop)
        yield stage


def ways_in(families: Container[Family], instances: int) -> list[Way]:
    """Each instance's way to the server: every one in turn, of those that the faults need."""
    ways = [Way.DIRECT]
    if Family.CONNECTION in families:
        ways.append(Way.PROXIED)
    if Family.NETWORK in families:
        ways.append(Way.FAR)
    return [ways[number % len(ways)] for number in range(instances)]


def _slot(stage: Stage, way: Way, unused: Iterator[Host], ending: ExitStack) -> Slot:
    if way is Way.PROXIED:
        parts = urlsplit(stage.near)
        proxy = ending.enter_context(FaultProxy(parts.hostname or "127.0.0.1", parts.port or 6379))
        there = parts._replace(netloc=f"{_credentials(parts.netloc)}{proxy.address[0]}:{proxy.address[1]}")
        return Slot(way, there.geturl(), proxy=proxy)
    if way is Way.FAR:
        host = next(unused)
        return Slot(way, _url(stage.server, host.here), host=host)
    return Slot(way, stage.near)


def _private_server(
    wish: Wish, leash: Leash, folder: Path, hosts: list[Host], clock: ServerClock | None
) -> PrivateServer:
    options = {"save": SAVES}
    if hosts:
        options |= {"bind": " ".join(["127.0.0.1", *(host.here for host in hosts)]), "protected-mode": "no"}
    variables = clock.variables if clock is not None else None
    return PrivateServer(leash, folder / "server", wish.persistence, options, variables=variables)


def _hosts(wanted: int, ending: ExitStack) -> list[Host]:
    hosts = [Host(os.getpid() % (HOST_NUMBERS // APART) * APART + at) for at in range(wanted)]
    for host in hosts:
        ending.callback(host.remove)
        host.make()
    return hosts


def _url(server: PrivateServer | None, address: str) -> str:
    assert server is not None, "a named server is reached by its own address"
    return f"redis://{address}:{server.port}/0"


def _credentials(netloc: str) -> str:
    user, at, _ = netloc.rpartition("@")
    return user + at


def _purge(url: str, namespace: str) -> None:
    """Leave nothing behind; on a private server it would go anyway."""
    with suppress(SoloistError), closing(Link(Server(url), 60.0)) as link:
        purge(link, Keys(namespace), data=True)
