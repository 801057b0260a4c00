"""A connection is gone on one end only, and the other is not told: no FIN, no RST, nothing but silence."""

from collections.abc import Callable, Iterator

import pytest

from soloist.chaos.connection import Connection
from soloist.chaos.faults import HalfOpen
from soloist.chaos.proxy import FaultProxy
from soloist.store.presence import BEAT
from tests.processes.crew import Crew
from tests.processes.mending import Trio
from tests.servers import PrivateServer
from tests.waiting import wait_until


def is_waiting(connection: Connection) -> bool:
    """It waits for an answer: the bell of one that generates lies idle, and nobody would miss it."""
    return connection.last is not None and connection.last.reply is None


CONNECTIONS: dict[str, Callable[[Connection], bool]] = {
    "heartbeat": lambda connection: connection.has_sent(BEAT.sha),
    "last will": lambda connection: connection.has_sent("SSUBSCRIBE"),
    "bell": lambda connection: connection.has_sent("BLPOP") and is_waiting(connection),
}


@pytest.fixture
def proxy(server: PrivateServer) -> Iterator[FaultProxy]:
    with FaultProxy("127.0.0.1", server.port) as made:
        yield made


def test_an_instance_replaces_a_connection_that_the_server_has_forgotten(crew: Crew, proxy: FaultProxy) -> None:
    """Each by itself, one kind after the other: everything else goes on, and nobody is taken for dead."""
    trio = Trio(crew, "--url", proxy.url())

    for what, is_meant in CONNECTIONS.items():
        silent = wait_until(lambda: {*filter(is_meant, proxy.connections)}, what=f"there is a {what}")  # noqa: B023
        proxy.strike(HalfOpen(), on=silent.__contains__)
        wait_until(lambda: not silent & {*proxy.connections}, what=f"the {what} was given up")  # noqa: B023
        trio.wait_until_it_flows_again()

    trio.assert_nobody_was_judged()
    trio.end(outages=0)


def test_a_server_that_has_not_noticed_holds_nothing_up(crew: Crew, proxy: FaultProxy) -> None:
    """It believes in clients that are gone: it rings for them, and counts their wills."""
    trio = Trio(crew, "--url", proxy.url())

    for _ in range(3):
        proxy.strike(HalfOpen("client"))
        trio.wait_until_it_flows_again()

    trio.assert_nobody_was_judged()
    trio.leave()
