"""A project of its own for each test."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.celery.crew import Project
from tests.servers import PrivateServer

Projects: TypeAlias = Callable[..., Project]


@pytest.fixture
def projects(server: PrivateServer, namespace: str, tmp_path: Path) -> Iterator[Projects]:
    """Makes the test's project; whatever of it runs at the end is killed."""
    made: list[Project] = []

    def make(**options: Any) -> Project:
        made.append(Project(server.url, namespace, tmp_path, **options))
        return made[-1]

    yield make
    for project in made:
        project.release()


@pytest.fixture
def project(projects: Projects) -> Project:
    """One with a single entry, four times a second."""
    return projects()
