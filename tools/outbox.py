"""Show that the outbox relay loses and doubles nothing: rows by four writers at once, its generator killed again and again.

    python tools/outbox.py [--rows 20000] [--runs 3] [--kills 10] [--server valkey] [--wrong]

Starts a private PostgreSQL, a private server and three instances of examples/outbox for each run, and prints a line each;
the exit code is 1 if anything was lost or doubled. --wrong runs examples/outbox/wrong_cursor.py instead, without kills.
"""

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.examples.deployment import Deployment  # noqa: E402 - the path comes first
from tests.examples.outbox_load import Verdict, relay_under_load  # noqa: E402
from tests.postgres import PrivatePostgres  # noqa: E402
from tests.servers import KINDS, Kind, PrivateServer  # noqa: E402

RELAY, WRONG = "examples.outbox.relay:app", "examples.outbox.wrong_cursor:app"


def one_run(postgres: PrivatePostgres, kind: Kind, rows: int, kills: int, target: str) -> Verdict:
    """One run on a server and a database of its own."""
    with tempfile.TemporaryDirectory() as folder:
        server = PrivateServer(kind, Path(folder))
        server.start()
        database = postgres.database(ROOT / "examples/outbox/schema.sql")
        relay = Deployment(target, server.url, "outbox", Path(folder), {"DATABASE_URL": database})
        try:
            return relay_under_load(relay, database, rows, kills, within=300)
        finally:
            relay.release()
            server.stop()


def main() -> int:
    """Run, print, judge."""
    options = argparse.ArgumentParser(description="0 lost, 0 doubled?")
    options.add_argument("--rows", type=int, default=20_000)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--kills", type=int, default=10, help="of the generator, in each run")
    options.add_argument("--server", choices=KINDS, default=KINDS[0])
    options.add_argument("--wrong", action="store_true", help="the usual cursor, which loses rows")
    given = options.parse_args()
    postgres = PrivatePostgres()
    postgres.start()
    try:
        target, kills = (WRONG, 0) if given.wrong else (RELAY, given.kills)
        verdicts = []
        for number in range(1, given.runs + 1):
            verdict = one_run(postgres, given.server, given.rows, kills, target)
            verdicts.append(verdict)
            print(
                f"run {number} on {given.server}: {verdict.rows:,} rows, {verdict.kills} kills, {verdict.terms} terms, "
                f"{verdict.completed:,} completed; {verdict.lost} lost ({verdict.lost / verdict.rows:.1%}), "
                f"{verdict.doubled} doubled; {verdict.again} given to a handler again; {verdict.seconds:.0f} s",
                flush=True,
            )
    finally:
        postgres.stop()
    return int(any(verdict.lost or verdict.doubled for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
