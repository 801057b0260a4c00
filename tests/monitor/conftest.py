"""A monitor without a server behind it, and a home for embedded servers of this test alone."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.embedded.conftest import LINGER_S, processes_of
from tests.servers import Kind, PrivateServer
from tests.waiting import wait_until


@pytest.fixture
def server(servers: Callable[[Kind], PrivateServer]) -> PrivateServer:
    """One kind is enough: nothing here speaks to it but through the Inspector, which is tested on both."""
    return servers("valkey")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the embedded server of this test lives. It has to end when its users are gone."""
    folder = tmp_path / "state"
    monkeypatch.setenv("SOLOIST_EMBEDDED_LINGER", str(LINGER_S))
    monkeypatch.setenv("SOLOIST_HOME", str(folder))
    monkeypatch.delenv("SOLOIST_URL", raising=False)
    monkeypatch.delenv("SOLOIST_NAMESPACE", raising=False)
    yield folder
    try:
        wait_until(lambda: not processes_of(folder), within=20, what="the embedded server ends")
    except AssertionError:
        for pid in processes_of(folder):
            os.kill(pid, signal.SIGKILL)
        raise
