"""One instance in the process of the test: started, stopped, or killed as far as anybody else can see."""

import copy
import logging
import threading
from collections.abc import Callable
from contextlib import suppress

from soloist.app import App
from soloist.errors import SoloistError
from soloist.events import Event, Events
from soloist.runtime.instance import Instance
from soloist.runtime.part import Part
from soloist.store.plug import Plug, Unplugged
from soloist.target import Target
from soloist.testing.failures import Watch

log = logging.getLogger("soloist")


class Member:
    """One instance of a system.

    Attributes:
        number: as the account of `soloist run` and `soloist status` call it.
        is_killed: its plug was pulled.
    """

    def __init__(self, app: App, goal: Target, part: Part, watch: Watch, ended: "Callable[[Member], None]") -> None:
        self.plug = Plug(goal.server.url)
        own = copy.copy(app)
        own.arounds = [*watch.arounds(self.plug), *app.arounds]
        self.number = 0
        self.is_killed = False
        self.instance = Instance(own, self.plug, goal.namespace, goal.settings, Events(self._heard), part)
        self._ended = ended
        self._over = threading.Event()
        self._seeing_off = threading.Thread(target=self._see_off, name="member", daemon=True)

    @property
    def id(self) -> str:
        """As it is named in Redis; another one after a rebirth."""
        return self.instance.incarnation.id

    @property
    def is_running(self) -> bool:
        """Neither stopped nor killed, nor has it ended by itself."""
        return not self.is_killed and not self.instance.is_leaving

    @property
    def is_generator(self) -> bool:
        """Whether it plays the term now, as far as it knows."""
        return self.is_running and self.instance.played > 0

    @property
    def failure(self) -> SoloistError | None:
        """Why it ended by itself, if it did."""
        failure = self.instance.failure
        return failure if isinstance(failure, SoloistError) and not self.is_killed else None

    def __repr__(self) -> str:
        state = "killed" if self.is_killed else "running" if self.is_running else "gone"
        role = ", generator" if self.is_generator else ""
        return f"<Member {self.number}, {state}{role}>"

    def start(self) -> None:
        self.instance.start()
        self._seeing_off.start()

    def ask_to_stop(self) -> None:
        self.instance.ask_to_stop()

    def wait(self) -> None:
        """Until it has left, or given up leaving."""
        self._over.wait()

    def kill(self) -> None:
        """Cut it off: nobody hears of it any more, and it knows."""
        self.is_killed = True
        # A beat on its way, carried out when the will is gone already, would say that there never was one: the others would
        # have to wait for the lease.
        self.instance.heart.stop()
        self.plug.pull()
        with suppress(Unplugged):
            self.instance.abandon()

    def end_what_is_left(self) -> None:
        """Of one that was killed: its event loop and its lifespan, as the end of a process would."""
        if self.is_killed:
            self.instance.end_lifespan()

    def _heard(self, event: Event) -> None:
        if event.event == "joined":
            self.number = event.number

    def _see_off(self) -> None:
        self.instance.wait()
        if not self.is_killed:
            try:
                self.instance.stop()
            except Unplugged:
                pass  # it was killed while it was leaving
            except SoloistError as error:
                log.error("instance.failed reason=%r", str(error))  # noqa: TRY400 - a sentence says it all
        self._over.set()
        self._ended(self)
