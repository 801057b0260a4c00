"""Must hold whatever is killed or frozen: each tick of a schedule is published once, or passed over and counted.

    python tools/schedules.py [--server valkey|redis] [--minutes 5] [--faults 100] [--seed N]

Three instances with twenty schedules at one second, of every sort (tests/processes/timetable.py), on a private server.
While they run, instances are killed (kill -9) or frozen, three of four times the generator: for less than its lease, for
longer, and for longer than its claims last. At the end all schedules are paused, and the account is made from what the runs
have written in Redis: of each schedule, published ticks + counted skips = all ticks between the first look and the last;
each run once. Prints one JSON object, with the times from a kill (or a freeze beyond the lease) of the generator to the
first tick that its successor published; only of those that met no other fault, while a judge was in line and the machine
was calm. Ticks of some schedules are spread over the second, so there is one every 60 ms or so. Exit code 1 if anything
is wrong.
"""

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from soloist.lab.probe import Probe

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.processes.crew import Crew
from tests.processes.timetable_trial import FREEZES, KILL, Outcome, Trial, lateness
from tests.servers import PrivateServer

BEYOND = [what for what in FREEZES if what != "freeze"]
"""Freezes that end the term."""


def spread(samples: Sequence[float]) -> dict[str, Any]:
    if not samples:
        return {"n": 0}
    ordered = sorted(samples)
    at_99 = ordered[round(0.99 * (len(ordered) - 1))]
    figures = {"p50_ms": statistics.median(ordered), "p99_ms": at_99, "max_ms": ordered[-1]}
    return {"n": len(ordered), **{name: round(value) for name, value in figures.items()}}


def takeovers(outcome: Outcome, probe: Probe, *whats: str) -> dict[str, Any]:
    lag, calm, disturbed = time.time() - time.monotonic(), [], 0
    for fault, took in outcome.takeovers_ms(*whats):
        begun = fault.at_ms / 1000 - lag
        if probe.was_calm_between(begun, begun + took / 1000):
            calm.append(took)
        else:
            disturbed += 1
    return {**spread(calm), "disturbed": disturbed}


def figures(outcome: Outcome, probe: Probe) -> dict[str, Any]:
    found = outcome.accounts.values()
    return {
        "schedules": len(found),
        "faults": dict(outcome.counted),
        "terms": len({run.tag for run in outcome.runs}),
        "ticks": sum(each.ticks for each in found),
        "published": sum(each.published for each in found),
        "skipped": sum(each.skipped for each in found),
        "missing": sum(each.missing for each in found),
        "twice": sum(each.twice for each in found),
        "takeover_kill": takeovers(outcome, probe, KILL),
        "takeover_freeze": takeovers(outcome, probe, *BEYOND),
        "late": spread(lateness(outcome.runs)),
        "reclaimed": outcome.reclaimed,
        "superseded": outcome.superseded,
        "wrong": outcome.wrong,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", choices=["valkey", "redis"], default="valkey")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soloist-schedules-") as folder:
        server = PrivateServer(arguments.server, Path(folder) / "server", appendonly=True)
        server.start()
        crew = Crew(server.url, f"timetable-{uuid4().hex[:8]}", Path(folder))
        probe, begun = Probe(), time.monotonic()
        every = arguments.minutes * 60 / max(1, arguments.faults)
        try:
            outcome = Trial(crew, arguments.seed, arguments.faults, every).run()
        finally:
            crew.release()
            server.stop()
    said = {"server": arguments.server, "seed": arguments.seed, **figures(outcome, probe)}
    print(json.dumps({**said, "seconds": round(time.monotonic() - begun), "verdict": not outcome.wrong}))
    return int(bool(outcome.wrong))


if __name__ == "__main__":
    sys.exit(main())
