"""`bench`: how fast it is here."""

import json
import signal
from typing import TYPE_CHECKING, Any

import click

from soloist.cli.connection import Reach, connects
from soloist.cli.numbers import COUNT
from soloist.cli.output import write
from soloist.cli.report_file import require_writable, save
from soloist.errors import UsageError

if TYPE_CHECKING:
    from soloist.bench.result import Result

NEGATIVE = 1
SCENARIO_NAMES = (
    "million",
    "latency",
    "idle",
    "takeover",
    "backlog",
    "instances",
    "size",
    "durability",
    "window",
)  # as in bench/scenarios, which would cost 150 ms to import for --help; a test compares


EPILOG = """\b
Scenarios:
  million     messages from end to end, beside the floor (default)
  latency     from publish to the handler's start, idle
  idle        commands and processor time of 1, 10, 100 idle instances
  takeover    kill -9 of the generator until another publishes
  backlog     with 0, 1 and 5 million messages pending
  instances   a backlog worked off by 1, 2, 5, 20 handlers
  size        bodies of 10 bytes to 100 KB
  durability  append-only file off, every second, always
  window      batches of 1, 16, 100, auto; what a kill -9 repeats
"""


@click.command("bench", short_help="How fast it is here, beside the floor; did anything get lost?", epilog=EPILOG)
@click.argument("scenarios", type=click.Choice(SCENARIO_NAMES), nargs=-1, metavar="[SCENARIO]...")
@click.option("--messages", metavar="N", type=COUNT, default=1_000_000, show_default=True, help="Of a measured load.")
@click.option("--handlers", metavar="N", type=COUNT, default=2, show_default=True, help="Beside the one generator.")
@click.option(
    "--repeat", metavar="N", type=COUNT, default=1, show_default=True, help="Each load so often; the median is told."
)
@click.option(
    "--persistence",
    type=click.Choice(["no", "everysec", "always"]),
    help="Of the private server: no append-only file, or when it is flushed.  [default: everysec]",
)
@click.option("--no-verdict", is_flag=True, help="Do not write down every message: faster, and nothing is checked.")
@click.option("--no-floor", is_flag=True, help="Do not measure the floor beside it.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option("--report", metavar="FILE", type=click.Path(dir_okay=False), help="A page with charts (HTML).")
@connects
def bench(
    target: Reach,
    scenarios: tuple[str, ...],
    as_json: bool,
    report: str | None,
    no_verdict: bool,
    no_floor: bool,
    persistence: Any,
    **asked: Any,
) -> int:
    """Measure with real processes: one generator and some handlers.

    On a private server in a temporary folder, which is removed afterwards; or on one that an option names, in a fresh
    namespace, which is removed afterwards. Settings count as for `run`.
    """
    from soloist.bench.page import page
    from soloist.bench.progress import bar
    from soloist.bench.scenarios import SCENARIOS
    from soloist.bench.session import Session
    from soloist.bench.table import table

    if persistence is not None and target.is_named:
        raise UsageError("--persistence is that of the private server: a named one has what it has.")
    if report is not None:
        require_writable(report)
    session = Session(
        persistence=persistence or "everysec",
        has_verdict=not no_verdict,
        has_floor=not no_floor,
        settings=target.settings(),
        server=target().server if target.is_named else None,
        progress=bar(),
        **asked,
    )
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # clear up as after Ctrl-C
    results = []
    for name in scenarios or ("million",):
        result = SCENARIOS[name](session)
        write(_as_json(result) if as_json else table(result))
        results.append(result)
        if report is not None:
            save(report, page(results))
    return 0 if all(result.is_sound for result in results) else NEGATIVE


def _as_json(result: "Result") -> str:
    rows = {"rows": list(result.rows)} if len(result.rows) > 1 else {}
    return json.dumps({"scenario": result.scenario, **result.facts, "server": result.about["server"], **rows}) + "\n"
