"""G9: the server goes, stalls, forgets or refuses, and is well again: every instance resumes by itself."""

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from soloist.chaos.faults import HalfOpen, Stall
from soloist.chaos.proxy import FaultProxy
from tests.processes.crew import ROOT, SOLOIST, Crew
from tests.processes.mending import (
    LONGER_THAN_EVERY_LEASE,
    LONGER_THAN_THE_TERM,
    SHORT_CLAIM_LEASE,
    Trio,
    command,
)
from tests.servers import KINDS, PrivateServer, require
from tests.waiting import wait_until

EVERYSEC = {"appendonly": "yes", "appendfsync": "everysec"}
ALWAYS = {"appendonly": "yes", "appendfsync": "always"}
SAVES_NEVER = {"save": "3600 1000000"}
"""It refuses writes after a failed save only if it is meant to save at all."""

SLOW_TO_LOAD = {**EVERYSEC, "key-load-delay": "500"}
"""Half a millisecond for each command that it reads from its file (a setting of the server, for tests)."""


@pytest.fixture
def options() -> dict[str, str]:
    """Nothing is kept across a restart, unless the test says otherwise."""
    return {}


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, options: dict[str, str], tmp_path: Path) -> Iterator[PrivateServer]:
    """A server of the test's own, that may fall ill."""
    require(request.param)
    made = PrivateServer(request.param, tmp_path / "server", options=options)
    made.start()
    yield made
    made.kill()


@pytest.mark.parametrize("options", [EVERYSEC, ALWAYS], ids=["everysec", "always"])
def test_they_go_on_where_they_were_after_a_restart_with_an_append_only_file(crew: Crew, server: PrivateServer) -> None:
    """Numbers go on: nothing that was published is published again or left out."""
    trio = Trio(crew)

    server.kill()
    trio.endure()
    server.start()

    trio.wait_until_it_flows_again()
    assert crew.snapshot().published > trio.before.published
    trio.end()


def test_they_begin_anew_after_a_restart_that_lost_everything(crew: Crew, server: PrivateServer) -> None:
    """Nobody is known any more: each is reborn under a new id."""
    trio = Trio(crew)
    ids = trio.ids

    server.kill()
    trio.endure()
    server.start()

    trio.wait_until_it_flows_again()
    assert not {*ids} & {each.id for each in crew.snapshot().instances}
    trio.end()


@pytest.mark.parametrize("options", [SLOW_TO_LOAD], ids=["slow"])
def test_a_server_that_is_loading_is_waited_for(crew: Crew, server: PrivateServer) -> None:
    """LOADING is an answer that ends by itself: one outage, from the restart to the last key."""
    command(server.url, "EVAL", "for i = 1, 5000 do redis.call('SET', 'bulk' .. i, i) end", 0)
    trio = Trio(crew)

    server.kill()
    trio.endure()
    starting = threading.Thread(target=server.start)
    starting.start()
    wait_until(lambda: is_loading(server), what="it says that it is loading")
    starting.join()

    trio.wait_until_it_flows_again()
    trio.end()


def test_an_emptied_database_is_begun_anew(crew: Crew, server: PrivateServer) -> None:
    """The server was well all the time: nobody speaks of an outage, all are reborn."""
    trio = Trio(crew)
    ids = trio.ids

    command(server.url, "FLUSHALL")

    trio.wait_until_it_flows_again()
    assert not {*ids} & {each.id for each in crew.snapshot().instances}
    trio.end(outages=0)


def test_forgotten_scripts_are_sent_again(crew: Crew, server: PrivateServer) -> None:
    """SCRIPT FLUSH in mid-work costs one more round trip and is no outage."""
    trio = Trio(crew)

    for _ in range(3):
        command(server.url, "SCRIPT", "FLUSH")
        trio.wait_until_it_flows_again()

    trio.assert_nobody_was_judged()
    trio.end(outages=0)


def test_killed_connections_are_made_again(crew: Crew, server: PrivateServer) -> None:
    """CLIENT KILL of everything, several times: an outcome that is unknown is asked for again, on a new connection."""
    trio = Trio(crew)

    for _ in range(5):
        command(server.url, "CLIENT", "KILL", "TYPE", "normal")
        command(server.url, "CLIENT", "KILL", "TYPE", "pubsub")
        trio.wait_until_it_flows_again()

    trio.assert_nobody_was_judged()
    trio.end(outages=None)


@pytest.mark.parametrize(
    ("seconds", "options_of_all"),
    [(LONGER_THAN_THE_TERM, ()), (LONGER_THAN_EVERY_LEASE, ("--claim-lease", SHORT_CLAIM_LEASE))],
    ids=["that of the term", "every one"],
)
def test_a_stall_longer_than_a_lease_deposes_nobody(
    crew: Crew, server: PrivateServer, seconds: float, options_of_all: tuple[str | float, ...]
) -> None:
    """All were unheard alike: who speaks first may not judge the rest."""
    trio = Trio(crew, *options_of_all)

    os.kill(server.pid, signal.SIGSTOP)
    time.sleep(seconds)  # no condition: the length of the stall is the fault itself
    os.kill(server.pid, signal.SIGCONT)

    trio.wait_until_it_flows_again()
    trio.assert_nobody_was_judged()
    trio.end(outages=None)


def test_connections_that_are_half_open_are_given_up(crew: Crew, server: PrivateServer) -> None:
    """The server has forgotten all of them and nobody was told: no FIN, no RST. Who waits must not wait for ever."""
    with FaultProxy("127.0.0.1", server.port) as proxy:
        trio = Trio(crew, "--url", proxy.url())
        said = [len(trio.said(running, "server.lost ")) for running in trio.everyone]

        new_ones_too = proxy.strike(Stall(), lasting=True)
        proxy.strike(HalfOpen())
        trio.endure()
        assert [len(trio.said(running, "server.lost ")) for running in trio.everyone] == [each + 1 for each in said]
        new_ones_too.release()

        trio.wait_until_it_flows_again()
        trio.assert_nobody_was_judged()
        trio.end()


def test_a_server_that_was_a_replica_for_a_while_is_used_again(crew: Crew, server: PrivateServer) -> None:
    """READONLY, as during a failover: asked again until it is a primary."""
    trio = Trio(crew)

    command(server.url, "REPLICAOF", "127.0.0.1", 1)
    trio.endure()
    command(server.url, "REPLICAOF", "NO", "ONE")

    trio.wait_until_it_flows_again()
    trio.assert_nobody_was_judged()
    trio.end()


def test_a_full_memory_stops_publishing_but_not_completing(crew: Crew, server: PrivateServer) -> None:
    """OOM refuses publish whole; completions drain, and nobody loses presence or term."""
    trio = Trio(crew)
    generator = trio.generator

    command(server.url, "CONFIG", "SET", "maxmemory", 1)
    trio.endure(generator)
    wait_until(lambda: crew.snapshot().pending + crew.snapshot().claimed == 0, what="what was published is completed")
    command(server.url, "CONFIG", "SET", "maxmemory", 0)

    trio.wait_until_it_flows_again()
    trio.assert_nobody_was_judged()
    trio.end(of=[generator])


@pytest.mark.parametrize("options", [SAVES_NEVER], ids=["saving"])
def test_a_server_that_could_not_save_is_used_again(crew: Crew, server: PrivateServer, tmp_path: Path) -> None:
    """MISCONF: it takes no writes until a save succeeds."""
    trio = Trio(crew)
    in_its_way = tmp_path / "server" / "dump.rdb"

    in_its_way.mkdir()  # a file cannot be renamed to it, whoever tries
    save(server, "err")
    trio.endure()
    in_its_way.rmdir()
    save(server, "ok")

    trio.wait_until_it_flows_again()
    trio.assert_nobody_was_judged()
    trio.end()


def test_a_server_without_its_replicas_is_used_again(crew: Crew, server: PrivateServer) -> None:
    """NOREPLICAS: it takes no writes while too few replicas follow it."""
    trio = Trio(crew)

    command(server.url, "CONFIG", "SET", "min-replicas-to-write", 1)
    trio.endure()
    command(server.url, "CONFIG", "SET", "min-replicas-to-write", 0)

    trio.wait_until_it_flows_again()
    trio.assert_nobody_was_judged()
    trio.end()


def test_a_password_that_was_changed_and_changed_back_is_tried_again(crew: Crew, server: PrivateServer) -> None:
    """After the start a refusal is no reason to end: somebody may mend it."""
    trio = Trio(crew)
    with_password = server.url.replace("redis://", "redis://:another@")

    command(server.url, "CONFIG", "SET", "requirepass", "another")
    for kind in ("normal", "pubsub"):
        command(with_password, "CLIENT", "KILL", "TYPE", kind)
    trio.endure()
    command(with_password, "CONFIG", "SET", "requirepass", "")

    trio.wait_until_it_flows_again()
    trio.assert_nobody_was_judged()
    trio.end()


def test_who_follows_the_log_goes_on_following(crew: Crew, server: PrivateServer) -> None:
    """One line when it goes, one when it is back, and then what happened since."""
    crew.start("--interval", 3600)
    words = [*SOLOIST, "log", "--follow", *crew.connection]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as following:
        assert following.stdout is not None
        assert following.stderr is not None
        assert "#1 joined" in following.stdout.readline()
        assert "#1 is the generator" in following.stdout.readline()

        server.kill()
        assert "trying again until it is back" in following.stderr.readline()
        server.start()

        assert following.stderr.readline() == "the server is back\n"
        assert "#1 joined" in following.stdout.readline(), "reborn: this server had kept nothing"
        following.terminate()


def save(server: PrivateServer, expected: str) -> None:
    command(server.url, "BGSAVE")
    wait_until(
        lambda: f"rdb_last_bgsave_status:{expected}\r\n".encode() in command(server.url, "INFO", "persistence"),
        what=f"the save is seen as {expected}",
    )


def is_loading(server: PrivateServer) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(100).startswith(b"-LOADING")
    except OSError:
        return False
