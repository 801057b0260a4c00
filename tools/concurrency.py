"""How long one handler takes for many messages at a time: slow ones with concurrency, and the smallest window with it.

python tools/concurrency.py; on Redis with SOLOIST_SERVER=redis-server

Messages lie pending while the kind is paused; the time runs from its release to the last completion. Beside it a probe
watches whether the machine is calm: a run during which it woke late is taken again.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click

from soloist import App, Message, Msg, Page, Source
from soloist.inspector import Inspector
from soloist.lab.leashed import Leash
from soloist.lab.private_server import PrivateServer
from soloist.lab.probe import Probe
from soloist.store.control import pause
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server

MODE, MANY = os.environ.get("MODE", "async"), int(os.environ.get("MANY", "1000"))
CASES = (
    ("async, 100 ms each, concurrency 100", "async", 1000, ()),
    ("threads, 100 ms each, concurrency 100", "threads", 1000, ()),
    ("async, nothing to do, concurrency 100, batch 1", "nothing", 50_000, ("--batch", "1")),
    ("async, nothing to do, concurrency 100", "nothing", 200_000, ()),
)

app = App("concurrency", generator_handles=False)


@app.source(every=0.001)
def fill(source: Source[Any, int]) -> Page[int] | None:
    done = source.cursor or 0
    many = min(source.room, MANY - done)
    return Page([Msg("job", "x" * 90)] * many, cursor=done + many, more=True) if many else None


if MODE == "threads":

    @app.handler("job", concurrency=100)
    def in_a_thread(_message: Message) -> None:
        time.sleep(0.1)

elif MODE == "async":

    @app.handler("job", concurrency=100)
    async def slowly(_message: Message) -> None:
        await asyncio.sleep(0.1)

else:

    @app.handler("job", concurrency=100)
    async def nothing(_message: Message) -> None:
        pass


def times_of(
    server: PrivateServer, leash: Leash, mode: str, many: int, options: tuple[str, ...]
) -> tuple[float, float]:
    """When the kind was released, and when the last was completed (monotonic)."""
    namespace = f"n{time.monotonic_ns()}"
    environment = {**os.environ, "MODE": mode, "MANY": str(many), "PYTHONPATH": str(Path(__file__).parent)}
    words = [sys.executable, "-m", "soloist", "run", "concurrency:app", "--url", server.url, "--namespace", namespace]
    link, keys, inspector = Link(Server(server.url), 10), Keys(namespace), Inspector(Server(server.url), namespace)
    pause(link, keys, ["job"], on=True)
    running = [
        leash.start([*words, *options, *role, "--events"], env=environment, stdout=subprocess.DEVNULL)
        for role in ((), ("--role", "handler"))
    ]
    try:
        while True:
            seen = inspector.snapshot()
            if seen.published == many and len(seen.instances) == 2:
                break
            time.sleep(0.05)
        begun = time.monotonic()
        pause(link, keys, ["job"], on=False)
        while sum(int(each or 0) for each in link.command("HMGET", keys.totals, "completed", "failed")) < many:
            time.sleep(0.005)
        return begun, time.monotonic()
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait()


@click.command()
@click.option("--repeat", default=3, show_default=True)
def main(repeat: int) -> None:
    """Measure."""
    with (
        Leash() as leash,
        tempfile.TemporaryDirectory() as folder,
        PrivateServer(leash, Path(folder) / "server", "everysec") as server,
    ):
        probe = Probe()
        for title, mode, many, options in CASES:
            taken: list[float] = []
            retaken = 0
            while len(taken) < repeat:
                begun, ended = times_of(server, leash, mode, many, options)
                if probe.was_calm_between(begun, ended):
                    taken.append(ended - begun)
                else:
                    retaken += 1
                if retaken > 5 * repeat:
                    click.echo("the machine is not calm", err=True)
                    break
            if taken:
                taken.sort()
                middle = taken[len(taken) // 2]
                click.echo(
                    f"{title}: {many:,} in {middle:.2f} s ({taken[0]:.2f}–{taken[-1]:.2f}), {many / middle:,.0f} a second; "
                    f"taken again: {retaken}"
                )


if __name__ == "__main__":
    main()
