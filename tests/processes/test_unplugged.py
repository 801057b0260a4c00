"""A host is unplugged from the network: no FIN is sent, so no last will is noticed; the lease decides."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from soloist.chaos.network import Host, why_not
from tests.processes.crew import Crew
from tests.servers import KINDS, Kind, PrivateServer, require
from tests.waiting import wait_until


@pytest.fixture
def host() -> Iterator[Host]:
    if why := why_not():
        pytest.skip(why)
    made = Host(os.getpid() % 10_000)
    made.make()
    yield made
    made.remove()


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, host: Host, tmp_path: Path) -> Iterator[PrivateServer]:
    """A server that is reached over the virtual network too."""
    kind: Kind = request.param
    require(kind)
    options = {"bind": f"127.0.0.1 {host.here}", "protected-mode": "no"}
    made = PrivateServer(kind, tmp_path / "server", options=options)
    made.start()
    yield made
    made.stop()


def test_an_unplugged_generator_is_succeeded_and_superseded_when_it_is_plugged_in_again(
    crew: Crew, host: Host, server: PrivateServer
) -> None:
    """G1, G5 by lease: it stops by itself by its own clock; what it sends afterwards is refused."""
    options = ("--lease", 1, "--claim-lease", 60, "--interval", 0.02)
    far = Crew(f"redis://{host.here}:{server.port}/0", crew.namespace, crew.folder)
    unplugged = far.start(*options, before=tuple(host.before))
    unplugged.wait_for("generated")
    other = crew.start(*options)
    try:
        host.unplug()
        other.wait_for("elected")
        wait_until(lambda: other.told("generated"), what="the successor publishes")
        host.plug_in()

        unplugged.wait_for("superseded")

        successor = other.told("generated")[0]
        first_of_successor = successor["seq"] - successor["total"] + 1
        assert unplugged.told("generated")[-1]["seq"] < first_of_successor, "it published nothing more"
        assert len(unplugged.told("joined")) == 1, "its presence was not over"
        unplugged.wait_for("handled")
    finally:
        far.release()
    assert crew.snapshot().term is not None
