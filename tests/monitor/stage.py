"""A monitor on a stage: driven by Textual's pilot, with a watcher and processes that only write down what was asked."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from textual.pilot import Pilot

from soloist.monitor.app import MonitorApp
from soloist.monitor.children import Children
from soloist.monitor.model import Child, Observation, Phase, State
from tests.monitor.samples import SCOPE

T = TypeVar("T")


class StagedWatcher:
    """Tells what the test tells it."""

    def __init__(self, tell: Callable[[Observation], None]) -> None:
        self.tell = tell
        self.asked: list[str] = []
        self.wanted_errors = 0

    def start(self) -> None:
        self.asked.append("start")

    def stop(self) -> None:
        self.asked.append("stop")

    def hurry(self) -> None: ...

    def requeue(self, ident: str) -> None:
        self.asked.append(f"requeue {ident}")

    def want_errors(self, most: int) -> None:
        self.wanted_errors = most


class StagedChildren(Children):
    """Processes that are only a list."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.shown: dict[int, Child] = {}
        self.stubborn = False
        """They do not end when they are asked to."""

    def start(self) -> int:
        pid = 1001 + len(self.shown)
        self.shown[pid] = Child(pid, pid - 1000)
        self.done.append("start")
        return pid

    def _set(self, what: str, pid: int, phase: Phase, code: int | None = None) -> None:
        self.done.append(f"{what} {pid}")
        self.shown[pid] = Child(pid, pid - 1000, phase, code)

    def stop(self, pid: int) -> None:
        if self.stubborn:
            self._set("stop", pid, Phase.LEAVING)
        else:
            self._set("stop", pid, Phase.ENDED, 0)

    def kill(self, pid: int) -> None:
        if self.shown[pid].phase is not Phase.ENDED:
            self._set("kill", pid, Phase.ENDED, -9)

    def freeze(self, pid: int) -> None:
        self._set("freeze", pid, Phase.FROZEN)

    def thaw(self, pid: int) -> None:
        self._set("thaw", pid, Phase.RUNNING)

    def states(self) -> tuple[Child, ...]:
        return tuple(self.shown.values())

    def close(self) -> None: ...


class Stage:
    """What a test sees and does."""

    def __init__(self, app: MonitorApp, pilot: Pilot[int], watcher: StagedWatcher, children: StagedChildren) -> None:
        self.app, self.pilot, self.watcher, self.children = app, pilot, watcher, children

    @property
    def screen(self) -> str:
        return screen(self.app)

    async def see(self, *observed: Observation) -> None:
        for each in observed:
            self.watcher.tell(each)
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def until(self, condition: Callable[[], T], what: str = "", within: float = 10) -> T:
        return await until(condition, what, within)


def screen(app: MonitorApp) -> str:
    """What is painted, as text."""
    canvas = app.canvas
    return "\n".join(canvas.render_line(y).text for y in range(canvas.size.height))


async def until(condition: Callable[[], T], what: str = "", within: float = 30) -> T:
    """Ask every 10 ms, while the app goes on."""
    give_up = time.monotonic() + within
    while not (answer := condition()):
        assert time.monotonic() < give_up, f"not within {within:g} s: {what or condition}"
        await asyncio.sleep(0.01)
    return answer


@asynccontextmanager
async def staged(width: int = 80, height: int = 24, instances: int = 0) -> AsyncIterator[Stage]:
    watchers: list[StagedWatcher] = []
    children = StagedChildren()

    def make_watcher(tell: Callable[[Observation], None]) -> StagedWatcher:
        watchers.append(StagedWatcher(tell))
        return watchers[0]

    app = MonitorApp(State(SCOPE), children, make_watcher, instances)
    async with app.run_test(size=(width, height)) as pilot:
        yield Stage(app, pilot, watchers[0], children)
