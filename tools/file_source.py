"""Must hold whatever is killed: a file is read by one generator after another, and what is published is the file.

    python tools/file_source.py [--kills 100] [--server valkey|redis] [--after 0.2]

Starts instances of the App below on a private server. Each generator is killed (kill -9) so many seconds after its
election, in the middle of its work; the next goes on from the cursor, a byte offset that was stored in the same step as
the lines before it. At the end what was published is read in order and compared with the file, byte for byte. Prints one
JSON object; `in_the_middle` counts the kills of those that had published and had more to read. Exit code 1 if anything
differs.
"""

import argparse
import hashlib
import json
import os
import random
import sys
import tempfile
import time
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

from soloist import App, Page, Source
from soloist.store.envelope import unpack
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.processes.crew import Crew, Running
from tests.servers import PrivateServer
from tests.waiting import wait_until

app = App("file-source")
"""Nobody handles: what was published waits in Redis, in its order."""

PACE = 0.005
SPARE = 3
"""Instances that wait to take over."""

AHEAD = 600
"""Lines by which the file is ahead of its reader when another one is elected: none comes to its end in its time."""


@app.source(every=PACE)
def lines(source: Source[None, int]) -> Page[int] | None:
    """A few lines from where the last page ended; how many is up to chance, so that pages never fall into step."""
    begun = source.cursor or 0
    with Path(os.environ["FILE"]).open("rb") as file:
        file.seek(begun)
        found = list(islice(file, random.randint(1, 4)))
    return Page(found, cursor=begun + sum(map(len, found))) if found else None


class Growing:
    """A file that somebody writes while it is read: lines that are all different, with bytes that are no text."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = 0
        path.touch()

    def grow_to(self, lines: int) -> None:
        with self.path.open("ab") as file:
            for number in range(self.lines, lines):
                rest = random.randbytes(random.choice((0, 3, 40, 700))).replace(b"\n", b"")
                file.write(b"%d " % number + rest + b"\n")
        self.lines = max(self.lines, lines)


def kill_generators(crew: Crew, file: Growing, kills: int, after: float) -> dict[str, Any]:
    """Kill so many, let the rest be published, and compare."""
    crew.environment = {"FILE": str(file.path)}
    begun = time.monotonic()
    everyone = [start(crew) for _ in range(1 + SPARE)]
    first, elected = wait_until(lambda: newest(everyone, []), what="somebody is elected")[0]
    first.kill()  # not counted: it was elected while the others were being started, and had nothing to read
    everyone[everyone.index(first)] = start(crew, joins=False)
    killed: list[int] = [elected["term"]]
    published: list[int] = [0]
    in_the_middle = 0
    while len(killed) <= kills:
        file.grow_to(published[-1] + AHEAD)
        generator, elected = wait_until(lambda: newest(everyone, killed), what="somebody is elected")[0]
        time.sleep(max(0.0, elected["at"] / 1000 + after - time.time()))
        generator.kill()
        killed.append(elected["term"])
        everyone.remove(generator)
        published.append(crew.snapshot().published)
        in_the_middle += published[-2] < published[-1] < file.lines
        everyone.append(start(crew, joins=False))  # it joins while the next one works
    size = file.path.stat().st_size
    wait_until(lambda: cursor_of(crew) == size, within=60, what="the rest of the file is published")
    for running in everyone:
        running.wait_for("joined")
        running.end()
    bodies = read_published(crew)
    return {
        "kills": kills,
        "killed_after_ms": round(after * 1000),
        "in_the_middle": in_the_middle,
        "terms": max(event["term"] for running in crew.running for event in running.told("elected")),
        "messages": len(bodies),
        "bytes": size,
        "sha256": hashlib.sha256(b"".join(bodies)).hexdigest(),
        "equal": b"".join(bodies) == file.path.read_bytes(),
        "superseded": crew.snapshot().superseded,
        "seconds": round(time.monotonic() - begun, 1),
    }


def start(crew: Crew, *, joins: bool = True) -> Running:
    return crew.start("tools.file_source:app", joins=joins)


def newest(everyone: list[Running], killed: list[int]) -> list[tuple[Running, dict[str, Any]]]:
    """The one that was elected last, if it was not killed yet, with what it told."""
    told = [(running, event) for running in everyone for event in running.told("elected")]
    told = [each for each in told if each[1]["term"] > max(killed, default=0)]
    return sorted(told, key=lambda each: int(each[1]["term"]))[-1:]


def cursor_of(crew: Crew) -> int:
    with closing(Link(Server(crew.url), timeout=5)) as link:
        return int(link.command("HGET", Keys(crew.namespace).term, "cursor:lines") or 0)


def read_published(crew: Crew) -> list[bytes]:
    """The bodies of all that was published, in that order: 1, 2, 3 and so on."""
    with closing(Link(Server(crew.url), timeout=60)) as link:
        envelopes = [unpack(each) for each in link.command("LRANGE", Keys(crew.namespace).pending("default"), 0, -1)]
    numbers = [int(each.id.split("-")[0]) for each in envelopes]
    assert numbers == list(range(1, len(numbers) + 1)), "there is a gap or a double in the numbers"
    return [each.body for each in envelopes]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--after", type=float, default=0.2, help="seconds from election to kill")
    parser.add_argument("--server", choices=["valkey", "redis"], default="valkey")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        server = PrivateServer(arguments.server, folder / "server")
        server.start()
        crew = Crew(server.url, f"file-{uuid4().hex[:8]}", folder)
        try:
            figures = kill_generators(crew, Growing(folder / "file"), arguments.kills, arguments.after)
        finally:
            crew.release()
            server.stop()
    print(json.dumps({"server": arguments.server, **figures}))
    return 0 if figures["equal"] else 1


if __name__ == "__main__":
    sys.exit(main())
