"""The terminal UI: keys and observations in, lines out. What they mean is in model.py, keys.py and page.py."""

import os
import threading
import time
from contextlib import suppress
from dataclasses import replace

from textual import events
from textual.app import App, ComposeResult
from textual.message import Message
from textual.theme import Theme

from soloist.monitor import keys
from soloist.monitor.children import Children
from soloist.monitor.keys import press
from soloist.monitor.model import Notice, Observation, Processes, State, View, observe
from soloist.monitor.page import page
from soloist.monitor.views import selected
from soloist.monitor.watcher import FEW_ERRORS, MORE_ERRORS, MakeWatcher
from soloist.monitor.widgets import DARK, LIGHT, Canvas, Palette

TICK = 0.25
"""Seconds between looks at the clock and at the processes."""
GRACE = 5.0
"""Seconds for which processes that were asked to stop may finish what they have in hand; nothing is lost after them."""


class Observed(Message):
    """From another thread: something was seen."""

    def __init__(self, observation: Observation) -> None:
        super().__init__()
        self.observation = observation


class ChildrenChanged(Message):
    """From another thread: one of the processes joined, was elected or ended."""


class AskedToQuit(Message):
    """From a signal."""


class MonitorApp(App[int]):
    """The monitor.

    Args:
        state: what is known at the start.
        children: the processes; nothing is started here but on request.
        make_watcher: makes the watcher, given whom to tell.
        instances: how many to start at once.
    """

    ENABLE_COMMAND_PALETTE = False
    TITLE = "soloist monitor"
    CSS = "Screen { overflow: hidden; }"

    def __init__(self, state: State, children: Children, make_watcher: MakeWatcher, instances: int = 0) -> None:
        super().__init__()
        self.state = state
        self._children = children
        self._instances = instances
        self._watcher = make_watcher(lambda observed: _tell(self, Observed(observed)))
        self._children.changed = lambda: _tell(self, ChildrenChanged())
        self._palette: Palette = LIGHT if prefers_light(os.environ.get("COLORFGBG", "")) else DARK
        self._code = 0
        self._give_up = 0.0
        self.canvas = Canvas()

    def compose(self) -> ComposeResult:
        yield self.canvas

    def on_mount(self) -> None:
        for palette, name in ((DARK, "soloist-dark"), (LIGHT, "soloist-light")):
            ground = palette.grounds[next(iter(palette.grounds))]
            self.register_theme(Theme(name, primary="#0b55b8", background=ground, surface=ground, dark=palette.dark))
        self._use(self._palette)
        for _ in range(self._instances):
            self._children.start()
        self._watcher.start()
        self.set_interval(TICK, self._tick)
        self._look_at_children()

    def on_unmount(self) -> None:
        self._watcher.stop()

    # ---- in ------------------------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        event.stop()
        self._press(event.character if event.is_printable and event.character else event.key)

    def action_help_quit(self) -> None:
        """Textual binds it to Ctrl-C."""
        self._press("ctrl+c")

    async def action_quit(self) -> None:
        """Textual binds it to Ctrl-Q."""
        self._press("ctrl+q")

    def ask_to_quit(self) -> None:
        """Quit as if q were pressed. May be called by a signal handler, and while the terminal takes nothing any more."""
        _tell(self, AskedToQuit())
        deadline = threading.Timer(GRACE + 1, self._abandon)
        deadline.daemon = True
        deadline.start()

    def on_asked_to_quit(self) -> None:
        self._press("q")

    def _abandon(self) -> None:
        """The terminal is held or gone: Textual waits for it for ever."""
        self._children.kill_all()
        os._exit(self._code)

    def on_observed(self, message: Observed) -> None:
        self._show(observe(self.state, message.observation))

    def on_children_changed(self) -> None:
        self._look_at_children()
        self._watcher.hurry()

    def on_canvas_clicked(self, message: Canvas.Clicked) -> None:
        shown = self.canvas.page
        if message.y == len(shown.lines) - 1 and message.x in shown.keys:
            self._press(
                {"⏎": "enter", "esc": "escape", "↑↓": "down", "←→": "right"}.get(
                    shown.keys[message.x], shown.keys[message.x]
                )
            )
        elif message.y in shown.rows:
            self._show(replace(self.state, selected=shown.rows[message.y]))

    def on_mouse_scroll_up(self) -> None:
        self._press("up")

    def on_mouse_scroll_down(self) -> None:
        self._press("down")

    def on_resize(self) -> None:
        self._show(self.state)

    # ---- out -----------------------------------------------------------------------------------------------------------

    def _show(self, state: State) -> None:
        self.state = state
        size = self.size
        self.canvas.show(page(state, time.monotonic(), size.width, size.height))

    def _use(self, palette: Palette) -> None:
        self._palette = palette
        self.theme = "soloist-dark" if palette.dark else "soloist-light"
        self.canvas.paint_with(palette)

    def _tick(self) -> None:
        self._look_at_children()
        if self.state.ending:
            self._end()

    def _look_at_children(self) -> None:
        self._show(observe(self.state, Processes(time.monotonic(), self._children.states())))

    def _press(self, key: str) -> None:
        was_ending = self.state.ending
        state, command = press(self.state, key, time.monotonic())
        self._show(state)
        if command is not None:
            self._carry_out(command, again=was_ending)
        browsing = self.state.view in (View.ERRORS, View.RECORD)
        more = MORE_ERRORS * (1 + (selected(self.state) + 10) // MORE_ERRORS)
        self._watcher.want_errors(more if browsing else FEW_ERRORS)

    def _carry_out(self, command: keys.Command, *, again: bool) -> None:
        match command:
            case keys.Start():
                pid = self._children.start()
                self._show(observe(self.state, Notice(time.monotonic(), f"started process {pid}")))
            case keys.Stop(pid):
                self._children.stop(pid)
            case keys.Kill(pid):
                self._children.kill(pid)
            case keys.Freeze(pid):
                self._children.freeze(pid)
            case keys.Thaw(pid):
                self._children.thaw(pid)
            case keys.Requeue(ident):
                self._watcher.requeue(ident)
            case keys.SwitchTheme():
                self._use(LIGHT if self._palette.dark else DARK)
            case keys.Quit(code):
                self._code = code
                self._quit(at_once=again)
        self._look_at_children()
        self._watcher.hurry()

    def _quit(self, *, at_once: bool) -> None:
        if at_once:
            self._children.kill_all()
        else:
            self._give_up = time.monotonic() + GRACE
            self._children.stop_all()
        self._end()

    def _end(self) -> None:
        """Leave when all processes are gone, or were given time enough."""
        if time.monotonic() >= self._give_up:
            self._children.kill_all()
        if self._children.is_over:
            self.exit(self._code)


def _tell(app: MonitorApp, message: Message) -> None:
    with suppress(RuntimeError):  # the app has ended meanwhile
        app.post_message(message)


def prefers_light(colorfgbg: str) -> bool:
    """Whether the terminal says that its ground is light: "0;15". Most say nothing; the key t switches."""
    ground = colorfgbg.rpartition(";")[2]
    return ground.isdigit() and int(ground) in (7, *range(9, 16))
