"""A fault proxy in front of the server, and clients of both."""

from collections.abc import Callable, Iterator

import pytest

from soloist.chaos.proxy import FaultProxy
from soloist.store.keys import Keys
from tests.chaos.client import Client
from tests.servers import PrivateServer


@pytest.fixture
def proxy(server: PrivateServer) -> Iterator[FaultProxy]:
    with FaultProxy("127.0.0.1", server.port) as made:
        yield made


@pytest.fixture
def connect(proxy: FaultProxy) -> Iterator[Callable[[], Client]]:
    """Makes clients of the proxy."""
    made: list[Client] = []

    def client() -> Client:
        made.append(Client(proxy.address))
        return made[-1]

    yield client
    for each in made:
        each.hang_up()


@pytest.fixture
def client(connect: Callable[[], Client]) -> Client:
    """A client of the proxy."""
    return connect()


@pytest.fixture
def direct(server: PrivateServer) -> Iterator[Client]:
    """A client that nothing happens to."""
    made = Client(("127.0.0.1", server.port))
    yield made
    made.hang_up()


@pytest.fixture
def key(namespace: str) -> str:
    """A key that no other test uses."""
    return Keys(namespace).base + "proxied"
