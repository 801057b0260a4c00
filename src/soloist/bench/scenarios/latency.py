"""How soon an idle handler begins with a message, beside a bare BLPOP that wakes up."""

import os
import sys
import time
from typing import Any, TypeAlias

from soloist.bench.arena import Arena, Ground
from soloist.bench.bell import EVERY, SAMPLES
from soloist.bench.environment import environment
from soloist.bench.result import Column, Result, percentile
from soloist.bench.session import Session
from soloist.bench.task import Task
from soloist.errors import Unavailable
from soloist.lab.probe import Probe

APP = "soloist.bench.latency_app:app"
WANTED = 1000
ROUNDS = 2
"""The two are measured in turn, so often."""

SKIPPED = 20
"""The first ones, while somebody starts."""

WITHIN = 30.0
Pair: TypeAlias = tuple[int, int]
SHARES = (("p50_ms", 0.5), ("p99_ms", 0.99), ("max_ms", 1.0))


def latency(session: Session) -> Result:
    """From before the publish to the handler's first line; calm samples only."""
    calm: dict[str, list[float]] = {"BLPOP": [], "soloist": []}
    retaken = dict.fromkeys(calm, 0)
    probe = Probe()
    with session.arena() as arena:
        for _ in range(ROUNDS):
            for name, take in (("BLPOP", _take_bare), ("soloist", _take_ours)):
                wanted = len(calm[name]) + WANTED // ROUNDS
                while len(calm[name]) < wanted:
                    pairs = take(session, arena, wanted - len(calm[name]))
                    good = [(sent, came) for sent, came in pairs if probe.was_calm_between(sent / 1e9, came / 1e9)]
                    retaken[name] += len(pairs) - len(good)
                    calm[name] += [(came - sent) / 1e6 for sent, came in good]
        about = environment(arena)
    rows = [_row(name, calm[name], retaken[name]) for name in calm]
    for row in rows:
        row["ratio"] = round(row["p50_ms"] / rows[0]["p50_ms"], 2)
        row["ratio_p99"] = round(row["p99_ms"] / rows[0]["p99_ms"], 2)
    return Result(
        "latency",
        "From publish to the handler's start, idle",
        f"A message every {1000 * EVERY:g} ms to a handler that waits, on the same machine: from before the publish to its "
        "first line. Beside it a bare BLPOP: from before the RPUSH until the client has it. Samples during which a probe "
        "woke more than 30 ms late are taken again.",
        (
            Column("what", "what"),
            Column("n", "samples", "d"),
            Column("p50_ms", "median, ms", ".3f"),
            Column("p99_ms", "p99, ms", ".3f"),
            Column("max_ms", "worst, ms", ".3f"),
            Column("ratio", "median against BLPOP", ".2f"),
            Column("ratio_p99", "p99 against BLPOP", ".2f"),
            Column("retaken", "taken again", "d"),
        ),
        rows,
        ("p50_ms", "p99_ms"),
        about,
    )


def _row(name: str, samples: list[float], retaken: int) -> dict[str, Any]:
    return {
        "what": name,
        "n": len(samples),
        **{figure: round(percentile(samples, share), 3) for figure, share in SHARES},
        "retaken": retaken,
    }


def _take_ours(session: Session, arena: Arena, many: int) -> list[Pair]:
    with arena.ground() as ground:
        task = Task(str(ground.folder), is_marked=False)
        with arena.instances(ground, task.variables()) as instances, session.shown("soloist", many) as at:
            instances.start(APP)
            instances.start(APP, "--role", "handler")

            def are_there() -> bool:
                taken = len(_pairs(ground)) - SKIPPED
                at(max(0, taken))
                return taken >= many

            instances.wait_until(are_there, f"{many} samples", within=60 + many)
            return _pairs(ground)[SKIPPED:]


def _take_bare(session: Session, arena: Arena, many: int) -> list[Pair]:
    with arena.ground() as ground, session.shown("BLPOP", many) as at:
        key, file = f"{ground.keys.base}bell:bare", str(ground.folder / SAMPLES)
        program = [sys.executable, "-P", "-m", "soloist.bench.bell", key, file]
        bell = arena.leash.start(program, env={**os.environ, "SOLOIST_URL": arena.server.url})
        try:
            while (taken := len(_pairs(ground)) - SKIPPED) < many and bell.poll() is None:
                at(max(0, taken))
                ground.link.command("RPUSH", key, str(time.monotonic_ns()))
                time.sleep(EVERY)
            if bell.poll() is not None:
                raise Unavailable(f"the measurement was given up: the bare wake-up ended with {bell.returncode}")
            ground.link.command("RPUSH", key, "")
            bell.wait(WITHIN)
        finally:
            bell.kill()
            bell.wait()
        return _pairs(ground)[SKIPPED:]


def _pairs(ground: Ground) -> list[Pair]:
    """When each was sent and when it came, ns; a line that is not whole yet is left out."""
    try:
        lines = (ground.folder / SAMPLES).read_text().split("\n")[:-1]
    except FileNotFoundError:
        return []
    return [(int(sent), int(came)) for sent, came in (line.split() for line in lines)]
