"""examples/beside_starlette: web processes that are instances too."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from soloist.inspector import Inspector
from soloist.lab.free_port import free_port
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server
from soloist.store.snapshot import purge
from tests.processes.crew import ROOT
from tests.servers import PrivateServer
from tests.waiting import wait_until

pytestmark = pytest.mark.one_server

NAMESPACE = "reminders"  # the App's own name: nothing else of the tests is called so


class Web:
    """A web process, and a browser for it."""

    def __init__(self, environment: dict[str, str]) -> None:
        port = free_port()
        self._address = f"http://127.0.0.1:{port}/reminders"
        words = ["uvicorn", "examples.beside_starlette.web:web", "--port", str(port), "--log-level", "warning"]
        self.process = subprocess.Popen([sys.executable, "-m", *words], cwd=ROOT, env={**os.environ, **environment})
        wait_until(self._answers, what="the web process answers")

    def _answers(self) -> bool:
        assert self.process.poll() is None, "it ended at once"
        with suppress(URLError, ConnectionError):
            self.reminders()
            return True
        return False

    def reminders(self) -> list[dict[str, Any]]:
        with urlopen(self._address, timeout=10) as response:  # noqa: S310 - the test's own server
            listed: list[dict[str, Any]] = json.load(response)
        return listed

    def remind(self, text: str) -> None:
        with urlopen(self._address, data=text.encode(), timeout=10) as response:  # noqa: S310 - as above
            assert response.status == 201

    def end(self) -> int:
        """As a deployment would; answers the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)


@pytest.fixture
def webs(server: PrivateServer, tmp_path: Path) -> Iterator[list[Web]]:
    environment = {"REDIS_URL": server.url, "REMINDERS": str(tmp_path / "reminders.db")}
    made: list[Web] = []
    try:
        made += [Web(environment), Web(environment)]
        yield made
    finally:
        for web in made:
            if web.process.poll() is None:
                web.process.kill()
                web.process.wait(timeout=30)
        with closing(Link(Server(server.url), timeout=5)) as link:
            purge(link, Keys(NAMESPACE))


def test_two_web_processes_send_each_reminder_once(webs: list[Web], server: PrivateServer) -> None:
    """One of them generates, both are there; the one that is stopped leaves in order, the other goes on alone."""
    inspector = Inspector(Server(server.url), NAMESPACE)

    def all_sent(count: int) -> bool:
        listed = webs[1].reminders()
        return len(listed) == count and all(each["sent"] for each in listed)

    for number in range(20):
        webs[number % 2].remind(f"call {number}")
    wait_until(lambda: all_sent(20), what="all are sent")
    assert {each.pid for each in inspector.snapshot().instances} == {web.process.pid for web in webs}

    webs[0].end()
    assert [each.pid for each in inspector.snapshot().instances] == [webs[1].process.pid], "it left, and was not missed"

    webs[1].remind("one more")
    wait_until(lambda: all_sent(21), what="the last is sent, too")
    assert [each["sent"] for each in webs[1].reminders()] == [1] * 21
