"""The stage: one real server of each kind behind the simulated network, and the runtime in virtual time."""

from collections.abc import Callable, Iterator

import pytest

from tests.servers import KINDS, Kind, PrivateServer
from tests.simulation.backend import Backend, by_virtual_time
from tests.simulation.patching import virtual_runtime
from tests.simulation.scheduler import one_core


@pytest.fixture(params=KINDS)
def backend(request: pytest.FixtureRequest, servers: Callable[[Kind], PrivateServer]) -> Iterator[Backend]:
    """A real server, and nothing of other tests in its way."""
    backend = Backend(servers(request.param).url)
    with one_core():
        yield backend
    backend.close()


@pytest.fixture
def in_virtual_time() -> Iterator[None]:
    """The runtime as it is, and the scripts as they are, but for the clock."""
    with virtual_runtime(), by_virtual_time():
        yield
