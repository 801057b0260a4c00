"""The terminal UI, driven by Textual's pilot: what is seen, what keys do, how much is painted."""

import asyncio
import os
import re
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from soloist.monitor import app as app_module
from soloist.monitor.app import prefers_light
from soloist.monitor.lines import Ground, Tone
from soloist.monitor.model import Unanswered
from soloist.monitor.widgets import DARK, LIGHT, Palette
from tests.monitor.samples import crew, entry, instance, record, seen, snapshot
from tests.monitor.stage import Stage, staged

BOTH_SIZES = pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 50)])


def play(
    scene: Callable[[Stage], Coroutine[Any, Any, None]], width: int = 80, height: int = 24, instances: int = 0
) -> None:
    async def run() -> None:
        async with staged(width, height, instances) as stage:
            await scene(stage)

    asyncio.run(run())


def now(shot: Any = None, **values: Any) -> Any:
    return seen(shot, at=time.monotonic(), **values)


@BOTH_SIZES
def test_it_shows_who_is_there_and_follows(width: int, height: int) -> None:
    """Every look at the server is on the screen."""

    async def scene(stage: Stage) -> None:
        assert "asking the server" in stage.screen

        await stage.see(now(crew(3)))
        assert len(re.findall(r"\d +generator ", stage.screen)) == 1
        assert len(re.findall(r"\d +handler ", stage.screen)) == 3

        await stage.see(now(snapshot(instance(2, role="generator"), instance(3))))
        assert "#2 generates" in stage.screen
        assert len(re.findall(r" gone ", stage.screen)) == 2

    play(scene, width, height)


@BOTH_SIZES
def test_a_takeover_is_seen_at_once(width: int, height: int) -> None:
    async def scene(stage: Stage) -> None:
        took = entry("elected", instance="id2", number=2, term=4, takeover_ms=371)
        await stage.see(now(crew(3)), now(crew(3), entries=[took]))
        assert "instance #2 took over after 371 ms" in stage.screen

    play(scene, width, height)


@BOTH_SIZES
def test_every_view_can_be_opened(width: int, height: int) -> None:
    async def scene(stage: Stage) -> None:
        await stage.see(
            now(crew(3), errors=[record(7, body=b"the body")], entries=[entry("joined", number=1, instance="id1")])
        )
        for key, shown in (
            ("e", "message 7-tag"),
            ("enter", "the body"),
            ("escape", "errors"),
            ("e", "role"),
            ("l", "1 entries"),
            ("l", "role"),
            ("?", "One instance generates"),
            ("?", "role"),
        ):
            await stage.press(key)
            assert shown in stage.screen, key

    play(scene, width, height)


def test_it_starts_what_it_was_told_to_and_keys_reach_the_processes() -> None:
    async def scene(stage: Stage) -> None:
        await stage.see(now(crew(3)))
        await stage.press("k", "down", "f")
        assert "frozen?" in stage.screen
        await stage.press("f", "x", "+", "-")
        assert stage.children.done == [
            *["start"] * 4,
            "kill 1001",
            "freeze 1002",
            "thaw 1002",
            "kill 1002",
            "start",
            "stop 1005",
        ]

    play(scene, instances=4)


def test_requeueing_is_asked_of_the_watcher_and_more_records_are_read_while_browsing() -> None:
    async def scene(stage: Stage) -> None:
        await stage.see(now(errors=[record(7)]))
        await stage.press("e")
        assert stage.watcher.wanted_errors == 100
        await stage.press("r", "e")
        assert stage.watcher.wanted_errors == 12
        assert "requeue 7-tag" in stage.watcher.asked

    play(scene)


def test_q_asks_all_to_stop_and_leaves_when_they_are_gone() -> None:
    async def scene(stage: Stage) -> None:
        await stage.press("q")
        await stage.until(lambda: stage.app.return_value == 0, "it ends")
        assert stage.children.done == ["start", "start", "stop 1001", "stop 1002"]

    play(scene, instances=2)


def test_q_again_kills_whoever_does_not_go() -> None:
    async def scene(stage: Stage) -> None:
        stage.children.stubborn = True
        await stage.press("q")
        assert "ending 1 instance …" in stage.screen
        assert "kill 1001" not in stage.children.done
        await stage.press("q")
        assert stage.app.return_value == 0
        assert stage.children.done[-1] == "kill 1001"

    play(scene, instances=1)


def test_nobody_is_waited_for_longer_than_the_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is lost by a kill."""
    monkeypatch.setattr(app_module, "GRACE", 0.3)

    async def scene(stage: Stage) -> None:
        stage.children.stubborn = True
        await stage.press("ctrl+c")
        await stage.until(lambda: stage.app.return_value == 130, "it ends")
        assert stage.children.done[-1] == "kill 1001"

    play(scene, instances=1)


def test_a_signal_quits_and_does_not_wait_for_a_terminal_that_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual would wait for it for ever; so after a while it ends without it, and nobody is left."""
    monkeypatch.setattr(app_module, "GRACE", -0.8)
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    monkeypatch.setattr(app_module.MonitorApp, "on_asked_to_quit", lambda _: None)  # its loop is held

    async def scene(stage: Stage) -> None:
        stage.app.ask_to_quit()
        await stage.until(lambda: codes == [0], "it ends")
        assert stage.children.done[-1] == "kill 1001"

    play(scene, instances=1)


def test_a_server_that_goes_and_comes_back() -> None:
    async def scene(stage: Stage) -> None:
        await stage.see(now(crew(3)), Unanswered(0, 0, "cannot be reached: [bold]refused[/bold]"))
        assert "server away since" in stage.screen
        assert "[bold]refused[/bold]" in stage.screen  # text, never markup
        await stage.see(now(crew(3)))
        assert "server away" not in stage.screen

    play(scene)


def test_only_lines_that_changed_are_painted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow terminal gets no more than there is news."""

    async def scene(stage: Stage) -> None:
        shot = crew(3)
        await stage.see(now(shot))
        await stage.press("t", "t")
        painted: list[int] = []
        canvas = stage.app.canvas
        monkeypatch.setattr(canvas, "refresh", lambda *regions, **_: painted.extend(each.y for each in regions))
        rows = {number: y for y, number in canvas.page.rows.items()}

        await stage.see(now(shot))
        calm = set(painted)
        painted.clear()
        await stage.see(now(snapshot(*shot.instances[:3], instance(4, completed=999))))

        assert not calm & set(rows.values())
        assert rows[4] in painted
        assert rows[2] not in painted

    play(scene)


def test_the_size_of_the_terminal_may_change() -> None:
    async def scene(stage: Stage) -> None:
        await stage.see(now(crew(19)))
        for size in ((200, 50), (30, 8), (80, 24)):
            await stage.pilot.resize_terminal(*size)
            await stage.until(lambda: len(stage.app.canvas.page.lines) == size[1])  # noqa: B023 - it is waited for
            assert {len(each) for each in stage.screen.splitlines()} == {size[0]}

    play(scene)


def test_a_click_selects_a_row_or_presses_a_key() -> None:
    async def scene(stage: Stage) -> None:
        await stage.see(now(crew(3)))
        y = next(y for y, number in stage.app.canvas.page.rows.items() if number == 3)
        await stage.pilot.click(offset=(20, y))
        assert stage.app.state.selected == 3
        await stage.pilot.click(offset=(stage.screen.splitlines()[-1].index("log"), 23))
        assert "entries" in stage.screen

    play(scene)


def test_t_switches_between_dark_and_light() -> None:
    async def scene(stage: Stage) -> None:
        await stage.see(now(crew(3)))
        dark = stage.app.export_screenshot()
        await stage.press("t")
        assert LIGHT.grounds[Ground.PLAIN] in stage.app.export_screenshot()
        assert DARK.grounds[Ground.PLAIN] in dark

    play(scene)


def test_without_colour_it_is_grey_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR: what is selected, who generates and what is doubtful are words and marks, not colours."""
    monkeypatch.setenv("NO_COLOR", "1")

    async def scene(stage: Stage) -> None:
        await stage.see(now(snapshot(instance(1, role="generator"), instance(2, heard_ms=9000))))
        for word in ("▸", "generator", "frozen?", "alive"):
            assert word in stage.screen
        painted = set(re.findall(r"#[0-9a-f]{6}", stage.app.export_screenshot()))
        ours = {colour.split()[-1] for palette in (DARK, LIGHT) for colour in palette.tones.values()}
        assert not {each for each in ours & painted if len({each[1:3], each[3:5], each[5:7]}) > 1}

    play(scene)


def test_the_terminal_may_say_that_it_is_light() -> None:
    assert prefers_light("0;15")
    assert prefers_light("0;default;7")
    assert not prefers_light("15;0")
    assert not prefers_light("")
    assert not prefers_light("15;default")


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.03928 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=["dark", "light"])
def test_everything_can_be_read(palette: Palette) -> None:
    """Contrast of text 4.5 or more (WCAG AA), of bars 3, on every ground."""
    bars = {Tone.PUBLISHED, Tone.HANDLED, Tone.WAITING}
    for ground, back in palette.grounds.items():
        for tone, front in palette.tones.items():
            colour = palette.overrides.get(ground, front).split()[-1]
            if tone in bars and ground is not Ground.PLAIN:
                continue
            low, high = sorted((luminance(colour), luminance(back)))
            assert (high + 0.05) / (low + 0.05) >= (3 if tone in bars else 4.5), (tone, ground)
