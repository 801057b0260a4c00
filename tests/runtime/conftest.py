"""Instances in this process."""

from collections.abc import Iterator

import pytest

from tests.runtime.lane_stage import Stage
from tests.runtime.source_stage import Stage as SourceStage
from tests.servers import PrivateServer, Store


@pytest.fixture
def sources(store: Store) -> Iterator[SourceStage]:
    """Starts instances of Apps with sources; stops those that are left, and sees to it that none has failed."""
    made = SourceStage(store)
    yield made
    made.end()


@pytest.fixture
def stage(server: PrivateServer, namespace: str) -> Iterator[Stage]:
    made = Stage(server.url, namespace)
    yield made
    for instance in made.instances:
        instance.stop()
