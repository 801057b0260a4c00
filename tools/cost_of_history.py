"""Measure what history and reports cost: processor time per message of a million, with and without them, in pairs.

    python tools/cost_of_history.py [--server valkey|redis] [--pairs 10] [--messages 1000000]

Both arms run the same way (tests/rewriting.py); in one of them the heart takes no notes. The order within a pair changes
from pair to pair. Prints each pair, then the median of their ratios and the spread, for instances and server together.
"""

import argparse
import json
import os
import resource
import statistics
import sys
import tempfile
from pathlib import Path
from uuid import uuid4

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.processes.crew import Crew
from tests.rewriting import PROGRAM, environment
from tests.servers import PrivateServer

WITHOUT = environment(("runtime/heartbeat.py", "        self._notes.take(", "        if False: self._notes.take("))


def processor_seconds(server: PrivateServer) -> float:
    """Of the server and of all children that have ended."""
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + children.ru_utime + children.ru_stime


def run(server: PrivateServer, folder: Path, messages: int, *, history: bool) -> float:
    """Processor time per message, in microseconds."""
    crew = Crew(server.url, f"cost-{uuid4().hex[:8]}", folder)
    crew.program, crew.environment = PROGRAM, {} if history else WITHOUT
    begun = processor_seconds(server)
    everyone = [crew.start("--interval", 0, "--count", messages, "--until-empty") for _ in range(3)]
    for running in everyone:
        if running.process.wait(timeout=300) != 0:
            sys.exit(f"an instance ended with {running.process.returncode}")
    spent = processor_seconds(server) - begun
    seen = crew.snapshot()
    samples = len(crew.history())
    if seen.published != messages or bool(samples) != history:
        sys.exit(f"published {seen.published}, {samples} samples")
    crew.command("purge", "--yes")
    return spent / messages * 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", choices=["valkey", "redis"], default="valkey")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--messages", type=int, default=1_000_000)
    arguments = parser.parse_args()
    ratios = []
    with tempfile.TemporaryDirectory(prefix="soloist-cost-") as folder:
        server = PrivateServer(arguments.server, Path(folder) / "server", appendonly=True)
        server.start()
        for pair in range(arguments.pairs):
            order = (True, False) if pair % 2 else (False, True)
            cost = {history: run(server, Path(folder), arguments.messages, history=history) for history in order}
            ratios.append(cost[True] / cost[False])
            print(json.dumps({"with_us": cost[True], "without_us": cost[False], "ratio": ratios[-1]}), flush=True)
        server.stop()
    print(json.dumps({"median": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
