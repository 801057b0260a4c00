"""How long nobody generates after a kill -9 of the generator."""

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from soloist.bench.arena import Ground
from soloist.bench.environment import environment
from soloist.bench.instances import Instances
from soloist.bench.result import Column, Result, percentile
from soloist.bench.session import Session
from soloist.lab.probe import Probe

KILLS = 20
EVERYBODY = 3
OPTIONS = ("--interval", "0.05", "--events")
BUCKET = 25
"""Milliseconds that a bar of the histogram stands for."""


def takeover(session: Session) -> Result:
    """From the kill to the first publication of the successor, by the wall clock; calm samples only."""
    samples: list[float] = []
    retaken = 0
    probe = Probe()
    with session.arena() as arena, arena.ground() as ground, arena.instances(ground) as instances:
        with session.shown("kills", KILLS) as at:
            for _ in range(EVERYBODY):
                instances.start(*OPTIONS)
            while len(samples) < KILLS:
                begun = time.monotonic()
                took = _kill(ground, instances)
                if probe.was_calm_since(begun):
                    samples.append(took)
                else:
                    retaken += 1
                at(len(samples))
                if len(samples) < KILLS:
                    instances.start(*OPTIONS)
        about = environment(arena)
    figures = {"n": len(samples), "retaken": retaken}
    for name, share in (("p50_ms", 0.5), ("p99_ms", 0.99), ("max_ms", 1.0)):
        figures[name] = round(percentile(samples, share))
    often = Counter(int(sample // BUCKET) * BUCKET for sample in samples)
    lowest, highest = min(often), max(often)
    return Result(
        "takeover",
        "Takeover after kill -9 of the generator",
        f"{EVERYBODY} instances, a message every 50 ms. From the kill to the first publication of the successor. Samples "
        "during which a probe woke more than 30 ms late are taken again.",
        (Column("ms", "ms"), Column("kills", "kills", "d")),
        [
            {"ms": f"{bucket}–{bucket + BUCKET}", "kills": often[bucket]}
            for bucket in range(lowest, highest + 1, BUCKET)
        ],
        ("kills",),
        about,
        figures,
    )


def _kill(ground: Ground, instances: Instances) -> float:
    """Kill the generator; answers how long it took until another published, ms."""
    instances.wait_until(lambda: _is_ready(ground), "a generator and two in line, all of them judges")
    term = ground.inspector.snapshot().term
    assert term is not None
    running = [process for process in instances.processes if process.poll() is None]
    pids = {each.id: each.pid for each in ground.inspector.snapshot().instances}
    generator = next(process for process in running if process.pid == pids[term.instance])
    at = time.time() * 1000
    instances.kill_one(generator)
    others = [instances.told_by(number) for number, each in enumerate(instances.processes) if each in running]
    published: list[float] = []

    def has_published() -> bool:
        published[:] = [event["at"] for event in _events(others) if event["at"] >= at and event["term"] > term.number]
        return bool(published)

    instances.wait_until(has_published, "a publication of the successor")
    generator.wait()
    return min(published) - at


def _is_ready(ground: Ground) -> bool:
    places: list[bytes] = ground.link.command("HVALS", ground.keys.line)
    return (
        ground.inspector.snapshot().term is not None
        and len(places) == EVERYBODY - 1
        and all(place.endswith(b" 1") for place in places)
    )


def _events(files: list[Path]) -> list[dict[str, Any]]:
    """What was published, as far as it was told; a line that is not whole yet is left out."""
    lines = [line for file in files for line in file.read_text().split("\n")[:-1]]
    return [json.loads(line) for line in lines if line.startswith('{"event": "generated"')]
