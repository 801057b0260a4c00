"""The monitor as a person sees it: in a real terminal, with real processes, key by key."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from tests.embedded.conftest import is_gone
from tests.processes.crew import ROOT
from tests.waiting import wait_until

T = TypeVar("T")

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux here: install tmux")


def stat_of(pid: int) -> list[str]:
    """State, parent, and more."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


class Terminal:
    """A private tmux server with one pane."""

    def __init__(self, name: str, command: str, width: int, height: int) -> None:
        self._tmux = ["tmux", "-L", name, "-f", os.devnull]
        size = ["-x", str(width), "-y", str(height)]
        # What is said after the end stays on the screen.
        shell = f"cd {ROOT}; {command}; echo exit code $?; exec cat"
        self._run("new-session", "-d", *size, shell)

    def _run(self, *words: str) -> str:
        return subprocess.run([*self._tmux, *words], capture_output=True, text=True, check=True, timeout=20).stdout

    @property
    def screen(self) -> str:
        return self._run("capture-pane", "-p")

    def press(self, *keys: str) -> None:
        self._run("send-keys", *keys)

    def until(self, seen: Callable[[str], T], what: str, within: float = 30) -> T:
        """Wait until the screen is so."""
        last = ""

        def look() -> T:
            nonlocal last
            last = self.screen
            return seen(last)

        try:
            return wait_until(look, within=within, what=what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{last}") from None

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False, timeout=20)


@pytest.fixture
def terminal(home: Path) -> Iterator[Terminal]:
    made = Terminal(
        f"soloist-{os.getpid()}", f"{sys.executable} -m soloist monitor --interval 0.05 --error-rate 0.3", 80, 24
    )
    yield made
    made.close()


Row = tuple[int, str, int, str]


def rows(screen: str) -> list[Row]:
    """Number, role, process and state of each."""
    found = []
    for each in screen.splitlines():
        words = each[2:].split()
        if re.match(r"[▸ ][• ] +[\d–]+ ", each) and words[-1] in ("alive", "frozen?", "gone", "starting", "leaving"):
            number = int(words[0]) if words[0].isdigit() else 0
            role = words[1] if words[1] in ("generator", "handler") else ""
            pid = next(int(word) for word in words[1:] if word.isdigit())
            found.append((number, role, pid, words[-1]))
    return found


def alive(screen: str) -> list[Row]:
    return [each for each in rows(screen) if each[3] == "alive"]


def test_from_start_to_quit(terminal: Terminal) -> None:
    """One generator and three handlers; k, f, f, x, +, e, q; no process is left."""
    terminal.until(
        lambda screen: sorted(each[1] for each in alive(screen)) == ["generator", *["handler"] * 3],
        "one generates, three handle",
    )
    everybody = {each[2] for each in rows(terminal.screen)}
    first = next(each[0] for each in alive(terminal.screen) if each[1] == "generator")
    # A successor must have watched for a second before it may judge by the last will.
    terminal.until(
        lambda screen: re.search(r"term 1 since .* \(([2-9]|\d\d) s\)", screen), "they have watched for a while"
    )

    terminal.press("k")
    took = terminal.until(
        lambda screen: re.findall(r"^ instance #(\d+) took over after ([\d,]+) ms", screen, re.MULTILINE),
        "another takes over",
    )[0]
    assert int(took[0]) != first
    assert 0 < int(took[1].replace(",", "")) < 5000
    terminal.until(lambda screen: f"#{took[0]} generates" in screen, "it generates")
    terminal.until(lambda screen: (first, "gone") in [(each[0], each[3]) for each in rows(screen)], "the first is gone")

    terminal.press("End")
    last = terminal.until(
        lambda screen: [each for each in rows(screen)[-1:] if f"▸• {each[0]:>2} " in screen], "the last is selected"
    )[0]
    terminal.press("f")
    terminal.until(lambda screen: (last[0], "frozen?") in [(each[0], each[3]) for each in rows(screen)], "it is frozen")
    # On a busy machine it may not have been heard for a moment before, which looks the same.
    wait_until(lambda: stat_of(last[2])[0] == "T", what="it is frozen indeed")
    terminal.press("f")
    terminal.until(lambda screen: last[0] in [each[0] for each in alive(screen)], "it is thawed")
    terminal.press("x")
    terminal.until(lambda screen: (last[0], "gone") in [(each[0], each[3]) for each in rows(screen)], "it is killed")
    wait_until(lambda: is_gone(last[2]), what="its process is gone")
    terminal.press("+")
    terminal.until(lambda screen: 5 in [each[0] for each in alive(screen)], "a fifth is there")
    everybody |= {each[2] for each in rows(terminal.screen)}

    terminal.press("e")
    terminal.until(
        lambda screen: re.search(r"── errors [\d,]+ ─", screen) and "reason      found erroneous" in screen,
        "the errors",
    )
    terminal.press("e")
    terminal.until(lambda screen: "q quit k kill generator" in screen, "back again")
    terminal.press("q")
    terminal.until(lambda screen: "exit code 0" in screen, "it has ended")

    assert len(everybody) == 5
    assert all(map(is_gone, everybody))
    assert "Traceback" not in terminal.screen


def test_a_terminal_that_is_closed_takes_all_with_it(home: Path) -> None:
    """The window is closed while it runs."""
    made = Terminal(f"soloist-{os.getpid()}-b", f"{sys.executable} -m soloist monitor --instances 2", 200, 50)
    try:
        pids = [
            each[2]
            for each in made.until(lambda screen: alive(screen) if len(alive(screen)) == 2 else None, "two are there")
            or []
        ]
    finally:
        made.close()

    assert len(pids) == 2
    wait_until(lambda: all(map(is_gone, pids)), what="both are gone")


def test_sigterm_quits_in_order(home: Path) -> None:
    """As if q were pressed: the instances leave, the terminal is given back."""
    made = Terminal(f"soloist-{os.getpid()}-c", f"{sys.executable} -m soloist monitor --instances 2", 80, 24)
    try:
        found = made.until(lambda screen: alive(screen)[1:] and alive(screen), "two are there")
        monitor = int(stat_of(found[0][2])[1])
        os.kill(monitor, signal.SIGTERM)
        made.until(lambda screen: "exit code 0" in screen, "it has ended")
    finally:
        made.close()

    assert all(is_gone(each[2]) for each in found)


def test_a_terminal_that_takes_nothing_any_more_holds_nobody(home: Path) -> None:
    """It is frozen (Ctrl-S), and the monitor is asked to end: it ends, if not in order then without it."""
    made = Terminal(f"soloist-{os.getpid()}-d", f"{sys.executable} -m soloist monitor --instances 2", 80, 24)
    try:
        found = made.until(lambda screen: alive(screen)[1:] and alive(screen), "two are there")
        monitor = int(stat_of(found[0][2])[1])
        server = int(made._run("display-message", "-p", "#{pid}"))
        os.kill(server, signal.SIGSTOP)
        try:
            os.kill(monitor, signal.SIGTERM)
            wait_until(lambda: is_gone(monitor), what="the monitor has ended")
            assert all(is_gone(each[2]) for each in found)
        finally:
            os.kill(server, signal.SIGCONT)
    finally:
        made.close()
