"""The monitor on real servers and real instances: what it shows is true, and it outlives its server."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from soloist.error_store import ErrorStore
from soloist.monitor.app import MonitorApp
from soloist.monitor.children import Children
from soloist.monitor.model import Observation, Scope, Seen, State, Unanswered
from soloist.monitor.watcher import Watcher
from soloist.settings import Settings
from soloist.store.server import Server
from tests.monitor.stage import screen, until
from tests.processes.crew import Crew
from tests.servers import PrivateServer
from tests.waiting import wait_until


@pytest.fixture
def crew(server: PrivateServer, namespace: str, tmp_path: Path) -> Iterator[Crew]:
    made = Crew(server.url, namespace, tmp_path)
    yield made
    made.release()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[PrivateServer]:
    """One that may be stopped and started again."""
    made = PrivateServer("valkey", tmp_path / "server", appendonly=True)
    made.start()
    yield made
    made.stop()


@asynccontextmanager
async def monitor(
    url: str, namespace: str, *options: str, instances: int = 0, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[MonitorApp]:
    words = ["run", "--events", "--url", url, "--namespace", namespace, *options]
    with closing(Children(words, {})) as children:
        state = State(Scope.of(namespace, "a server", Settings()))
        app = MonitorApp(state, children, lambda tell: Watcher(Server(url), namespace, tell), instances)
        async with app.run_test(size=size):
            yield app


def roles(app: MonitorApp) -> list[str]:
    return re.findall(r"\d +(generator|handler) ", screen(app))


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
def test_the_screen_says_what_status_says(crew: Crew, size: tuple[int, int]) -> None:
    """Number for number, also of instances that were started elsewhere."""
    for _ in range(2):
        crew.start("--interval", 0.002, "--count", 300, "--error-rate", 0.2)

    async def watch() -> str:
        options = ("--interval", "0.002", "--count", "300", "--error-rate", "0.2")
        async with monitor(crew.url, crew.namespace, *options, instances=2, size=size) as app:
            await until(lambda: sorted(roles(app)) == ["generator", *["handler"] * 3], "four are there")
            await until(lambda: "published 300   pending 0   claimed 0" in screen(app), "all is handled")
            status = json.loads(crew.command("status", "--json").stdout)
            expected = [
                [
                    str(each["number"]),
                    each["role"],
                    str(each["pid"]),
                    f"{each['generated']:,}",
                    f"{each['completed'] + each['failed']:,}",
                    f"{each['failed']:,}",
                    f"{each['claimed']:,}",
                ]
                for each in status["instances"]
            ]

            def shown() -> list[list[str]]:
                rows = [
                    each[2:].split() for each in screen(app).splitlines() if re.match(r"[▸ ][• ] +\d+ +\w+er", each)
                ]
                return [[*row[:2], *row[3:8]] for row in rows]

            await until(lambda: shown() == expected, f"{expected} is shown")
            assert f"completed {status['completed']}   failed {status['failed']}" in screen(app)
            assert f"errors {status['errors']}" in screen(app)
            assert len(re.findall("•", screen(app))) == 2
            return screen(app)

    asyncio.run(watch())


def test_a_server_that_is_stopped_and_started_again(own_server: PrivateServer) -> None:
    """It says so, and comes back by itself; so do the instances."""

    async def watch() -> None:
        async with monitor(own_server.url, "demo", "--interval", "0.05", instances=2) as app:
            await until(lambda: len(roles(app)) == 2, "two are there")
            own_server.kill()
            await until(lambda: "server away since " in screen(app), "it is said")
            assert "Connection refused" in screen(app) or "Connection closed" in screen(app) or "reset" in screen(app)
            before = app.state.snapshot
            own_server.start()
            await until(lambda: "server away" not in screen(app), "it is back")
            await until(
                lambda: before and app.state.snapshot and app.state.snapshot.published > before.published,
                "they go on, and it is seen",
            )

    asyncio.run(watch())


def test_k_shows_another_take_over_and_how_long_it_took(crew: Crew) -> None:
    async def watch() -> None:
        async with monitor(crew.url, crew.namespace, instances=3) as app:
            await until(lambda: len(roles(app)) == 3 and "in line: #" in screen(app), "three are there")
            first = re.findall(r"#(\d+) generates", screen(app))
            # One that has not been present for a while may judge nobody: its takeover would wait for the lease.
            await until(lambda: app.state.rates.points[2:], "they were there for a while")
            app._press("k")
            took = await until(
                lambda: re.findall(r"instance #(\d+) took over after ([\d,]+) ms", screen(app)), "a takeover"
            )
            assert took[0][0] not in first
            assert 0 < int(took[0][1].replace(",", "")) < 5000
            await until(lambda: f"#{took[0][0]} generates" in screen(app))

    asyncio.run(watch())


def test_a_message_is_put_back_from_the_errors(crew: Crew) -> None:
    """Browse, r; it is handled again."""
    for _ in range(2):
        crew.start("--interval", 0, "--error-rate", 1, "--count", 20)
    crew.wait_until_handled(20)
    for running in crew.running:
        running.kill()
    oldest = next(ErrorStore(Server(crew.url), crew.namespace).oldest()).id

    async def watch() -> None:
        async with monitor(crew.url, crew.namespace) as app:
            await until(lambda: "errors 20" in screen(app), "twenty errors")
            app._press("e")
            await until(lambda: len(app.state.errors) == 20, "all are read")
            app._press("end")
            assert oldest in screen(app)
            app._press("r")
            await until(lambda: f"message {oldest} waits again" in screen(app), "it is said")
            await until(lambda: "errors 19" in screen(app), "one less")

    asyncio.run(watch())
    assert crew.snapshot().pending == 1


def test_the_watcher_reads_the_past_once_and_then_what_is_new(crew: Crew) -> None:
    """The whole log at first, each entry once; and the errors only when they changed."""
    crew.start("--interval", 0.02, "--error-rate", 1)
    crew.start("--interval", 0.02, "--error-rate", 1)
    told: list[Observation] = []
    watcher = Watcher(Server(crew.url), crew.namespace, told.append)
    watcher.start()

    wait_until(lambda: len(told) > 10, what="it looks again and again")
    crew.start()
    joined = wait_until(
        lambda: [e for o in told.copy() if isinstance(o, Seen) for e in o.entries if e.event == "joined"][2:],
        what="the third is seen",
    )
    watcher.stop()

    assert len(joined) == 1
    looks = [each for each in told if isinstance(each, Seen)]
    ids = [entry.id for look in looks for entry in look.entries]
    assert len(ids) == len(set(ids))
    assert sum(look.errors is not None for look in looks) <= 1 + (looks[-1].at - looks[0].at) / 0.9


def test_a_server_that_is_not_there_is_asked_again_and_again(tmp_path: Path) -> None:
    """With a sentence, never a traceback; calmly."""
    told: list[Observation] = []
    server = PrivateServer("valkey", tmp_path)
    watcher = Watcher(Server(server.url), "demo", told.append)
    watcher.start()
    wait_until(lambda: len(told) >= 3, what="three attempts")
    watcher.stop()

    assert all(isinstance(each, Unanswered) for each in told)
    assert told[2].at - told[0].at > 0.8
    assert isinstance(told[0], Unanswered)
    assert told[0].reason == "cannot be reached: Connection refused"
