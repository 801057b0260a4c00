"""`status --check`: every finding, provoked on a real system; and the two questions about one process."""

import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from soloist import health
from soloist.settings import Settings
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server
from tests.processes.crew import Crew
from tests.processes.mending import command
from tests.processes.one_command import Says
from tests.rewriting import PROGRAM, environment
from tests.servers import KINDS, PrivateServer, Store, require
from tests.store.acting import Instance
from tests.waiting import wait_until

PERSISTENT = {"appendonly": "yes"}
SOON = {"STALLED": 4, "NOT_CONSUMING": 1.0}
"""The check, with less patience."""

Check = Callable[..., dict[str, str]]


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PrivateServer]:
    """A server of the test's own that is well: whatever is found is about us."""
    require(request.param)
    made = PrivateServer(request.param, tmp_path / "server", options=PERSISTENT)
    made.start()
    yield made
    made.kill()


@pytest.fixture
def check(crew: Crew, says: Says, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Each code that was found, with its sentence and remedy; the exit code says the same."""
    for name, soon in SOON.items():
        monkeypatch.setattr(health, name, soon)

    def look(*options: str) -> dict[str, str]:
        done = says("status", "--check", *options, *crew.connection)
        found = dict(line.split(": ", 1) for line in done.stderr.splitlines())
        found.pop("heart-late", None)  # a busy machine; it has a test of its own
        assert done.code == (1 if done.stderr else 0), done.stderr
        return found

    return look


def wait_until_found(check: Check, code: str, *options: str) -> str:
    """Until it is found, and nothing else; answers what is said of it."""

    def found() -> dict[str, str] | None:
        seen = check(*options)
        return seen if seen.keys() == {code} else None

    return (wait_until(found, what=f"{code} is found") or {})[code]


def test_a_system_that_works_is_well(crew: Crew, check: Check) -> None:
    crew.start("--interval", 0.05)
    crew.start("--interval", 0.05).wait_for("handled")

    wait_until(lambda: check() == {}, what="nothing is found")


def test_nobody_there_and_nobody_who_may_generate_are_named(crew: Crew, check: Check) -> None:
    running = crew.start("--role", "handler")
    assert "may" not in wait_until_found(check, "no-generator")

    running.end()
    assert "`soloist`" in wait_until_found(check, "no-instance")


def test_messages_that_nobody_completes_are_named(crew: Crew, check: Check) -> None:
    """The only handler is stuck, and more and more wait."""
    crew.start("tests.processes.apps:gated")
    crew.start("tests.processes.apps:gated")

    assert "wait" in wait_until_found(check, "stalled")


def test_an_instance_that_is_alive_but_consumes_nothing_is_named(crew: Crew, check: Check) -> None:
    """Its heart beats, its other threads live; but it never hears the bell."""
    waits = 'token = self._bell.command("BLPOP", bell, BLOCK if within is None else min(BLOCK, within))'
    deaf = environment(("runtime/lane.py", waits, "time.sleep(3600)"))
    crew.start("tests.processes.apps:lame")
    handler = crew.start("tests.processes.apps:lame", program=PROGRAM, environment=deaf)

    wait_until(lambda: check().keys() >= {"not-consuming"}, what="it is found")
    assert f"process {handler.process.pid}" in check()["not-consuming"]


def test_a_source_that_fails_or_does_not_return_is_named(crew: Crew, check: Check) -> None:
    generator = crew.start("tests.processes.apps:lame")
    generator.wait_for("generated")
    crew.start("tests.processes.apps:lame")

    (crew.folder / "fail").touch()
    assert "ValueError: no more today" in wait_until_found(check, "source-fails")

    (crew.folder / "fail").unlink()
    (crew.folder / "hang").touch()
    assert "has not returned" in wait_until_found(check, "source-late")

    (crew.folder / "hang").unlink()
    wait_until(lambda: check() == {}, what="all is well again")


def test_a_heart_that_came_late_is_named(crew: Crew) -> None:
    """One call of `re` held the interpreter lock."""
    crew.start("tests.processes.apps:locking")
    crew.start("tests.processes.apps:locking", environment={"LOCK_SECONDS": "2"})

    def late() -> list[Any]:
        return [each.late_ms for each in crew.snapshot().instances if each.number == 2 and each.late_ms]

    wait_until(late, what="it says so of itself")
    said = crew.command("status", "--check")
    assert said.returncode == 1
    assert "heart-late: the heart of instance #2" in said.stderr


def test_a_kind_without_a_handler_is_named(crew: Crew, check: Check) -> None:
    with closing(Link(Server(crew.url), timeout=5)) as link:
        somebody = Instance(Store(Server(crew.url), link, Keys(crew.namespace), Settings()), kinds=("mail",))
        somebody.join()
        somebody.beat()
        somebody.publish({"mail": 2})
        somebody.leave()
    crew.start("--interval", 0.05)
    crew.start("--interval", 0.05)

    assert "2 messages of the kind 'mail'" in wait_until_found(check, "no-handler")


def test_too_many_errors_and_lost_messages_are_named(crew: Crew, check: Check) -> None:
    crew.start("--interval", 0.01, "--error-rate", 1)
    handler = crew.start("--interval", 0.01, "--error-rate", 1)
    wait_until(lambda: crew.snapshot().errors > 3, what="four have failed")
    assert "more than 3" in wait_until_found(check, "errors", "--max-errors", "3")

    handler.kill()
    wait_until(lambda: crew.snapshot().pending > 10, what="some wait")
    command(crew.url, "DEL", Keys(crew.namespace).pending("default"))
    assert check().keys() == {"lost-or-doubled"}


def test_a_server_that_would_lose_messages_is_named(crew: Crew, server: PrivateServer, check: Check) -> None:
    """About to be full, evicting, not persisting: read from INFO."""
    crew.start("--interval", 0.05)
    crew.start("--interval", 0.05)
    wait_until(lambda: check() == {}, what="all is well")

    used = int(command(server.url, "INFO", "memory").split(b"used_memory:")[1].split(b"\r\n")[0])
    command(server.url, "CONFIG", "SET", "maxmemory", int(used / 0.95))
    assert "of its memory limit" in wait_until_found(check, "memory")

    command(server.url, "CONFIG", "SET", "maxmemory", 10 * used, "maxmemory-policy", "allkeys-lru")
    assert "allkeys-lru" in wait_until_found(check, "evicting")

    command(server.url, "CONFIG", "SET", "maxmemory-policy", "noeviction", "appendonly", "no")
    assert "appendonly" in wait_until_found(check, "not-persisting")


def test_keys_that_were_thrown_away_are_named(crew: Crew, server: PrivateServer, check: Check) -> None:
    """Somebody else's, here; but who says that it was only those."""
    crew.start("--interval", 0.05)
    crew.start("--interval", 0.05)
    used = int(command(server.url, "INFO", "memory").split(b"used_memory:")[1].split(b"\r\n")[0])
    command(server.url, "CONFIG", "SET", "maxmemory", used + 2**21, "maxmemory-policy", "volatile-lru")
    junk = "for i = 1, 100 do redis.call('SETEX', 'junk' .. i .. ':' .. ARGV[1], 1000, string.rep('x', 10000)) end"
    for batch in range(5):
        command(server.url, "EVAL", junk, 0, batch)
    command(server.url, "CONFIG", "SET", "maxmemory", 0)

    assert "thrown away" in wait_until_found(check, "evicted")


def test_stacks_show_where_the_code_of_a_slow_handler_is(crew: Crew) -> None:
    """Written down by the instance itself: after a second what it works on, after five where."""
    crew.start("tests.processes.apps:gated")
    crew.start("tests.processes.apps:gated")

    def written_down() -> bool:
        return any(each.doing is not None and "wait_for" in each.doing.stack for each in crew.snapshot().instances)

    wait_until(written_down, what="its stack is written down")
    said = crew.command("status", "--stacks").stdout
    assert "wait_for" in said
    assert "has worked on 3-" in said
    assert "apps.py" in said
    assert "runtime/handler.py" not in said


def test_a_process_answers_for_itself(crew: Crew, server: PrivateServer) -> None:
    """Alive and ready; alive, but not ready, while the server is away."""
    port = free_port()
    crew.start("--health-port", port)
    assert ask(port, "/livez") == (200, True, True)
    assert ask(port, "/readyz") == (200, True, True)
    assert ask(port, "/elsewhere")[0] == 404

    server.kill()
    wait_until(lambda: ask(port, "/readyz") == (503, True, False), what="it is not ready")
    assert ask(port, "/livez") == (200, True, False)
    server.start()
    wait_until(lambda: ask(port, "/readyz") == (200, True, True), what="it is ready again")


def test_a_health_port_that_is_taken_is_named(crew: Crew) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = crew.command("run", "--health-port", str(taken.getsockname()[1]))

    assert done.returncode == 2
    assert "--health-port" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("processes", [1, 2])
def test_systemd_is_told(crew: Crew, processes: int) -> None:
    """Ready when it has joined, a sign of life at half the watchdog's time, and that it stops."""
    where = crew.folder / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(str(where))
        notify.settimeout(30)
        told: list[bytes] = []

        def listen() -> None:
            while not told or told[-1] != b"STOPPING=1":
                told.append(notify.recv(100))

        listening = threading.Thread(target=listen)
        listening.start()
        environment = {"NOTIFY_SOCKET": str(where), "WATCHDOG_USEC": "200000"}
        running = crew.start("--processes", processes, environment=environment)
        running.wait_for("joined", count=processes)

        wait_until(lambda: len(told) >= 3, what="two signs of life")
        assert running.end() == 0
        listening.join(30)

    assert (told[0], told[-1], {*told[1:-1]}) == (b"READY=1", b"STOPPING=1", {b"WATCHDOG=1"})


def test_a_systemd_that_does_not_listen_stops_nobody(crew: Crew) -> None:
    """Its queue is full: what does not fit is not told."""
    where = crew.folder / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(str(where))
        running = crew.start(environment={"NOTIFY_SOCKET": str(where), "WATCHDOG_USEC": "20000"})
        running.wait_for("generated", count=2)

        assert running.end() == 0


def ask(port: int, path: str) -> tuple[int, bool, bool]:
    """The code, and whether it says that it is alive and ready."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            code, body = answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        with refused:
            code, body = refused.code, refused.read()
    told = json.loads(body)
    return code, told["alive"], told["ready"]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port
