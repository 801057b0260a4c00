"""`monitor`: all instances, live, in the terminal."""

import importlib.util
from collections.abc import Callable

import click

from soloist.cli.connection import connects
from soloist.cli.numbers import SECONDS, SHARE, Number
from soloist.cli.own_app import own_app
from soloist.errors import UsageError
from soloist.target import Purpose, Target

INSTANCES = 4
"""Started by default, on the embedded server."""
MOST = 100


@click.command("monitor", short_help="Start instances and watch all of them, live.")
@click.argument("module_app", metavar="[MODULE:APP]", required=False)
@click.option(
    "--instances",
    metavar="N",
    type=Number(int, 0, MOST, f"a whole number, 0 to {MOST}"),
    help=f"How many to start.  [default: {INSTANCES} on the embedded server, else none]",
)
@click.option(
    "--interval",
    metavar="SECONDS",
    type=SECONDS,
    help="Between messages of the default application, started here.  [default: 0.5]",
)
@click.option(
    "--error-rate",
    metavar="P",
    type=SHARE,
    help="Share of messages that those started here find erroneous.  [default: 0.05]",
)
@connects
def monitor(
    target: Callable[..., Target],
    module_app: str | None,
    instances: int | None,
    interval: float | None,
    error_rate: float | None,
) -> int:
    """Start instances and watch all of the namespace, also those started elsewhere.

    q quits and ends every process that was started here, k kills the generator, ? explains the rest.
    Without a terminal: a line per event, until Ctrl-C.
    """
    if importlib.util.find_spec("textual") is None:
        raise UsageError("the monitor needs Textual: pip install 'soloist[tui]'")
    from soloist.monitor.session import Goal, run

    app = own_app(module_app, {"interval": interval, "error_rate": error_rate}) if module_app else None
    goal = target(app, needs_connection=module_app is not None, purpose=Purpose.LOOK)
    count = instances if instances is not None else INSTANCES if goal.embedded else 0
    options = (("--interval", interval), ("--error-rate", error_rate))
    words = [word for option, value in options if value is not None for word in (option, f"{value:g}")]
    return run(
        Goal(
            server=goal.server,
            namespace=goal.namespace,
            where=goal.where,
            embedded=goal.embedded,
            settings=goal.settings,
            instances=count,
            words=[module_app] if module_app else words,
        )
    )
