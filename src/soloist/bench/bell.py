"""A bare wake-up, for comparison: waits with BLPOP for the time at which it was pushed, and writes down when it came.

python -m soloist.bench.bell KEY FILE, with the server in SOLOIST_URL.
"""

import os
import sys
import time
from pathlib import Path

from soloist.store.link import Link
from soloist.store.server import Server

BLOCK = 60.0
EVERY = 0.01
"""Seconds between two samples of the scenario `latency`."""

SAMPLES = "samples"
"""The file with a line per sample: when it was sent, when it came, ns."""


def main() -> None:
    """Wait at the key until an empty text comes."""
    key, file = sys.argv[1:]
    link = Link(Server(os.environ["SOLOIST_URL"]), 2 * BLOCK)
    with Path(file).open("a", buffering=1) as samples:
        while True:
            answer = link.command("BLPOP", key, BLOCK)
            came = time.monotonic_ns()
            if answer is None or not answer[1]:
                break
            samples.write(f"{answer[1].decode()} {came}\n")


if __name__ == "__main__":
    main()
