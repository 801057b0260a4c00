"""What goes wrong in a measurement is told, and what it started or wrote is gone."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from soloist.bench import load as measured
from soloist.bench.arena import Arena, Ground, named_arena
from soloist.bench.floor import floor_rate
from soloist.bench.instances import Instances
from soloist.bench.load import Load, get_ready
from soloist.bench.result import are_sound
from soloist.bench.scenarios.figures import told
from soloist.cli.report_file import require_writable
from soloist.errors import EmbeddedServerError, OutputError, Unavailable
from soloist.lab import private_server
from soloist.lab.leashed import Leash
from soloist.lab.private_server import PrivateServer as LabServer
from soloist.settings import Settings
from soloist.store.link import Link
from soloist.store.server import Server
from tests.embedded.conftest import is_gone
from tests.processes.crew import ROOT
from tests.servers import PrivateServer, require
from tests.waiting import wait_until

PEERS = ROOT / "benchmarks" / "peers"


@pytest.fixture
def arena(server: PrivateServer) -> Iterator[Arena]:
    with named_arena(Server(server.url), Settings()) as made:
        yield made


@pytest.fixture
def ground(arena: Arena) -> Iterator[Ground]:
    with arena.ground() as made:
        yield made


@pytest.fixture
def idlers(arena: Arena, ground: Ground) -> Iterator[Instances]:
    """Instances that have nothing to do."""
    with arena.instances(ground) as made:
        yield made


def end(process: "subprocess.Popen[bytes]", how: signal.Signals) -> None:
    """As somebody else would."""
    os.kill(process.pid, how)
    process.wait()


# The verdict.


@pytest.mark.one_server
def test_completions_that_are_recorded_twice_are_told(arena: Arena, ground: Ground) -> None:
    """The server counts more than there were messages: a fault, and no reason to give no verdict."""
    load = Load(messages=500, handlers=1)
    task = load.task(ground)
    doubled: list[int] = []

    def double(handled: int) -> None:
        if not doubled:
            doubled.append(handled)
            ground.link.command("HINCRBY", ground.keys.totals, "completed", 500)

    with arena.instances(ground, task.variables()) as instances:
        get_ready(ground, instances, load)
        seen = measured._measure(ground, instances, load, task, double, filled_bytes=0)

    assert seen.duplicated is not None
    assert seen.duplicated >= doubled[0] > 0
    assert not are_sound([told(seen)])


@pytest.mark.one_server
def test_an_instance_that_ends_in_mid_run_is_told(arena: Arena, ground: Ground) -> None:
    """Others take over its work; but the figures would be those of fewer handlers than were asked for."""
    load = Load(messages=500, handlers=2)
    task = load.task(ground)
    with arena.instances(ground, task.variables()) as instances:
        get_ready(ground, instances, load)
        with pytest.raises(Unavailable, match="ended with -9"):
            measured._measure(
                ground, instances, load, task, lambda _: end(instances.processes[2], signal.SIGKILL), filled_bytes=0
            )


# Instances that end.


@pytest.mark.one_server
def test_only_a_kill_of_our_own_is_expected(idlers: Instances) -> None:
    """What the kernel kills for want of memory was not killed by us."""
    ours, theirs = idlers.start(), idlers.start()
    idlers.kill_one(ours)
    ours.wait()

    idlers.check()
    end(theirs, signal.SIGKILL)
    with pytest.raises(Unavailable, match="ended with -9"):
        idlers.check()


@pytest.mark.one_server
def test_an_instance_that_does_not_leave_in_order_is_told(idlers: Instances) -> None:
    """It may have lost what it had handled."""
    end(idlers.start(), signal.SIGKILL)

    with pytest.raises(Unavailable, match="ended with -9"):
        idlers.stop()


# What is left behind.


@pytest.mark.one_server
def test_a_floor_that_is_interrupted_leaves_no_keys(server: PrivateServer) -> None:
    """It may be somebody's server, and a million messages."""

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with closing(Link(Server(server.url), 5)) as link:
        with pytest.raises(KeyboardInterrupt):
            floor_rate(Server(server.url), [b"text"], 10, interrupt)

        assert link.command("KEYS", "soloist-bench-floor-*") == []


def test_a_leash_lets_go_whatever_happens() -> None:
    """Neither end of its pipe stays open."""
    leash = Leash()
    with suppress(ZeroDivisionError), leash:
        raise ZeroDivisionError

    for each in (leash._ours, leash._theirs):
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(each)


@pytest.mark.one_server
def test_a_stranger_at_the_port_is_not_taken_for_our_server(
    server: PrivateServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours cannot have the port and ends; somebody answers there, whose data is not ours to remove."""
    monkeypatch.setattr(private_server, "free_port", lambda: server.port)
    monkeypatch.setattr(LabServer, "_answers", lambda own: bool(own._process and own._process.wait()))

    with Leash() as leash, pytest.raises(EmbeddedServerError, match="does not answer"):
        LabServer(leash, tmp_path, "no").start()


@pytest.mark.skipif(not PEERS.exists(), reason="the comparison with peers is not in the source distribution")
@pytest.mark.one_server
def test_the_server_of_the_peers_goes_with_who_started_it(tmp_path: Path) -> None:
    """Also by kill -9."""
    require("valkey")
    program = (
        "import pathlib, sys, server\n"
        "with server.started('valkey', pathlib.Path(sys.argv[1])) as made:\n"
        "    print(made.version, made._client.info('server')['process_id'], flush=True)\n"
        "    sys.stdin.read()\n"
    )
    comparing = subprocess.Popen(
        [sys.executable, "-c", program, tmp_path],
        env={**os.environ, "PYTHONPATH": str(PEERS)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with comparing:
        assert comparing.stdout is not None
        name, _, pid = comparing.stdout.readline().split()
        comparing.kill()

    assert name == "Valkey"
    wait_until(lambda: is_gone(int(pid)), what="the server is gone")


# The report.


def test_a_report_that_is_there_stays_until_there_is_a_new_one(tmp_path: Path) -> None:
    """Whether it can be written is found out without a change."""
    old, new = tmp_path / "old.html", tmp_path / "new.html"
    old.write_text("of another day")
    for each in (old, new):
        require_writable(str(each))

    assert old.read_text() == "of another day"
    assert not new.exists()


def test_a_report_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """With its name."""
    with pytest.raises(OutputError, match=r"page\.html"):
        require_writable(str(tmp_path / "nowhere" / "page.html"))
