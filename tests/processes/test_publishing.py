"""Publishing where processes fork, and where the server goes away, comes back, or does not answer."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from soloist import App, Msg
from soloist import publishing as module
from soloist.chaos.faults import Drop
from soloist.chaos.proxy import FaultProxy
from soloist.errors import NotPublished
from soloist.store.submissions import ENLIST, SUBMIT
from tests.processes.crew import ROOT
from tests.servers import KINDS, PrivateServer
from tests.waiting import wait_until

FORKING: dict[str, str] = {
    "os.fork": """
from os import _exit, fork, waitpid
told = [app.publish("job", "before")]
child = fork()
if not child:
    app.publish("job", "child")
    _exit(0)
assert waitpid(child, 0)[1] == 0
told.append(app.publish("job", "after"))
""",
    "multiprocessing": """
from multiprocessing import get_context
told = [app.publish("job", "before")]
def work(number):
    return app.publish("job", str(number))
with get_context("fork").Pool(3) as pool:
    told += pool.map(work, range(20), chunksize=1)
told.append(app.publish("job", "after"))
""",
    "while another thread publishes": """
from os import _exit, fork, waitpid
from threading import Thread
told, over = [app.publish("job", "before")], []
def work():
    while not over:
        told.append(app.publish("job", "thread"))
threads = [Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
children = []
for _ in range(10):
    children.append(fork())
    if not children[-1]:
        app.publish("job", "child")
        _exit(0)
for child in children: assert waitpid(child, 0)[1] == 0
over.append(True)
for thread in threads: thread.join()
""",
    "while another thread connects": """
from os import _exit, fork, waitpid
from threading import Event, Thread
from soloist.running import Runs
goal, connecting, forked = Runs.goal, Event(), Event()
def slowly(self, call):
    connecting.set()
    forked.wait()
    return goal(self, call)
Runs.goal = slowly
told = []
thread = Thread(target=lambda: told.append(app.publish("job", "thread")))
thread.start()
connecting.wait()
child = fork()
if not child:
    forked.set()
    app.publish("job", "child")
    _exit(0)
assert waitpid(child, 0)[1] == 0
forked.set()
thread.join()
""",
}
CHILDREN = {
    "os.fork": 1,
    "multiprocessing": 0,
    "while another thread publishes": 10,
    "while another thread connects": 1,
}
"""Messages of which only a child was told."""


@pytest.fixture
def own(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PrivateServer]:
    """A server that may be killed, and keeps what it has acknowledged."""
    server = PrivateServer(request.param, tmp_path / "own", appendonly=True, options={"appendfsync": "always"})
    server.start()
    yield server
    server.stop()


@pytest.mark.parametrize("how", FORKING)
def test_a_forked_child_publishes_by_itself(server: PrivateServer, namespace: str, how: str) -> None:
    """On a connection and under an id of its own: nothing is lost, nothing comes twice, nobody hangs."""
    code = f"from soloist import App\napp = App('demo')\n{FORKING[how]}\nimport json; print(json.dumps(told))"
    environment = {**os.environ, "SOLOIST_URL": server.url, "SOLOIST_NAMESPACE": namespace}

    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=60)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # children that hang would outlive their parent

    assert process.returncode == 0
    told = json.loads(said)
    assert len(set(told)) == len(told)
    seen = App("demo", url=server.url, namespace=namespace).inspect()
    assert seen.published == len(told) + CHILDREN[how]


@pytest.mark.parametrize("own", KINDS, indirect=True)
def test_a_server_that_is_started_anew_meanwhile_has_each_message_once(own: PrivateServer) -> None:
    """Whoever publishes waits, and goes on under the id that it had."""
    app, told = App("demo", url=own.url, namespace="anew"), list[str]()
    publisher = threading.Thread(target=lambda: told.extend(app.publish("job", str(number)) for number in range(600)))
    publisher.start()
    for many in (100, 300):
        wait_until(lambda: len(told) >= many, what="some are published")  # noqa: B023
        own.kill()
        own.start()
    publisher.join(60)

    assert len(set(told)) == 600
    assert app.inspect().published == 600


@pytest.mark.parametrize("own", KINDS[:1], indirect=True)
def test_a_server_that_is_away_refuses_and_nothing_is_undecided(
    own: PrivateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that is refused has carried nothing."""
    app = App("demo", url=own.url, namespace="away")
    first = app.publish("job", "1")
    monkeypatch.setattr(app._connected("test")[0], "_patience", 0.3)
    app._connected("test")[0].close()
    own.stop()

    with pytest.raises(NotPublished, match=r"given up after 0\.3 s: it was not published") as refused:
        app.publish_many([Msg("job", "2")] * 3)

    assert (refused.value.is_undecided, refused.value.published) == (False, [])
    own.start()
    assert app.publish("job", "3") != first, "and it goes on by itself"
    assert app.inspect().published == 2


def lose_every_reply(app: App, proxy: FaultProxy) -> NotPublished:
    rule = proxy.rule(Drop(), SUBMIT.sha, nth=None)
    with pytest.raises(NotPublished, match=r"whether it was published is not known: .*unique=True") as refused:
        app.publish("job", "2")
    rule.release()
    return refused.value


def test_a_call_that_is_never_answered_is_undecided(
    server: PrivateServer, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And says so; what comes after it is published under another id."""
    monkeypatch.setattr(module, "PATIENCE", 1.5)
    with FaultProxy("127.0.0.1", server.port) as proxy:
        app = App("demo", url=proxy.url(), namespace=namespace, lease=1)
        tag = app.publish("job", "1").split("-")[1]

        assert lose_every_reply(app, proxy).is_undecided

        assert app.publish("job", "3").split("-")[1] != tag
        assert app.inspect().published == 3, "it was carried out once, however often it was repeated"


def test_who_could_not_even_enlist_has_published_nothing(
    server: PrivateServer, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever became of that call: no message was in it."""
    monkeypatch.setattr(module, "PATIENCE", 1.5)
    with FaultProxy("127.0.0.1", server.port) as proxy:
        proxy.rule(Drop(), ENLIST.sha, nth=None)

        with pytest.raises(NotPublished, match=r"it was not published") as refused:
            App("demo", url=proxy.url(), namespace=namespace, lease=1).publish("job", "1")

    assert not refused.value.is_undecided


def test_a_producer_that_the_server_has_forgotten_enlists_anew(server: PrivateServer, namespace: str) -> None:
    """As after an hour of silence, or a roll-back: nothing is published twice, nothing is lost."""
    app = App("demo", url=server.url, namespace=namespace)
    first = app.publish("job", "1")
    producer = app._connected("test")[0]
    producer._link.command("DEL", producer._keys.producers, producer._keys.submitted)

    second = app.publish("job", "2")

    assert first.split("-")[1] != second.split("-")[1]
    assert app.inspect().published == 2
