"""Examples as their pages say: on a real server, beside a real PostgreSQL."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.documents import Document
from tests.examples.deployment import Deployment
from tests.postgres import PrivatePostgres
from tests.processes.crew import ROOT
from tests.servers import PrivateServer

Deploy = Callable[..., Deployment]


@pytest.fixture(scope="session")
def postgres() -> Iterator[PrivatePostgres]:
    """This worker's PostgreSQL; databases are the tests' own."""
    server = PrivatePostgres()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def database(postgres: PrivatePostgres, request: pytest.FixtureRequest) -> str:
    """The address of a new database with the tables of the example that the test's module is named after."""
    example = request.path.stem.removeprefix("test_")
    return postgres.database(ROOT / "examples" / example / "schema.sql")


@pytest.fixture
def deploy(server: PrivateServer, namespace: str, tmp_path: Path) -> Iterator[Deploy]:
    """Makes a Deployment on the test's namespace, of an example or a target, with these variables in its environment."""
    made: list[Deployment] = []

    def deployment(what: str, **environment: str) -> Deployment:
        target = what if ":" in what else target_of(what)
        made.append(Deployment(target, server.url, namespace, tmp_path, environment))
        return made[-1]

    yield deployment
    for each in made:
        each.release()
        print(each.errors())  # shown when the test fails


def target_of(example: str) -> str:
    """MODULE:APP, from the command on the example's page."""
    runs = [words for words in Document(f"examples/{example}/README.md").commands() if words[:1] == ["run"]]
    return runs[0][1]
