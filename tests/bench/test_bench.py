"""`soloist bench` with real processes on real servers: figures that hold together, and nothing left behind."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from soloist.bench.scenarios import SCENARIOS
from soloist.bench.session import Session
from soloist.cli.bench import SCENARIO_NAMES
from soloist.lab import probe
from soloist.lab.progress import Silence
from soloist.settings import Settings
from soloist.store.link import Link
from soloist.store.server import Server
from tests.processes.one_command import Says
from tests.servers import KINDS, Kind, PrivateServer, require
from tests.waiting import wait_until

SOLOIST = (sys.executable, "-m", "soloist")
USAGE, SERVER, OUTPUT, INTERRUPTED = 2, 3, 4, 130


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    """Where the temporary folders of a measurement go."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


def bench(temporary: Path, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "TMPDIR": str(temporary), **variables}
    return subprocess.run(
        [*SOLOIST, "bench", *words], capture_output=True, text=True, env=environment, timeout=110, check=False
    )


@pytest.mark.parametrize("kind", KINDS)
def test_it_tells_what_the_interface_promises(kind: Kind, temporary: Path) -> None:
    """Every field; nothing lost, nothing doubled; and nothing stays behind, neither files nor a server."""
    ended = bench(temporary, "--messages", "10000", "--handlers", "2", "--json", SOLOIST_SERVER=str(require(kind)))

    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert (told["messages"], told["handlers"], told["lost"], told["duplicated"]) == (10000, 2, 0, 0)
    assert told["rate"] == pytest.approx(10000 / told["seconds"], rel=0.01)
    assert told["ratio_to_floor"] == pytest.approx(told["rate"] / told["floor_rate"], rel=0.01)
    assert 300 < told["failed"] < 700  # 5 %, give or take nine sigma
    assert told["server"].startswith(kind)
    assert min(told["server_cpu_us_per_message"], told["client_cpu_us_per_message"]) > 0
    assert list(temporary.iterdir()) == []
    assert ended.stderr == ""


def test_on_a_named_server_it_leaves_nothing_and_touches_nothing(
    server: PrivateServer, temporary: Path, tmp_path: Path
) -> None:
    """A fresh namespace, removed afterwards; what others keep there stays. And a page is written."""
    report = tmp_path / "page.html"
    with closing(Link(Server(server.url), 5)) as link:
        link.command("SET", "theirs", "1")
        before = link.command("DBSIZE")
        ended = bench(temporary, "--messages", "3000", "--url", server.url, "--report", str(report))

        assert ended.returncode == 0, ended.stderr
        assert link.command("DBSIZE") == before
    assert "3,000 messages, 2 handlers" in ended.stdout
    assert "as that server has it" in " ".join(ended.stdout.split())
    assert "<svg" in report.read_text()


@pytest.mark.one_server
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_ends_everything_that_it_started(temporary: Path, how: signal.Signals) -> None:
    """Instances, server, folder."""
    measuring = subprocess.Popen(
        [*SOLOIST, "bench", "--messages", "100000000", "--handlers", "1", "--no-floor"],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: len(list(temporary.glob("*/*/handled-*"))) == 2, what="two instances are at work")
    started = children_of(measuring.pid)
    assert len(started) == 3
    measuring.send_signal(how)
    _, said = measuring.communicate(timeout=60)

    assert measuring.returncode == INTERRUPTED
    assert "Traceback" not in said
    assert not any(Path(f"/proc/{pid}").exists() for pid in started)
    assert list(temporary.iterdir()) == []


def children_of(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.one_server
def test_when_it_is_killed_what_it_started_goes_too(temporary: Path) -> None:
    """The leash: only the folder stays."""
    measuring = subprocess.Popen(
        [*SOLOIST, "bench", "--messages", "100000000", "--handlers", "1", "--no-floor"],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: len(list(temporary.glob("*/*/handled-*"))) == 2, what="two instances are at work")
    started = children_of(measuring.pid)
    assert len(started) == 3
    measuring.kill()
    measuring.wait()

    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started), what="all of them are gone")


@pytest.mark.one_server
@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("nonsense",), USAGE, "nonsense"),
        (("--messages", "0"), USAGE, "a whole number, 1 to"),
        (("--handlers", "none"), USAGE, "a whole number, 1 to"),
        (("durability", "--url", "redis://127.0.0.1:1"), SERVER, "cannot be reached"),
        (("--persistence", "always", "--url", "redis://127.0.0.1:1"), USAGE, "private server"),
        (("--batch", "-5"), USAGE, "--batch"),
        (("--report", "/nowhere/page.html"), OUTPUT, "/nowhere/page.html"),
        (("window", "--no-verdict"), USAGE, "--no-verdict"),
    ],
)
def test_bad_input_is_told_before_anything_is_measured(
    says: Says, words: tuple[str, ...], code: int, sentence: str
) -> None:
    """One sentence that names it."""
    ended = says("bench", *words)

    assert ended.code == code, ended.stderr
    assert sentence in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


@pytest.mark.one_server
def test_an_instance_that_fails_is_told_with_its_words(temporary: Path, tmp_path: Path) -> None:
    """Not waited for in vain. And the report of another day is still there."""
    report = tmp_path / "page.html"
    report.write_text("of another day")
    words = ("--lease", "0.3", "--heartbeat", "0.2", "--no-floor", "--report", str(report))
    ended = bench(temporary, "--messages", "10", *words)

    assert ended.returncode in {USAGE, SERVER}, ended.stdout
    assert "heartbeat" in ended.stderr
    assert report.read_text() == "of another day"


def test_the_names_on_the_command_line_are_those_of_the_scenarios() -> None:
    """In the same order."""
    assert tuple(SCENARIOS) == SCENARIO_NAMES


# The other scenarios, made small.


@pytest.fixture
def session(server: PrivateServer) -> Session:
    return Session(
        messages=2000,
        handlers=1,
        repeat=1,
        persistence="everysec",
        has_verdict=True,
        has_floor=False,
        settings=Settings(),
        server=Server(server.url),
        progress=Silence(),
    )


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """No sample is taken again because this machine is busy: that would take as long as the other tests do."""
    monkeypatch.setattr(probe, "LATE", 3600)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Replace constants of one of the modules."""

    def make_small(module: str, **values: Any) -> None:
        for name, value in values.items():
            monkeypatch.setattr(import_module(f"soloist.bench.scenarios.{module}"), name, value)

    return make_small


@pytest.mark.one_server
def test_backlog(session: Session, small: Callable[..., None]) -> None:
    """What lies pending stays there, and takes memory."""
    small("sweeps", BACKLOGS=(0, 5000))
    found = SCENARIOS["backlog"](session)

    assert [row["pending"] for row in found.rows] == [0, 5000]
    assert all(row["messages"] >= 2000 for row in found.rows)
    assert 5000 * 100 < found.rows[1]["pending_mb"] * 1e6 < 5000 * 400
    assert found.rows[0]["cpu_ratio"] == 1


@pytest.mark.one_server
def test_instances_and_size(session: Session, small: Callable[..., None]) -> None:
    """Each message once, with several handlers and with bodies of any size."""
    small("sweeps", HANDLERS=(1, 2))
    small("sweeps", SIZES=(10, 20_000))
    by_instances, by_size = SCENARIOS["instances"](session), SCENARIOS["size"](session)

    assert [row["handlers"] for row in by_instances.rows] == [1, 2]
    assert [row["bytes"] for row in by_size.rows] == [10, 20_000]
    assert by_instances.is_sound
    assert by_size.is_sound
    assert [row["lost"] for row in (*by_instances.rows, *by_size.rows)] == [0, 0, 0, 0]


@pytest.mark.one_server
def test_window(session: Session, small: Callable[..., None]) -> None:
    """Nothing is lost by a kill, and at most a batch is repeated."""
    small("window", BATCHES={"1": 1, "16": 16})
    small("window", SHARES={"1": 0.5, "16": 2.0})
    small("window", KILLS=1)
    found = SCENARIOS["window"](session)

    assert found.is_sound
    assert found.facts == {"lost": 0, "duplicated": 0}
    assert [row["batch"] for row in found.rows] == ["1", "16"]
    assert found.rows[0]["repeated_most"] <= 1
    assert found.rows[1]["repeated_most"] <= 16


@pytest.mark.usefixtures("busy")
@pytest.mark.one_server
def test_takeover_and_idle(session: Session, small: Callable[..., None]) -> None:
    """As many samples as kills, in a histogram; commands that are sent and time that is spent."""
    small("takeover", KILLS=2)
    small("idle", MANY=(1, 2), SETTLE=0.1, SECONDS=0.5)
    killed, resting = SCENARIOS["takeover"](session), SCENARIOS["idle"](session)

    assert sum(row["kills"] for row in killed.rows) == killed.facts["n"] == 2
    assert killed.facts["p50_ms"] <= killed.facts["max_ms"]
    assert [row["instances"] for row in resting.rows] == [1, 2]
    assert all(row["commands_per_second"] > 0 for row in resting.rows)


@pytest.mark.usefixtures("busy")
@pytest.mark.one_server
def test_latency(session: Session, small: Callable[..., None]) -> None:
    """As many samples as wanted, of both."""
    small("latency", WANTED=20, ROUNDS=1)
    found = SCENARIOS["latency"](session)

    assert [(row["what"], row["n"] >= 20) for row in found.rows] == [("BLPOP", True), ("soloist", True)]
    assert all(0 < row["p50_ms"] <= row["p99_ms"] <= row["max_ms"] for row in found.rows)
