"""A beat as an instance of soloist: joins, is elected, takes over, leaves. It has neither sources nor handlers."""

import logging
import threading
import time

from soloist.app import App
from soloist.celery.conf import Configuration
from soloist.durations import duration
from soloist.errors import UnfitServer
from soloist.events import Event, Events
from soloist.runtime.generator import Generator
from soloist.runtime.incarnation import Incarnation
from soloist.runtime.instance import Instance
from soloist.runtime.played_term import PlayedTerm
from soloist.store.fitness import Severity, static_findings
from soloist.store.presence import Heard
from soloist.store.server import Server
from soloist.target import Purpose, Target, meet

log = logging.getLogger("soloist")


class Beats(App):
    """The App of all beats of one Celery app. Its schedules come from there."""

    def check(self) -> None:
        """There is nothing to look at."""


COMPOSING = 30.0
"""Seconds that Celery may take to compose a message: arguments may be functions, and one that hangs must not keep the term."""


class Composing(Generator):
    """Publishes nothing by itself, and so needs no threads: a beat sends from Celery's own loop. What hangs there is told
    like a source in trouble: the part is left to another.

    Attributes:
        since: since when a message is being composed (monotonic); None: none is.
    """

    def __init__(self) -> None:
        self.readers = []
        self.since: float | None = None

    @property
    def is_caught(self) -> bool:
        return self.unfit is not None

    @property
    def unfit(self) -> str | None:
        since = self.since
        lasts = 0.0 if since is None else time.monotonic() - since
        return f"a message has been composed for {duration(lasts * 1000)}" if lasts > COMPOSING else None

    @property
    def threads(self) -> list[threading.Thread]:
        return []

    def start(self) -> None:
        """There is nothing to start."""

    def begin(self, term: PlayedTerm) -> None:
        """Celery's loop sees the term by itself."""

    def heard(self, agenda: int) -> None:
        """It sees this, too."""

    def stop(self, within: float) -> bool:  # noqa: ARG002 - nothing is waited for
        """Celery's loop is over already."""
        return True

    def hang_up(self, within: float = 0.0) -> None:
        """It has no connection."""


class Member(Instance):
    """One beat among the others.

    Attributes:
        stirred: something has happened for which the beat should not go on sleeping: it was elected, it is no longer, or
            the agenda has changed.
        composing: what Celery's loop is at.
        agenda: the version of the agenda that the last beat of the heart was told.
    """

    def __init__(self, server: Server, configuration: Configuration) -> None:
        app, namespace = Beats(configuration.name), configuration.namespace
        super().__init__(app, server, namespace, configuration.settings, Events(_told))
        self.stirred = threading.Event()
        self.composing = Composing()
        self.agenda = 0

    @property
    def term(self) -> PlayedTerm | None:
        """The term that it plays."""
        return self._term

    def _new_generator(self) -> Generator:
        return self.composing

    def heard(self, heard: Heard, incarnation: Incarnation, played: int, sent: float) -> None:
        before = self._term
        super().heard(heard, incarnation, played, sent)
        if self._term is not before or heard.agenda != self.agenda:
            self.agenda = heard.agenda
            self.stirred.set()

    def ask_to_stop(self) -> None:
        super().ask_to_stop()
        self.stirred.set()


def join(server: Server, configuration: Configuration) -> Member:
    """Meet the server and take a place.

    Raises:
        Unavailable: not now; it may be tried again.
        SoloistError: not at all.
    """
    goal = meet(Target(server, configuration.namespace, configuration.settings, embedded=False), Purpose.CHANGE)
    if goal.about.get("redis_mode") == "cluster":
        raise UnfitServer(
            f"{server} is a node of a Cluster, which is not supported: what is decided there could not be written together "
            f"with Celery's queues. Name a single server."
        )
    for finding in static_findings(goal.about):
        if finding.severity is not Severity.OK:
            log.warning("server.%s says=%r remedy=%r", finding.what, finding.says, finding.remedy)
    member = Member(server, configuration)
    member.start()
    return member


def _told(event: Event) -> None:
    if event.event != "generated":
        fields = "".join(f" {name}={value!r}" for name, value in event.fields.items())
        log.info("instance.%s number=%d instance=%s%s", event.event, event.number, event.instance, fields)
