"""One instance, from its start to its end: what it tells, the signals, the exit code; and a fresh process if one hangs."""

import logging
import os
import signal
import sys
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from soloist.cli.output import give_stdout_back, note, reader_is_gone, write
from soloist.errors import Stuck, Unavailable
from soloist.target import Target

if TYPE_CHECKING:
    from soloist.app import App
    from soloist.runtime.instance import Instance
    from soloist.runtime.part import Part

INTERRUPTED = 130
LOOK = 0.1
"""Seconds between looks at whether everything is done (--until-empty)."""

SELDOM = 1.0
"""Seconds between looks at whether anybody reads the output."""

ONE_SIGNAL = 0.1
"""Seconds within which a second signal is the same one: `timeout` sends it to the process and to its group."""

LONELY = 2.0
"""Seconds after which a generator without a handler says so."""

log = logging.getLogger("soloist")


@dataclass(frozen=True)
class Wish:
    """How an instance is to be run.

    Attributes:
        force: also on a server that evicts keys.
        until_empty: how many messages there are in all; it ends when they are handled. None: a signal ends it.
        is_replaced: if a handler hangs, this process becomes a fresh one. Else that is told with an error.
        folder: where it was started: the fresh one begins there.
    """

    as_events: bool = False
    force: bool = False
    health_port: tuple[str, int] | None = None
    until_empty: int | None = None
    is_replaced: bool = True
    folder: Path = field(default_factory=Path.cwd)


def run_instance(app: "App", goal: Target, part: "Part", wish: Wish) -> int:
    """Run it until it is to end; answers the exit code."""
    with app.elsewhere(goal):  # also for what its handlers ask of the App: app.publish goes to where they are
        return _run(app, goal, part, wish)


def _run(app: "App", goal: Target, part: "Part", wish: Wish) -> int:
    from soloist.cli.account import told
    from soloist.events import Events
    from soloist.inspector import Inspector
    from soloist.runtime.instance import Instance
    from soloist.runtime.wellness import HealthPort, Systemd, Wellness
    from soloist.store.fitness import check_fit

    check_fit(goal.server, goal.about, force=wish.force, embedded=goal.embedded)
    if not wish.as_events:
        write(f"namespace {goal.namespace} on {goal.where}\n")
    account = told(wish.as_events)
    instance = Instance(app, goal.server, goal.namespace, goal.settings, Events(account), part)
    account.on_closed = instance.ask_to_stop
    received = _listen_for_signals(instance)
    if part.until is not None:
        with closing(Inspector(goal.server, goal.namespace)) as inspector:
            _say_if_published(inspector.snapshot().published, part.until, goal)
    wellness = Wellness(instance)
    port = HealthPort(wellness, *wish.health_port) if wish.health_port else None
    systemd = Systemd(wellness)
    instance.start()
    if port is not None:
        port.start()
    systemd.ready()
    begun = time.monotonic()
    is_replaced = False
    try:
        is_empty = _watch(instance, goal, wish)
        took = time.monotonic() - begun
        is_replaced = instance.stuck is not None and wish.is_replaced and not received
    finally:
        if not is_replaced:  # else systemd would wait for this process to end, and end it in the end
            systemd.stopping()
        instance.stop()
        account.finish()
    failure = instance.failure or account.failure
    if failure is not None:
        raise failure
    if instance.stuck is not None and not received:
        if is_replaced:
            start_anew(instance.stuck, wish.folder)
        raise Stuck(f"{instance.stuck}; its thread cannot be ended, so this process has to be started anew.")
    if is_empty:
        _report(wish.until_empty or 0, took, wish.as_events)
    return INTERRUPTED if signal.SIGINT in received else 0


def start_anew(reason: str, folder: Path) -> NoReturn:
    """Become a fresh process with the same command line: nothing else ends a thread that hangs.

    The number of the process stays, so that whoever watches over it (systemd, a container, --processes) need not know.
    """
    from soloist.cli import logs

    log.error("process.replaced reason=%r; the same command line is started anew", reason)
    logs.finish()
    for output in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError, OSError):  # closed: the fresh one finds that out, too
            output.flush()
    give_stdout_back()
    os.chdir(folder)
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - no shell is wanted


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


def _watch(instance: "Instance", goal: Target, wish: Wish) -> bool:
    """Wait for the end: a signal, a failure, or (--until-empty; True) nothing left to do."""
    from soloist.inspector import Inspector

    inspector = Inspector(goal.server, goal.namespace) if wish.until_empty is not None else None
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
            if seen.published >= (wish.until_empty or 0) and seen.pending + seen.claimed == 0:
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
