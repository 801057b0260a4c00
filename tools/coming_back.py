"""Measure G9: how long after the server is well again the first message flows, for every state that the tests know.

    python tools/coming_back.py --server valkey [--times 5]

Runs tests/processes/test_coming_back.py so many times and prints, for each of its tests, median and worst of: from
"the server is well" to the first handling of a message that was published since; and until the last of three instances
works again. The instances tell of their work at most ten times a second, so a figure may be 0.1 s too high. A sample
during which the machine was not calm is taken again, and counted as `retaken`.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

from soloist.lab.probe import Probe

ROOT = Path(__file__).parents[1]
TESTS = "tests/processes/test_coming_back.py"
NAME = re.compile(r"::test_(\w+)\[([^]]+)\]")
SAID = re.compile(r"well at (\d+): flows again after (\d+) ms, the last works after (\d+) ms")


def names(server: str) -> list[str]:
    """Every test of this server."""
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", TESTS],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    return [line for line in listed.stdout.splitlines() if f"[{server}" in line or f"-{server}" in line]


def samples(test: str, probe: Probe) -> tuple[list[tuple[int, int]], int]:
    """One run of one test: its figures, and how many were not calm."""
    lag = time.time() - time.monotonic()
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-q", "-s", test],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    if run.returncode != 0:
        sys.exit(f"{test} failed:\n{run.stdout}")
    told = [(int(well), int(first), int(last)) for well, first, last in SAID.findall(run.stdout)]
    calm = [
        (first, last)
        for well, first, last in told
        if probe.was_calm_between(well / 1000 - lag, (well + max(first, last)) / 1000 - lag)
    ]
    return calm, len(told) - len(calm)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", choices=["valkey", "redis"], default="valkey")
    parser.add_argument("--times", type=int, default=5)
    arguments = parser.parse_args()
    probe = Probe()
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for test in names(arguments.server):
        retaken = 0
        while len(found[test]) < arguments.times:
            calm, late = samples(test, probe)
            if not calm and not late:
                break  # it tells no figure
            found[test] += calm
            retaken += late
        if not found[test]:
            continue
        first = [each for each, _ in found[test][: arguments.times]]
        last = [each for _, each in found[test][: arguments.times]]
        matched = NAME.search(test)
        print(
            json.dumps(
                {
                    "state": matched[1].replace("_", " ") if matched else test,
                    "of": matched[2] if matched else arguments.server,
                    "first_median_ms": statistics.median(first),
                    "first_worst_ms": max(first),
                    "last_median_ms": statistics.median(last),
                    "last_worst_ms": max(last),
                    "samples": len(first),
                    "retaken": retaken,
                }
            ),
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
