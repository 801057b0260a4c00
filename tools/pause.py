"""Measure a pause in the middle of a million messages: who still takes some, whether any is lost, how soon it goes on.

    python tools/pause.py [--server valkey|redis] [--messages 1000000] [--seconds 3] [--repeat 1] [--kill]

Three instances, one of which generates as fast as it can; when a third is completed, the kind is paused for so many
seconds. Each handler adds its number to a sum in the step that completes its message. Prints one JSON object a run:
`claimed_behind`, messages that were claimed behind the pause, and `claimed_late`, those later than a heartbeat behind it,
must be 0; `resumed_ms` is the time from asking for the end of the pause to the first completion, null where the machine was
not calm. --kill kills the generator during the pause. Exit code 1 if anything is wrong.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from uuid import uuid4

from soloist.lab.probe import Probe

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.processes.crew import Crew
from tests.processes.pausing import play
from tests.servers import PrivateServer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", choices=["valkey", "redis"], default="valkey")
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--kill", action="store_true")
    arguments = parser.parse_args()
    probe, is_well = Probe(), True
    with tempfile.TemporaryDirectory(prefix="soloist-pause-") as folder:
        server = PrivateServer(arguments.server, Path(folder) / "server", appendonly=True)
        server.start()
        try:
            for _ in range(arguments.repeat):
                crew, begun = Crew(server.url, f"pause-{uuid4().hex[:8]}", Path(folder)), time.monotonic()
                try:
                    outcome = play(crew, arguments.messages, arguments.seconds, kills=arguments.kill)
                finally:
                    crew.release()
                is_calm = probe.was_calm_between(outcome.asked, outcome.flowed)
                figures = {
                    "server": arguments.server,
                    "messages": outcome.many,
                    "taken_before": outcome.at_once,
                    "claimed_behind": outcome.settled - outcome.at_once,
                    "claimed_late": outcome.late - outcome.settled,
                    "waited": outcome.waited,
                    "resumed_ms": round(outcome.resumed_ms, 1) if is_calm else None,
                    "completed": outcome.completed,
                    "wrong": outcome.wrong,
                    "seconds": round(time.monotonic() - begun, 1),
                }
                print(json.dumps(figures), flush=True)
                is_well = is_well and not outcome.wrong
                crew.command("purge", "--yes")
        finally:
            server.stop()
    return int(not is_well)


if __name__ == "__main__":
    sys.exit(main())
