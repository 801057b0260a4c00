"""A host is unplugged from the network: no FIN is sent, so no last will is noticed; the lease decides."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes.crew import Crew
from tests.servers import KINDS, Kind, PrivateServer, require
from tests.waiting import wait_until


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Host:
    """A network namespace that is plugged into this one by a pair of virtual devices."""

    def __init__(self, number: int) -> None:
        self.name = f"soloist{number}"
        self.device, self.inner = f"sl{number}", f"sl{number}i"
        self.here, self.there = f"10.213.{number % 250}.1", f"10.213.{number % 250}.2"

    def make(self) -> None:
        ip("netns", "add", self.name)
        ip("link", "add", self.device, "type", "veth", "peer", "name", self.inner, "netns", self.name)
        ip("addr", "add", f"{self.here}/30", "dev", self.device)
        ip("link", "set", self.device, "up")
        ip("-n", self.name, "addr", "add", f"{self.there}/30", "dev", self.inner)
        ip("-n", self.name, "link", "set", self.inner, "up")
        ip("-n", self.name, "link", "set", "lo", "up")

    def remove(self) -> None:
        subprocess.run(["ip", "netns", "del", self.name], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", self.device], check=False, capture_output=True)

    def unplug(self) -> None:
        ip("link", "set", self.device, "down")

    def plug_in(self) -> None:
        ip("link", "set", self.device, "up")


@pytest.fixture
def host() -> Iterator[Host]:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and iproute2")
    made = Host(os.getpid() % 10_000)
    try:
        made.make()
    except subprocess.CalledProcessError as error:
        made.remove()
        pytest.skip(f"this kernel has no network namespaces: {error.stderr.strip()}")
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
    unplugged = far.start(*options, before=("ip", "netns", "exec", host.name))
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
