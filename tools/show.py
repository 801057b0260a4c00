"""Show the system at work: real instances on an embedded server of their own, until Ctrl-C.

    ./dev run                      one generator and three handlers
    ./dev run --instances 6        more of them
    ./dev run --interval 0.05      any option of `soloist run`

What each instance tells as JSON lines (`--events`) is put together into one account. Kill the generator from another
terminal (`kill -9` with the process number that is shown) and watch another take its part.
"""

import argparse
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from soloist import embedded
from soloist.cli.account import sentence

EVERY = 5.0
"""Seconds between lines of totals."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=4)
    arguments, options = parser.parse_known_args()
    folder = Path(tempfile.mkdtemp(prefix="soloist-show-"))
    told: queue.Queue[tuple[int, dict[str, Any]]] = queue.Queue()
    processes: list[subprocess.Popen[str]] = []
    try:
        server = embedded.acquire(folder)
        print(f"An embedded server on port {server.port}, and {arguments.instances} instances. Ctrl-C ends all of it.")
        print(
            f"Look closer, in another terminal:  SOLOIST_HOME={folder} {Path(sys.executable).parent}/soloist status --watch\n"
        )
        processes.extend(start(folder, options, told) for _ in range(arguments.instances))
        account(told, processes)
    except KeyboardInterrupt:
        print("\nending …")
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()
        embedded.stop(folder)
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def start(folder: Path, options: list[str], told: queue.Queue[tuple[int, dict[str, Any]]]) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "soloist", "run", "--embedded", "--events", *options],
        env={**os.environ, "SOLOIST_HOME": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is ours to pass on
    )

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            told.put((process.pid, json.loads(line)))

    threading.Thread(target=read, daemon=True).start()
    return process


def account(told: queue.Queue[tuple[int, dict[str, Any]]], processes: list[subprocess.Popen[str]]) -> None:
    """Print what happens, and every few seconds the totals, until no process is left."""
    totals: dict[int, dict[str, int]] = {}
    generator: int | None = None
    printed = time.monotonic()
    while any(process.poll() is None for process in processes):
        try:
            pid, event = told.get(timeout=0.2)
        except queue.Empty:
            continue
        mine = totals.setdefault(event["number"], {"generated": 0, "handled": 0, "errors": 0})
        if event["event"] == "generated":
            mine["generated"] = event["total"]
        elif event["event"] == "handled":
            mine["handled"], mine["errors"] = event["total"], event["errors"]
        else:
            generator = event["number"] if event["event"] == "elected" else generator
            says = sentence(event["event"], event)
            print(f"{time.strftime('%H:%M:%S')}  #{event['number']} (process {pid})  {says}", flush=True)
        if time.monotonic() - printed >= EVERY:
            printed = time.monotonic()
            print(
                "          " + "   ".join(summary(number, generator, totals[number]) for number in sorted(totals)),
                flush=True,
            )


def summary(number: int, generator: int | None, totals: dict[str, int]) -> str:
    if number == generator:
        return f"#{number} generated {totals['generated']}"
    return f"#{number} handled {totals['handled']} ({totals['errors']} erroneous)"


if __name__ == "__main__":
    sys.exit(main())
