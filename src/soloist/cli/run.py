"""`run`, and no command: one instance, or several that are kept running (`--processes`)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from soloist.cli.connection import connects
from soloist.cli.numbers import ADDRESS, COUNT, SECONDS, SHARE, Number
from soloist.cli.one_instance import Wish, run_instance
from soloist.cli.output import keep_stdout
from soloist.cli.own_app import own_app
from soloist.errors import UsageError
from soloist.running import narrowed, part_of
from soloist.target import Target

if TYPE_CHECKING:
    from soloist.app import App

EPILOG = """\b
Examples:
  soloist run shop:app --embedded            `app` in shop.py; try it here
  soloist run shop:app --addr redis.example:6379 --processes 4
  soloist run shop:app --addr redis.example:6379 --kinds mail --role handler
"""

MOST = 256
"""Processes that one command starts at most."""


@click.command("run", short_help="Run one instance (also without a command).", epilog=EPILOG)
@click.argument("module_app", metavar="[MODULE:APP]", required=False)
@click.option(
    "--interval",
    metavar="SECONDS",
    type=SECONDS,
    help="Between messages of the default application. 0: as fast as it goes.  [default: 0.5]",
)
@click.option(
    "--error-rate",
    metavar="P",
    type=SHARE,
    help="Share of messages that the default application finds erroneous.  [default: 0.05]",
)
@click.option("--count", metavar="N", type=COUNT, help="Generate until the namespace has published N in all.")
@click.option(
    "--until-empty", is_flag=True, help="With --count: exit when N are published and none is pending or claimed."
)
@click.option(
    "--processes",
    metavar="N",
    type=Number(int, 1, MOST, f"a whole number, 1 to {MOST}"),
    default=1,
    show_default=True,
    help="Run so many instances, each in a process of its own; one that dies is started again.",
)
@click.option("--kinds", metavar="A,B", help="Handle only messages of these kinds.  [default: all that have a handler]")
@click.option(
    "--role", type=click.Choice(["any", "handler"]), default="any", show_default=True, help="handler: never generates."
)
@click.option(
    "--events",
    "as_events",
    is_flag=True,
    help="One JSON object per line on stdout; everything else to stderr, what your code prints, too.",
)
@click.option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True
)
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--force", is_flag=True, help="Use a server that throws keys away when its memory is full; messages may be lost."
)
@click.option(
    "--health-port",
    metavar="[HOST:]PORT",
    type=ADDRESS,
    help="Answer GET /livez and /readyz of this process there; the host is 127.0.0.1 unless named.",
)
@connects
def run(
    target: Callable[..., Target],
    module_app: str | None,
    as_events: bool,
    log_level: str,
    log_format: str,
    processes: int,
    kinds: str | None,
    role: str,
    force: bool,
    health_port: tuple[str, int] | None,
    **demo: Any,
) -> int:
    """Run one instance: of the default application, or of your own App.

    Start it as often as you like, on as many machines as you like: one generates, all others handle.
    """
    from soloist.cli import logs

    if demo["until_empty"] and demo["count"] is None:
        raise UsageError("--until-empty needs --count: otherwise there is no end to wait for.")
    logs.set_up(log_level, log_format)
    if processes > 1:
        return _run_many(processes, as_events, ends=demo["until_empty"], health_port=health_port)
    if as_events:
        keep_stdout()  # before anything of the user's runs: a module may print when it is imported
    app = own_app(module_app, demo) if module_app else _default_app(demo)
    app = narrowed(app, kinds)
    app.check()
    goal = target(app, needs_connection=module_app is not None)
    wish = Wish(as_events, force, health_port, demo["count"] if demo["until_empty"] else None)
    return run_instance(app, goal, part_of(role, demo["count"]), wish)


def _run_many(processes: int, as_events: bool, *, ends: bool, health_port: tuple[str, int] | None) -> int:
    from soloist.cli.processes import Processes, words_of_one

    if health_port is not None:
        raise UsageError(
            "--health-port answers for one process, and --processes starts several, which cannot share it: "
            "leave one of both out."
        )
    words = words_of_one(click.get_current_context().obj)
    return Processes(words, processes, as_events=as_events, ends=ends).run()


def _default_app(demo: dict[str, Any]) -> "App":
    from soloist import demo as default

    interval, rate = demo["interval"], demo["error_rate"]
    return default.build(
        default.INTERVAL if interval is None else interval, default.ERROR_RATE if rate is None else rate
    )
