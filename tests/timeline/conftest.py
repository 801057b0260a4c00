"""Commands, real instances, and one kind of server: what the page shows is read through the Inspector, tested on both."""

from collections.abc import Callable

import pytest

from tests.processes.conftest import crew, full, says
from tests.servers import Kind, PrivateServer

__all__ = ["crew", "full", "says"]


@pytest.fixture
def server(servers: Callable[[Kind], PrivateServer]) -> PrivateServer:
    return servers("valkey")
