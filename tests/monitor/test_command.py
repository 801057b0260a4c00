"""`soloist monitor` as a command: what it starts, where it goes without a terminal, how it ends."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from soloist.monitor.session import Goal, environment, words
from soloist.settings import Settings
from soloist.store.server import Server
from tests.embedded.conftest import is_gone
from tests.processes.crew import ROOT, SOLOIST, Crew
from tests.servers import PrivateServer
from tests.waiting import wait_until


class Piped:
    """A monitor whose output goes into a pipe."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.lines.extend(iter(self.process.stdout.readline, ""))

    @property
    def text(self) -> str:
        return "".join(self.lines.copy())

    def pids(self) -> list[int]:
        """Of the instances that it told of."""
        return [int(each) for each in re.findall(r"joined \(.*process (\d+)\)", self.text)]

    def end(self, how: signal.Signals) -> int:
        self.process.send_signal(how)
        code = self.process.wait(timeout=30)
        self._reader.join(10)
        return code


@contextmanager
def piped(*options: str, cwd: Path = ROOT) -> Iterator[Piped]:
    with subprocess.Popen(
        [*SOLOIST, "monitor", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        cwd=cwd,
    ) as process:
        made = Piped(process)
        try:
            yield made
        finally:
            process.kill()
            process.wait()
            made._reader.join(10)
            print(made.text)  # for whoever reads of a test that failed


def test_without_a_terminal_it_tells_a_line_per_event(home: Path) -> None:
    """On the embedded server four are started; Ctrl-C ends everything, in order."""
    with piped("--interval", "0.05") as monitor:
        wait_until(lambda: len(monitor.pids()) == 4, what="four have joined")
        wait_until(lambda: "is the generator now (term 1)" in monitor.text, what="one generates")
        wait_until(lambda: re.search(r"#\d generates, 4 instances; published \d", monitor.text), what="totals are told")
        pids = monitor.pids()
        os.kill(pids[0], signal.SIGKILL)
        os.kill(pids[1], signal.SIGKILL)
        wait_until(lambda: monitor.text.count("is gone (its process ended)") == 2, what="two are found gone")

        assert monitor.end(signal.SIGINT) == 130
    assert all(map(is_gone, pids))
    assert "\x1b" not in monitor.text
    assert "Traceback" not in monitor.text


def test_with_a_server_that_is_named_it_starts_none(server: PrivateServer, namespace: str) -> None:
    """Unless it is told to. SIGTERM is a clean end."""
    crew = ["--url", server.url, "--namespace", namespace]
    with piped(*crew) as monitor:
        wait_until(lambda: "nobody generates, 0 instances; published 0" in monitor.text, what="totals are told")
        assert monitor.pids() == []
        assert monitor.end(signal.SIGTERM) == 0

    with piped(*crew, "--instances", "2") as monitor:
        wait_until(lambda: len(monitor.pids()) == 2, what="two have joined")
        assert monitor.end(signal.SIGTERM) == 0
    assert all(map(is_gone, monitor.pids()))


def test_killed_it_leaves_nobody_behind(server: PrivateServer, namespace: str) -> None:
    """By kill -9; one of them is frozen."""
    with piped("--url", server.url, "--namespace", namespace, "--instances", "3") as monitor:
        wait_until(lambda: len(monitor.pids()) == 3, what="three have joined")
        os.kill(monitor.pids()[1], signal.SIGSTOP)
        monitor.process.kill()
        wait_until(lambda: all(map(is_gone, monitor.pids())), within=2, what="all are gone")


def test_your_own_app(server: PrivateServer, tmp_path: Path) -> None:
    """Its namespace is its name; it needs a server that all hosts share, like run."""
    (tmp_path / "shop.py").write_text(
        "from soloist import App\napp = App('shop-orders')\n@app.handler\ndef handle(m): ...\n"
    )
    with piped("shop:app", "--url", server.url, "--instances", "1", cwd=tmp_path) as monitor:
        wait_until(lambda: len(monitor.pids()) == 1, what="it has joined")
        assert monitor.end(signal.SIGINT) == 130
    with piped("shop:app", cwd=tmp_path) as monitor:
        assert monitor.process.wait(30) == 2
    assert "needs a server" in monitor.text
    with piped("shop:app", "--embedded", "--interval", "1", cwd=tmp_path) as monitor:
        assert monitor.process.wait(30) == 2
    assert "--interval belongs to the default application" in monitor.text
    subprocess.run(
        [*SOLOIST, "purge", "--yes", "--url", server.url, "--namespace", "shop-orders"], check=True, cwd=ROOT
    )


def test_instances_that_fail_at_once_say_why(crew_of_another_app: Crew) -> None:
    """The monitor goes on: it may be watching others."""
    crew = crew_of_another_app
    with piped("--url", crew.url, "--namespace", crew.namespace, "--instances", "1") as monitor:
        wait_until(lambda: "ended with exit code 2: " in monitor.text, what="its end is told")
        assert monitor.process.poll() is None
        assert monitor.end(signal.SIGINT) == 130


@pytest.fixture
def crew_of_another_app(server: PrivateServer, namespace: str, tmp_path: Path) -> Iterator[Crew]:
    made = Crew(server.url, namespace, tmp_path)
    made.start("tests.processes.apps:gated")
    yield made
    made.release()


def test_a_closed_pipe_ends_it_with_its_processes(server: PrivateServer, namespace: str) -> None:
    """`soloist monitor | head -1`."""
    with subprocess.Popen(
        [*SOLOIST, "monitor", "--url", server.url, "--namespace", namespace, "--instances", "1"],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
    ) as process:
        assert process.stdout is not None
        joined = next(line for line in process.stdout if "joined" in line)
        pid = int(re.findall(r"process (\d+)", joined)[0])
        process.stdout.close()
        assert process.wait(30) == 0
    assert is_gone(pid)


def test_without_textual_it_says_what_to_install(tmp_path: Path) -> None:
    """Exit 2, before any server is started."""
    code = "import sys; sys.modules['textual'] = None; from soloist.cli.main import main; main(['monitor'])"
    hidden = "import importlib.util as u; f = u.find_spec; u.find_spec = lambda n, *a: None if n == 'textual' else f(n, *a); "
    said = subprocess.run(
        [sys.executable, "-c", hidden + code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "SOLOIST_HOME": str(tmp_path / "state")},
        check=False,
    )

    assert said.returncode == 2
    assert "pip install 'soloist[tui]'" in said.stderr
    assert not (tmp_path / "state").exists()


def test_the_command_line_does_not_load_textual() -> None:
    """`soloist --help` is quick."""
    code = "import soloist.cli.main, sys; print('textual' in sys.modules, 'rich' in sys.modules, 'soloist.cli.monitor' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)

    assert said.stdout.split() == ["False", "False", "True"]


@pytest.mark.parametrize("wrong", [["--instances", "-1"], ["--instances", "x"], ["--instances", "101"]])
def test_a_wrong_number_of_instances_is_refused(wrong: list[str]) -> None:
    said = subprocess.run([*SOLOIST, "monitor", *wrong], capture_output=True, text=True, cwd=ROOT, check=False)

    assert said.returncode == 2
    assert "0 to 100" in said.stderr


def test_a_password_is_not_seen_on_the_command_line_of_the_instances() -> None:
    """And every setting goes with them, whatever their file and environment say."""
    url = "redis://:secret@localhost:6379/0"
    goal = Goal(
        Server(url), "demo", "x", embedded=False, settings=Settings(lease=3), instances=1, words=["--interval", "1"]
    )

    assert words(goal) == ["run", "--interval", "1", "--events", "--namespace", "demo"]
    told = environment(goal)
    assert told["SOLOIST_URL"] == url
    assert told["SOLOIST_LEASE"] == "3"
    assert told["SOLOIST_BATCH"] == "0"
