"""The kit, on the servers of these tests."""

import threading
from collections.abc import Iterator

import pytest

from soloist.testing import Kit
from tests.servers import PrivateServer
from tests.waiting import wait_until


@pytest.fixture
def soloist(server: PrivateServer) -> Iterator[Kit]:
    """As users have it, but on each of our servers; and no thread of it may be left."""
    before = set(threading.enumerate())
    with Kit(server.url) as kit:
        yield kit

    def left() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if not thread.name.startswith("asyncio")} - before

    wait_until(lambda: not left(), what=f"all threads have ended: {left()}")
