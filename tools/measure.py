"""Measure what the guarantees promise, with real processes on a private server. Prints one JSON object per measurement.

    python tools/measure.py takeover --kills 50            kill -9 of the generator until its successor publishes
    python tools/measure.py takeover --kills 10 --freeze   SIGSTOP of the generator until its successor publishes
    python tools/measure.py reclaim --kills 20             kill -9 of a handler in mid-message until it is taken back
    python tools/measure.py cadence --minutes 5            distances of 500 ms ticks, and drift
    python tools/measure.py sampler                        the snapshot adds up while instances are killed

What is about speed and cost is in `soloist bench`. Each takes --server valkey|redis. Beside a timed measurement a probe sleeps 10 ms at a time; a sample during which it
woke more than 30 ms late says more about the machine than about us: it is taken again, and counted as `retaken`.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

from soloist.lab.probe import Probe

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.processes.crew import ROOT, SOLOIST, Crew, Running
from tests.servers import PrivateServer
from tests.waiting import wait_until


def spread(samples: list[float]) -> dict[str, Any]:
    ordered = sorted(samples)
    at_99 = ordered[min(len(ordered) - 1, round(0.99 * (len(ordered) - 1)))]
    return {"n": len(ordered), "p50_ms": statistics.median(ordered), "p99_ms": at_99, "max_ms": ordered[-1]}


def takeover(crew: Crew, arguments: argparse.Namespace) -> dict[str, Any]:
    """From the kill (or freeze) of the generator to the first publication of its successor, by the wall clock."""
    probe, options = Probe(), ("--interval", arguments.interval)
    everyone = [crew.start(*options) for _ in range(3)]
    samples: list[float] = []
    retaken = 0
    while len(samples) < arguments.kills:
        wait_until(lambda: ready(crew), what="a generator and two in line, all of them judges")
        generator = crew.generator_of(everyone)
        others = [running for running in everyone if running is not generator]
        begun, at = time.monotonic(), time.time() * 1000
        generator.freeze() if arguments.freeze else generator.kill()
        published = wait_until(lambda: publications(others, at), what="the successor publishes")  # noqa: B023
        if probe.was_calm_since(begun):
            samples.append(min(published) - at)
        else:
            retaken += 1
        if arguments.freeze:
            generator.thaw()
            generator.wait_for("superseded", count=len(generator.told("superseded")) + 1)
        else:
            everyone.remove(generator)
            everyone.append(crew.start(*options))
    for running in everyone:
        running.end()
    events = sorted((event["seq"], event["term"]) for running in crew.running for event in running.told("generated"))
    terms = [term for _, term in events]
    seen = crew.snapshot()
    return {
        **spread(samples),
        "retaken": retaken,
        "superseded": seen.superseded,
        "published": seen.published,
        "last_number": events[-1][0],
        "terms_in_order": terms == sorted(terms),
    }


def ready(crew: Crew) -> bool:
    places = crew.line()
    return crew.snapshot().term is not None and len(places) == 2 and all(place.endswith(b" 1") for place in places)


def publications(others: list[Running], after: float) -> list[float]:
    return [event["at"] for running in others for event in running.told("generated") if event["at"] >= after]


def reclaim(crew: Crew, arguments: argparse.Namespace) -> dict[str, Any]:
    """From the kill of a handler in mid-message to its messages being taken back."""
    probe, app = Probe(), "tests.processes.apps:slow"
    generator = crew.start(app)
    handlers = [crew.start(app, "--role", "handler") for _ in range(3)]
    samples: list[float] = []
    retaken = 0
    while len(samples) < arguments.kills:
        holders = wait_until(lambda: {each.id for each in crew.snapshot().instances if each.claimed}, what="holders")
        victim = next((running for running in handlers if running.id in holders), None)
        if victim is None:
            continue
        begun, at, name = time.monotonic(), time.time() * 1000, victim.id
        victim.kill()
        handlers.remove(victim)
        everyone = [generator, *handlers]
        told = wait_until(lambda: [e for r in everyone for e in r.told("reclaimed", **{"from": name})], what="reclaim")  # noqa: B023
        if probe.was_calm_since(begun) and told[0]["messages"]:
            samples.append(told[0]["at"] - at)
        else:
            retaken += 1
        handlers.append(crew.start(app, "--role", "handler"))
        since = time.monotonic()
        wait_until(lambda: time.monotonic() - since > 1.5, what="the newcomer has looked on for a while")  # noqa: B023
    generator.kill()
    seen = crew.wait_until_handled(1, within=600)
    return {**spread(samples), "retaken": retaken, "published": seen.published, "completed": seen.completed}


def cadence(crew: Crew, arguments: argparse.Namespace) -> dict[str, Any]:
    """Distances between publications, and how far the last is from where it should be."""
    generator = crew.start()
    crew.start()
    ticks = round(arguments.minutes * 120)
    generator.wait_for("generated", count=ticks + 1, within=arguments.minutes * 60 + 60)
    times = [event["at"] for event in generator.told("generated")][: ticks + 1]
    distances = [float(after - before) for before, after in pairwise(times)]
    return {
        "ticks": ticks,
        "mean_ms": statistics.mean(distances),
        "worst_distance_ms": max(abs(distance - 500) for distance in distances),
        "drift_ms": times[-1] - times[0] - 500 * ticks,
    }


def sampler(crew: Crew, arguments: argparse.Namespace) -> dict[str, Any]:
    """`status --watch 0.01 --json` beside a run with kills."""
    options = ("--interval", 0, "--batch", 8, "--max-pending", 5000)
    everyone = [crew.start(*options) for _ in range(4)]
    words = [*SOLOIST, "status", "--watch", "0.01", "--json", *crew.connection]
    watching = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(watching.stdout or ()), daemon=True)
    reader.start()
    kills = 0
    while len(lines) < arguments.samples:
        wanted = len(lines) + arguments.samples // 20
        wait_until(lambda: len(lines) >= wanted, within=60, what="samples")  # noqa: B023
        victim = crew.generator_of(everyone) if kills % 2 else everyone[0]
        victim.kill()
        everyone.remove(victim)
        everyone.append(crew.start(*options))
        kills += 1
    watching.kill()
    watching.wait()
    reader.join()
    samples = [json.loads(line) for line in lines if line.endswith("}\n")]
    parts = ("pending", "claimed", "completed", "failed")
    events = sorted((event["seq"], event["term"]) for running in crew.running for event in running.told("generated"))
    return {
        "samples": len(samples),
        "kills": kills,
        "add_up": sum(each["published"] == sum(each[part] for part in parts) for each in samples),
        "last": {name: samples[-1][name] for name in ("published", *parts, "reclaimed")},
        "terms": len({term for _, term in events}),
        "terms_in_order": [term for _, term in events] == sorted(term for _, term in events),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measurements: dict[str, Callable[[Crew, argparse.Namespace], dict[str, Any]]] = {
        each.__name__: each for each in (takeover, reclaim, cadence, sampler)
    }
    parser.add_argument("what", choices=measurements)
    parser.add_argument("--server", choices=["valkey", "redis"], default="valkey")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--freeze", action="store_true")
    parser.add_argument("--interval", type=float, default=0.05)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--samples", type=int, default=1000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soloist-measure-") as folder:
        server = PrivateServer(arguments.server, Path(folder) / "server", appendonly=True)
        server.start()
        crew = Crew(server.url, f"measure-{uuid4().hex[:8]}", Path(folder))
        try:
            result = measurements[arguments.what](crew, arguments)
        finally:
            crew.release()
            server.stop()
    print(json.dumps({"what": arguments.what, "server": arguments.server, "freeze": arguments.freeze, **result}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
