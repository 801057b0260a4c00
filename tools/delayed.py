"""Must hold: what is delayed is handled when it is due, never early, whatever waits beside it.

    python tools/delayed.py [--server valkey|redis] [--messages 1000000] [--minutes 60] [--seed N]
    python tools/delayed.py --real [--server valkey|redis] [--messages 100000] [--seconds 60]

In virtual time (tests/simulation/delayed.py): the real scripts, by a clock that is set; the beats come when their answers
say, and when the alarm rings. Most messages are published before the hour begins, the others on the way, due within three
seconds. Exit code 1 if one was early, more than 100 ms late, or not there. `bytes_each` is the server's memory for a
message of 13 bytes while most of them wait.

With --real: two instances in real time. `late` is from the moment at which a message was due to that at which its handler
was called, by the clock of this machine; of those handled while the machine was not calm, only the number is told. Early
ones count always.
"""

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from soloist import App, Message
from soloist.lab.probe import Probe
from soloist.producer import Producer, Wanted
from soloist.settings import Settings
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.processes.crew import Crew
from tests.servers import PrivateServer
from tests.simulation.backend import by_virtual_time
from tests.simulation.delayed import Hour

MOST_LATE_MS = 100
INSTANCES = 2
LEAD = 5.0
"""Seconds from the publication of the first to the moment at which the first is due."""

DISTURBED = 0.2
"""Seconds before a call of a handler in which the machine has to have been calm."""

app = App("delayed")


@app.handler("later")
def note(message: Message) -> None:
    now_ms = time.time() * 1000
    message.commit.rpush(message.key_for("late"), f"{now_ms - float(message.body):.2f} {now_ms:.0f}")


def spread(samples: Sequence[float]) -> dict[str, Any]:
    ordered = sorted(samples)
    return {
        "n": len(ordered),
        "p50_ms": round(statistics.median(ordered), 2),
        "p99_ms": round(ordered[round(0.99 * (len(ordered) - 1))], 2),
        "max_ms": round(ordered[-1], 2),
    }


def in_virtual_time(server: PrivateServer, arguments: argparse.Namespace) -> tuple[dict[str, Any], bool]:
    begun, seconds = time.monotonic(), arguments.minutes * 60
    with by_virtual_time(), closing(Link(Server(server.url), timeout=60)) as link:
        outcome = Hour(link, Keys("hour"), Settings(), arguments.seed).play(arguments.messages, seconds)
    early = sum(late < 0 for late in outcome.late_ms)
    too_late = sum(late > MOST_LATE_MS for late in outcome.late_ms)
    figures = {
        "seed": arguments.seed,
        "messages": arguments.messages,
        "minutes": arguments.minutes,
        "handled": len(outcome.late_ms),
        "early": early,
        "too_late": too_late,
        "late": spread(outcome.late_ms),
        "beats": outcome.beats,
        "alarms": outcome.alarms,
        "memory_mb": round(outcome.memory / 2**20, 1),
        "bytes_each": round(outcome.memory / max(1, outcome.ahead)),
        "seconds": round(time.monotonic() - begun),
    }
    return figures, not early and not too_late and not outcome.left and len(outcome.late_ms) == arguments.messages


def in_real_time(server: PrivateServer, folder: Path, arguments: argparse.Namespace) -> tuple[dict[str, Any], bool]:
    crew, probe = Crew(server.url, "delayed", folder), Probe()
    lag, chance = time.time() - time.monotonic(), random.Random(arguments.seed)
    try:
        for _ in range(INSTANCES):
            crew.start("tools.delayed:app")
        first_ms = round(1000 * (time.time() + LEAD))
        dues = [first_ms + chance.randrange(round(arguments.seconds * 1000)) for _ in range(arguments.messages)]
        producer = Producer(Server(server.url), "delayed", "delayed", 10**9, 5, 30)
        producer.publish([Wanted("later", b"%d" % due, at_ms=due) for due in dues])
        in_time = time.time() * 1000 < first_ms
        crew.wait_until_handled(arguments.messages, within=LEAD + arguments.seconds + 120)
        with closing(Link(Server(server.url), timeout=60)) as link:
            lines = link.command("LRANGE", f"{Keys('delayed').base}data:late", 0, -1)
        producer.close()
    finally:
        crew.release()
    samples = [tuple(map(float, line.split())) for line in lines]
    calm = [late for late, at in samples if probe.was_calm_between(at / 1000 - lag - DISTURBED, at / 1000 - lag)]
    early = sum(late < 0 for late, _ in samples)
    figures = {
        "messages": arguments.messages,
        "real_seconds": arguments.seconds,
        "handled": len(samples),
        "early": early,
        "late": spread(calm or [0.0]),
        "disturbed": len(samples) - len(calm),
        "published_ahead": in_time,
    }
    return figures, not early and len(samples) == arguments.messages


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", choices=["valkey", "redis"], default="valkey")
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--messages", type=int)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.messages = arguments.messages or (100_000 if arguments.real else 1_000_000)
    with tempfile.TemporaryDirectory(prefix="soloist-delayed-") as folder:
        server = PrivateServer(arguments.server, Path(folder) / "server")
        server.start()
        try:
            if arguments.real:
                figures, is_well = in_real_time(server, Path(folder), arguments)
            else:
                figures, is_well = in_virtual_time(server, arguments)
        finally:
            server.stop()
    print(json.dumps({"server": arguments.server, **figures, "verdict": is_well}))
    return int(not is_well)


if __name__ == "__main__":
    sys.exit(main())
