"""How an App runs in a process of one's own: as its main program (`run`), or beside something else (`start`, `stop`).

`start` joins and comes back; the instance lives on threads of its own, so it does not matter whether the caller is a plain
program, a thread or an event loop. Signals are the host's: only `run`, which is the main program, listens for them.
"""

import logging
import os
import threading
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, Unpack, cast

from soloist.errors import ForeignData, SoloistError, Stuck, UsageError
from soloist.fitting import here
from soloist.settings import Given, from_code

if TYPE_CHECKING:
    from soloist.app import App
    from soloist.app_errors import AppErrors
    from soloist.events import Event
    from soloist.inspector import Snapshot
    from soloist.runtime.instance import Instance
    from soloist.runtime.part import Part
    from soloist.target import Purpose, Said, Target

Role: TypeAlias = Literal["any", "handler"]
TOTALS = ("generated", "handled")
"""Events that are no transitions."""

log = logging.getLogger("soloist")


class Runs:
    """The part of an App that runs it. Arguments count more than environment and file, and these more than the App's own.

    An App is at most one instance at a time in a process.
    """

    where: str

    def __init__(self) -> None:
        super().__init__()
        self._starting = threading.Lock()
        self._hosted: Hosted | None = None
        self._elsewhere: list[Target] = []
        """Where it is for now; the last one counts. A narrowed copy of the App shares it: code names the App itself."""

    def run(
        self,
        url: str | None = None,
        *,
        namespace: str | None = None,
        embedded: bool = False,
        kinds: Collection[str] | None = None,
        role: Role = "any",
        **settings: Unpack[Given],
    ) -> int:
        """Be one instance until a signal ends it, as `soloist run` does; answers the exit code.

            if __name__ == "__main__":
                raise SystemExit(app.run())

        Args:
            url: the server.
            embedded: use the embedded server of this user on this machine.
            kinds: handle only these.
            role: "handler": never generate.
            settings: those of docs/operations.md.
        """
        from soloist.cli.in_script import run

        return run(cast("App", self), _said("run", url, namespace, embedded, settings), kinds, role)

    def start(
        self,
        url: str | None = None,
        *,
        namespace: str | None = None,
        embedded: bool = False,
        kinds: Collection[str] | None = None,
        role: Role = "any",
        **settings: Unpack[Given],
    ) -> None:
        """Join and come back; the instance goes on beside the caller until `stop`. The arguments are those of `run`.

        Raises:
            SoloistError: what `soloist run` would have refused; nothing was started.
        """
        self._start(_said("start", url, namespace, embedded, settings), kinds, role)

    def _start(self, said: "Said", kinds: Collection[str] | None, role: Role) -> None:
        with self._starting:
            if self._hosted is not None and self._hosted.is_ours:
                self._hosted.refuse_another(self.where)
            self._hosted = host(cast("App", self), said, kinds, role)

    def stop(self) -> None:
        """Quiet, finish or give back, leave; comes back when that is done, after `stop_timeout` at the latest.

        Nothing happens if nothing runs.
        """
        with self._starting:
            hosted = self._hosted
        if hosted is not None and hosted.is_ours:
            hosted.stop()

    async def astart(
        self,
        url: str | None = None,
        *,
        namespace: str | None = None,
        embedded: bool = False,
        kinds: Collection[str] | None = None,
        role: Role = "any",
        **settings: Unpack[Given],
    ) -> None:
        """`start` for asyncio: the event loop goes on meanwhile."""
        from asyncio import to_thread

        await to_thread(self._start, _said("astart", url, namespace, embedded, settings), kinds, role)

    async def astop(self) -> None:
        """`stop` for asyncio: the event loop goes on meanwhile."""
        from asyncio import to_thread

        await to_thread(self.stop)

    @asynccontextmanager
    async def running(
        self,
        url: str | None = None,
        *,
        namespace: str | None = None,
        embedded: bool = False,
        kinds: Collection[str] | None = None,
        role: Role = "any",
        **settings: Unpack[Given],
    ) -> AsyncIterator[Self]:
        """`async with app.running():` starts it and stops it again."""
        from asyncio import to_thread

        await to_thread(self._start, _said("running", url, namespace, embedded, settings), kinds, role)
        try:
            yield self
        finally:
            await self.astop()

    @property
    def failure(self) -> SoloistError | None:
        """Why the instance ended by itself; None as long as it runs, and when it was stopped."""
        return self._hosted.failure if self._hosted is not None else None

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the instance has ended, because of `stop` or of a failure; True if it has.

        Args:
            timeout: seconds to wait at most.
        """
        return self._hosted is None or not self._hosted.is_ours or self._hosted.over.wait(timeout)

    def goal(self, call: str, purpose: "Purpose | None" = None) -> "Target":
        """Where this App is: on the server of the instance that runs here, else on the one that code and environment name.

        Args:
            call: for whom, in the sentence that says that no server was named.
        """
        from soloist.target import Purpose, meet, resolve

        if purpose is Purpose.LOOK and not self._elsewhere and self._hosted is not None and self._hosted.is_ours:
            return self._hosted.goal  # whoever looks after the stop wants to see what came of it
        if (present := self.present_goal) is not None:
            return present
        said = _said(call, None, None, False, {})
        return meet(resolve(said, cast("App", self), needs_connection=True), purpose or Purpose.CHANGE)

    @contextmanager
    def elsewhere(self, goal: "Target") -> Iterator[None]:
        """For a while this App is there, whatever code and environment say."""
        self._elsewhere.append(goal)
        try:
            yield
        finally:
            self._elsewhere.remove(goal)

    @property
    def present_goal(self) -> "Target | None":
        """Where the instance is that runs in this process; None if none does."""
        if self._elsewhere:
            return self._elsewhere[-1]
        hosted = self._hosted
        return hosted.goal if hosted is not None and hosted.is_ours and not hosted.over.is_set() else None

    def inspect(self, url: str | None = None, *, namespace: str | None = None, embedded: bool = False) -> "Snapshot":
        """What the whole system looks like at this moment: all instances, all messages, in one atomic read."""
        from soloist.inspector import Inspector
        from soloist.target import Purpose

        goal = self._reach("inspect", Purpose.LOOK, url, namespace, embedded=embedded)
        with closing(Inspector(goal.server, goal.namespace)) as inspector:
            return inspector.snapshot()

    @property
    def errors(self) -> "AppErrors":
        """The error records: iterate over them, count, drain, requeue, delete, filter. Connects when it is asked something."""
        from soloist.app_errors import AppErrors

        return AppErrors(self._reach)

    def _reach(
        self,
        call: str,
        purpose: "Purpose",
        url: str | None = None,
        namespace: str | None = None,
        *,
        embedded: bool = False,
    ) -> "Target":
        """The server of the running instance, unless another is named."""
        from soloist.target import meet, resolve

        if url is None and namespace is None and not embedded:
            return self.goal(call, purpose)
        said = _said(call, url, namespace, embedded, {})
        return meet(resolve(said, cast("App", self), needs_connection=True), purpose)


class Hosted:
    """One instance inside a process that has other things to do, and the thread that sees it off.

    Attributes:
        over: it has left, or given up leaving.
    """

    def __init__(self, instance: "Instance", goal: "Target") -> None:
        self.goal = goal
        self.over = threading.Event()
        self._instance = instance
        self._process = os.getpid()
        self._failure: SoloistError | None = None
        threading.Thread(target=self._see_off, name="hosted", daemon=True).start()

    @property
    def is_ours(self) -> bool:
        """False in a forked child: the instance is its parent's."""
        return self._process == os.getpid()

    @property
    def failure(self) -> SoloistError | None:
        if self._failure is not None:
            return self._failure
        if self._instance.stuck is not None:
            return Stuck(f"{self._instance.stuck}; its thread cannot be ended, so this process has to be started anew.")
        failure = self._instance.failure
        return failure if isinstance(failure, SoloistError) else None

    def refuse_another(self, app: str) -> None:
        if not self.over.is_set():
            raise UsageError(f"{app} runs in this process already: call app.stop() before app.start().")
        if isinstance(self.failure, Stuck):
            raise UsageError(f"{app} cannot be started again in this process: {self.failure}")

    def stop(self) -> None:
        self._instance.ask_to_stop()
        self.over.wait()

    def _see_off(self) -> None:
        from soloist.target import named

        self._instance.wait()
        try:
            self._instance.stop()
        except SoloistError as error:
            self._failure = error
        finally:
            failure = self.failure
            if isinstance(failure, ForeignData):
                self._failure = failure = named(failure, self.goal)
            if failure is not None:
                log.error("instance.failed reason=%r", str(failure))
            self.over.set()


def host(app: "App", said: "Said", kinds: Collection[str] | None, role: Role) -> Hosted:
    """Start an instance in this process."""
    from soloist.events import Events
    from soloist.runtime.instance import Instance
    from soloist.store.fitness import check_fit
    from soloist.target import Purpose, meet, resolve

    part = part_of(role)
    app = narrowed(app, kinds)
    app.check()
    goal = meet(resolve(said, app, needs_connection=True), Purpose.CHANGE)
    check_fit(goal.server, goal.about, embedded=goal.embedded)
    instance = Instance(app, goal.server, goal.namespace, goal.settings, Events(_logged), part)
    instance.start()
    return Hosted(instance, goal)


def narrowed(app: "App", kinds: Collection[str] | None) -> "App":
    """The App with the handlers of these kinds; all of them, if none are named."""
    if kinds is None:
        return app
    wanted = [kind.strip() for kind in kinds.split(",")] if isinstance(kinds, str) else list(kinds)
    return app.only(wanted)


def part_of(role: Any, until: int | None = None) -> "Part":
    """What an instance of this role may do."""
    from soloist.runtime.part import Part

    if role not in ("any", "handler"):
        raise UsageError(f"role={role!r} is not possible; write 'any' or 'handler'.")
    return Part(may_generate=role == "any", until=until)


def _said(call: str, url: str | None, namespace: str | None, embedded: bool, settings: Any) -> "Said":
    """What the arguments of `app.run`, `app.start`, `app.inspect` and `app.errors.at` say."""
    from soloist.target import Said

    where = f"app.{call}() at {here()}"
    if url is not None and embedded:
        raise UsageError(f"{where}: name the server in one way only, url=… or embedded=True.")
    return Said(
        from_code({"url": url, "namespace": namespace, **settings}, where),
        embedded=embedded,
        config=None,
        spelling=lambda name: f"{where}: {name}",
        remedy=_remedy(call),
    )


TAKING_A_SERVER = ("run", "start", "astart", "running", "inspect", "errors.at")


def _remedy(call: str) -> str:
    if call in TAKING_A_SERVER:
        return (
            f"name it with app.{call}(url), App(…, url=…) or SOLOIST_URL "
            f"(or say embedded=True to try it on this machine alone)."
        )
    return (
        "name it with App(…, url=…) or SOLOIST_URL, or run an instance in this process: app.start(url), or "
        "app.start(embedded=True) to try it on this machine alone."
    )


def _logged(event: "Event") -> None:
    """Transitions go to the log; who wants numbers asks the inspector."""
    if event.event not in TOTALS:
        fields = "".join(f" {name}={value!r}" for name, value in event.fields.items())
        log.info("instance.%s number=%d instance=%s%s", event.event, event.number, event.instance, fields)
