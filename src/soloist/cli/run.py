"""`run`, and no command: one instance."""

import os
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from soloist.cli.connection import Target, connects
from soloist.cli.numbers import ADDRESS, COUNT, SECONDS, SHARE
from soloist.cli.output import note, reader_is_gone, write
from soloist.cli.own_app import own_app
from soloist.errors import UsageError

if TYPE_CHECKING:
    from soloist.app import App
    from soloist.runtime.instance import Instance

INTERRUPTED = 130
LOOK = 0.1
"""Seconds between looks at whether everything is done (--until-empty)."""

SELDOM = 1.0
"""Seconds between looks at whether anybody reads the output."""

ONE_SIGNAL = 0.1
"""Seconds within which a second signal is the same one: `timeout` sends it to the process and to its group."""

LONELY = 2.0
"""Seconds after which a generator without a handler says so."""


@click.command("run", short_help="Run one instance (also without a command).")
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
    "--role", type=click.Choice(["any", "handler"]), default="any", show_default=True, help="handler: never generates."
)
@click.option(
    "--events", "as_events", is_flag=True, help="One JSON object per line on stdout; everything else to stderr."
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
    role: str,
    force: bool,
    health_port: tuple[str, int] | None,
    **demo: Any,
) -> int:
    """Run one instance: of the default application, or of your own App.

    Start it as often as you like, on as many machines as you like: one generates, all others handle.
    """
    from soloist.cli import logs
    from soloist.cli.account import told
    from soloist.events import Events
    from soloist.inspector import Inspector
    from soloist.runtime.instance import Instance, Part
    from soloist.runtime.wellness import HealthPort, Systemd, Wellness
    from soloist.store.fitness import check_fit

    if demo["until_empty"] and demo["count"] is None:
        raise UsageError("--until-empty needs --count: otherwise there is no end to wait for.")
    logs.set_up(log_level, log_format)
    app = own_app(module_app, demo) if module_app else _default_app(demo)
    goal = target(app.name, needs_connection=module_app is not None)
    check_fit(goal.server, goal.about, force=force, embedded=goal.embedded)
    if not as_events:
        write(f"namespace {goal.namespace} on {goal.where}\n")
    account = told(as_events)
    part = Part(may_generate=role == "any", until=demo["count"])
    instance = Instance(app, goal.server, goal.namespace, goal.settings, Events(account), part)
    account.on_closed = instance.ask_to_stop
    received = _listen_for_signals(instance)
    if demo["count"] is not None:
        _say_if_published(Inspector(goal.server, goal.namespace).snapshot().published, demo["count"], goal)
    wellness = Wellness(instance)
    port = HealthPort(wellness, *health_port) if health_port else None
    systemd = Systemd(wellness)
    instance.start()
    if port is not None:
        port.start()
    systemd.ready()
    begun = time.monotonic()
    try:
        is_empty = _watch(instance, goal, demo)
        took = time.monotonic() - begun
    finally:
        systemd.stopping()
        instance.stop()
        account.finish()
    failure = instance.failure or account.failure
    if failure is not None:
        raise failure
    if is_empty:
        _report(demo["count"], took, as_events)
    return INTERRUPTED if signal.SIGINT in received else 0


def _default_app(demo: dict[str, Any]) -> "App":
    from soloist import demo as default

    interval, rate = demo["interval"], demo["error_rate"]
    return default.build(
        default.INTERVAL if interval is None else interval, default.ERROR_RATE if rate is None else rate
    )


def _listen_for_signals(instance: "Instance") -> list[int]:
    """The first signal: quiet, finish or give back, leave. The second: go at once; nothing is lost then either."""
    received: list[int] = []
    first_at = 0.0

    def on_signal(number: int, _frame: FrameType | None) -> None:
        nonlocal first_at
        if not received:
            received.append(number)
            first_at = time.monotonic()
            instance.ask_to_stop()
        elif time.monotonic() - first_at > ONE_SIGNAL:
            os._exit(INTERRUPTED if number == signal.SIGINT else 0)

    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)
    return received


def _watch(instance: "Instance", goal: Target, demo: dict[str, Any]) -> bool:
    """Wait for the end: a signal, a failure, or (--until-empty; True) nothing left to do."""
    from soloist.errors import Unavailable
    from soloist.inspector import Inspector

    inspector = Inspector(goal.server, goal.namespace) if demo["until_empty"] else None
    lonely_since = time.monotonic()
    while not instance.wait(LOOK if inspector or lonely_since else SELDOM):
        if reader_is_gone():
            return False
        if lonely_since and not _is_lonely(instance):
            lonely_since = 0.0 if instance.instances else lonely_since
        elif lonely_since and time.monotonic() - lonely_since > LONELY:
            note("No handler is there yet: start the same command once more, here or on another machine.")
            lonely_since = 0.0
        if inspector is not None:
            try:
                seen = inspector.snapshot()
            except Unavailable:
                continue
            if seen.published >= demo["count"] and seen.pending + seen.claimed == 0:
                return True
    return False


def _say_if_published(published: int, count: int, goal: Target) -> None:
    if published >= count:
        note(
            f"namespace {goal.namespace} has published {published:,} already, so no more come: --count is what it "
            f"publishes in all. Name another --namespace, or remove this one with `soloist purge`."
        )


def _is_lonely(instance: "Instance") -> bool:
    return instance.played > 0 and instance.instances == 1 and not instance.app.generator_handles


def _report(messages: int, seconds: float, as_events: bool) -> None:
    text = (
        f"all {messages:,} messages of the namespace are handled, {seconds:.2f} s after this instance joined: "
        f"{messages / seconds:,.0f} a second"
    )
    if as_events:
        note(text)
    else:
        write(f"{text}\n")
