"""From what the command line came to, to a screen or to lines; and no process is left behind."""

import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from soloist import settings as all_settings
from soloist.monitor.children import Children
from soloist.monitor.model import Observation, Scope, State
from soloist.monitor.watcher import Watcher
from soloist.settings import Settings
from soloist.store.server import Server

DEFECT = 70
"""Exit code when Textual ended by itself: it has printed why."""


@dataclass(frozen=True)
class Goal:
    """What to watch, and what to start.

    Attributes:
        where: the server, as it is told to people.
        embedded: it is the embedded server.
        words: options of `run` for the instances that are started here.
    """

    server: Server
    namespace: str
    where: str
    embedded: bool
    settings: Settings
    instances: int
    words: Sequence[str] = ()


def run(goal: Goal) -> int:
    """Watch until the person at the keyboard has seen enough; answers the exit code."""
    logging.getLogger("soloist").addHandler(logging.NullHandler())  # a line on stderr would tear the screen
    state = State(Scope.of(goal.namespace, goal.where, goal.settings))
    children = Children(words(goal), environment(goal))

    def make_watcher(tell: Callable[[Observation], None]) -> Watcher:
        return Watcher(goal.server, goal.namespace, tell)

    try:
        if not is_screen():
            from soloist.monitor import plain

            return plain.run(state, children, make_watcher, goal.instances)
        from soloist.monitor.app import MonitorApp

        app = MonitorApp(state, children, make_watcher, goal.instances)
        # SIGHUP is left alone: where the terminal is gone there is nothing to restore, and the leash ends the instances.
        signal.signal(signal.SIGTERM, lambda *_: app.ask_to_quit())
        code = app.run()
        return DEFECT if code is None else code
    finally:
        children.close()


def is_screen() -> bool:
    """Whether there is a terminal that can be drawn on, and a keyboard."""
    all_three = (sys.stdin, sys.stdout, sys.stderr)  # Textual draws on stderr
    return all(each is not None and each.isatty() for each in all_three) and os.environ.get("TERM") != "dumb"


def words(goal: Goal) -> list[str]:
    """How an instance is started here, after `python -m soloist`."""
    where = ["--embedded"] if goal.embedded else []
    return ["run", *goal.words, "--events", *where, "--namespace", goal.namespace]


def environment(goal: Goal) -> dict[str, str]:
    """What the instances need to know besides. Not as options: a password would be seen by everybody on the machine.

    Every setting is named, so that what this command was told counts, whatever file and environment say.
    """
    prefix = all_settings.ENVIRONMENT_PREFIX
    told = {f"{prefix}{name.upper()}": str(getattr(goal.settings, name)) for name in all_settings.NAMES}
    return told if goal.embedded else {**told, f"{prefix}URL": goal.server.url}
