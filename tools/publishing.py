"""Must hold whatever becomes of the replies: what processes that are no instances publish is there once; and how fast.

    python tools/publishing.py [--server valkey|redis] [--processes 8] [--messages 5000] [--seed N]
    python tools/publishing.py --rate [--server valkey|redis] [--messages 300000] [--repeat 3]

So many processes publish so many numbers each, in every way there is, through a proxy that drops, delays and cuts off calls
and replies, one after another; instances handle them. Each run writes down number and id in the step that completes it:
every id that a publisher was told of was handled once, and no other was. Exit code 1 if not.

With --rate, on a server of their own and by turns: `publish_many` of one process, and a generator with a source that goes
as fast as it can, of the same messages of 85 bytes; nobody handles. The time is that from the first publication to the
last. Runs during which the machine was not calm are taken again.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

from soloist import App, Msg, Page, Source
from soloist.chaos.proxy import FaultProxy
from soloist.lab.probe import Probe
from soloist.store.fitness import info
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.processes.crew import ROOT, Crew
from tests.processes.publishing_trial import play
from tests.servers import PrivateServer

BODY = "x" * 85
MANY = int(os.environ.get("MANY", "0"))
KIND = "flood"
RETAKES = 5

app = App("flooding")
"""Nobody handles: what was published waits."""


@app.source(every=0)
def flood(source: Source[None, int]) -> Page[int] | None:
    done = source.cursor or 0
    many = min(source.room, MANY - done)
    return Page([Msg(KIND, BODY)] * many, cursor=done + many, more=True) if many > 0 else None


def trial(server: PrivateServer, folder: Path, arguments: argparse.Namespace) -> tuple[dict[str, Any], bool]:
    crew, begun = Crew(server.url, f"far-{uuid4().hex[:8]}", folder), time.monotonic()
    try:
        with FaultProxy("127.0.0.1", server.port) as proxy:
            outcome = play(crew, proxy, arguments.processes, arguments.messages, arguments.seed)
    finally:
        crew.release()
    said = {
        "seed": outcome.seed,
        "processes": arguments.processes,
        "faults": dict(outcome.faults),
        "told": len(outcome.told),
        "ids": len({ident for _, ident in outcome.told}),
        "published": outcome.published,
        "handled": len(outcome.handled),
        "wrong": outcome.wrong,
        "seconds": round(time.monotonic() - begun),
    }
    return said, not outcome.wrong


def by_publish_many(server: PrivateServer, namespace: str, many: int) -> tuple[float, float]:
    """When it began and when it ended (monotonic), in a process of its own."""
    code = (
        "import time; from tools.publishing import BODY, KIND, MANY, app; from soloist import Msg\n"
        "messages = [Msg(KIND, BODY)] * MANY; app.publish(KIND, BODY); begun = time.monotonic()\n"
        "app.publish_many(messages); print(begun, time.monotonic())"
    )
    own = {"SOLOIST_URL": server.url, "SOLOIST_NAMESPACE": namespace, "MANY": str(many)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ, **own}, stdout=subprocess.PIPE, text=True, check=True
    )
    begun, ended = done.stdout.split()
    return float(begun), float(ended)


def by_generator(server: PrivateServer, namespace: str, many: int) -> tuple[float, float]:
    crew = Crew(server.url, namespace, Path.cwd())
    with closing(Link(Server(server.url), timeout=10)) as link:
        running = crew.start("tools.publishing:app", environment={"MANY": str(many)}, joins=False)
        begun = 0.0
        while (published := int(link.command("HGET", Keys(namespace).totals, "published") or 0)) < many:
            begun = begun or (time.monotonic() if published else 0.0)
            time.sleep(0.001)
        ended = time.monotonic()
        running.process.terminate()
        running.process.wait()
    crew.release()
    return begun, ended


WAYS: dict[str, Callable[[PrivateServer, str, int], tuple[float, float]]] = {
    "publish_many": by_publish_many,
    "generator": by_generator,
}


def rates(server: PrivateServer, many: int, repeat: int) -> Iterator[dict[str, Any]]:
    """By turns, so that what changes on the machine meets both."""
    probe, retaken = Probe(), 0
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    server_us: dict[str, list[float]] = {way: [] for way in WAYS}
    while any(len(each) < repeat for each in found.values()):
        for way, play_it in WAYS.items():
            before = cpu_of(server)
            begun, ended = play_it(server, f"rate-{uuid4().hex[:8]}", many)
            spent = cpu_of(server) - before
            if not probe.was_calm_between(begun, ended) and retaken < RETAKES * repeat:
                retaken += 1
                continue
            found[way].append(many / (ended - begun))
            server_us[way].append(spent / many * 1e6)
            with closing(Link(Server(server.url), timeout=60)) as link:
                link.command("FLUSHALL")
    for way, each in found.items():
        yield {
            "way": way,
            "messages": many,
            "rate": round(statistics.median(each)),
            "least": round(min(each)),
            "most": round(max(each)),
            "server_us_per_message": round(statistics.median(server_us[way]), 2),
            "samples": len(each),
            "retaken": retaken,
        }


def cpu_of(server: PrivateServer) -> float:
    with closing(Link(Server(server.url), timeout=10)) as link:
        about = info(link)
    return float(about["used_cpu_sys"]) + float(about["used_cpu_user"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", choices=["valkey", "redis"], default="valkey")
    parser.add_argument("--rate", action="store_true")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--messages", type=int)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    arguments = parser.parse_args()
    arguments.messages = arguments.messages or (300_000 if arguments.rate else 5000)
    with tempfile.TemporaryDirectory(prefix="soloist-publishing-") as scratch:
        server = PrivateServer(arguments.server, Path(scratch) / "server", appendonly=not arguments.rate)
        server.start()
        try:
            if arguments.rate:
                for figures in rates(server, arguments.messages, arguments.repeat):
                    print(json.dumps({"server": arguments.server, **figures}), flush=True)
                return 0
            said, is_well = trial(server, Path(scratch), arguments)
        finally:
            server.stop()
    print(json.dumps({"server": arguments.server, **said, "verdict": is_well}))
    return int(not is_well)


if __name__ == "__main__":
    sys.exit(main())
