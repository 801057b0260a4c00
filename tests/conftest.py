"""One real server per kind and pytest worker, one namespace per test, and nothing left behind in it."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from uuid import uuid4

import hypothesis
import pytest

from soloist.settings import Settings
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server
from soloist.store.snapshot import purge
from tests.servers import KINDS, Kind, PrivateServer, Store, require

hypothesis.settings.register_profile(
    "soloist", deadline=None
)  # other tests run beside it: no figure would mean anything
hypothesis.settings.load_profile("soloist")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Outside CI, real processes, and what else is marked one_server, are shown on one server; CI uses both for all.

    What is marked long is left to CI, and to those who ask for it by name.
    """
    if os.environ.get("CI"):
        return
    chosen: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        parameters = getattr(item, "callspec", None)
        of_another = parameters is not None and KINDS[1] in parameters.params.values()
        takes_long = "processes" in item.path.parts or item.get_closest_marker("one_server")
        is_for_ci = (of_another and takes_long) or item.get_closest_marker("long")
        (left_out if is_for_ci else chosen).append(item)
    if left_out and chosen:  # asked for by name, it runs
        items[:] = chosen
        config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session", autouse=True)
def root_of_others(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A pytest that a test starts keeps its files apart: it would take the permissions for others from the folder of all,
    in which a test may play two users at that moment.
    """
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(tmp_path_factory.mktemp("others"))


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Kind], PrivateServer]]:
    """This worker's servers, each started when it is first asked for."""
    started: dict[Kind, PrivateServer] = {}

    def of(kind: Kind) -> PrivateServer:
        require(kind)
        if kind not in started:
            started[kind] = PrivateServer(kind, tmp_path_factory.mktemp(kind))
            started[kind].start()
        return started[kind]

    yield of
    for server in started.values():
        server.stop()


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, servers: Callable[[Kind], PrivateServer]) -> PrivateServer:
    """A server that other tests use as well: neither stop it nor empty it."""
    return servers(request.param)


@pytest.fixture
def namespace(server: PrivateServer) -> Iterator[str]:
    """A name that no other test uses. Fails the test if somebody went and left keys of its own behind."""
    name = f"test-{uuid4().hex}"
    yield name
    with closing(Link(Server(server.url), timeout=5)) as link:
        left = left_behind(link, Keys(name))
        purge(link, Keys(name), data=True)
    assert not left, f"keys of instances that are gone: {left}"


@pytest.fixture
def store(server: PrivateServer, namespace: str) -> Iterator[Store]:
    """The test's namespace and a link to it."""
    where = Server(server.url)
    with closing(Link(where, timeout=5)) as link:
        yield Store(where, link, Keys(namespace), Settings())


def left_behind(link: Link, keys: Keys) -> list[str]:
    """Keys of single instances that are neither among the instances nor among the drainers."""
    present = {*link.command("ZRANGE", keys.instances, 0, -1), *link.command("ZRANGE", keys.drainers, 0, -1)}
    return [
        key.decode()
        for of_one in (keys.instance, keys.claimed, keys.drained)
        for key in link.command("KEYS", of_one("*"))
        if key[len(of_one("")) :] not in present
    ]
