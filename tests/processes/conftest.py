"""A crew of real instances for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes.crew import Crew
from tests.servers import PrivateServer


@pytest.fixture
def crew(server: PrivateServer, namespace: str, tmp_path: Path) -> Iterator[Crew]:
    """Instances of one namespace; whatever of them is left at the end is killed."""
    made = Crew(server.url, namespace, tmp_path)
    yield made
    made.release()
