"""The one widget: a screen full of lines. Only those that changed are painted again."""

from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from soloist.monitor.lines import BLANK, Ground, Line, Tone
from soloist.monitor.page import Page

CACHED = 500
"""Painted lines that are kept."""


@dataclass(frozen=True)
class Palette:
    """Colours for tones and grounds. Each pair that meets has a contrast of 4.5 or more, bars of 3."""

    dark: bool
    tones: dict[Tone, str]
    grounds: dict[Ground, str]
    overrides: dict[Ground, str]
    """Grounds on which all text has one colour."""


DARK = Palette(
    dark=True,
    tones={
        Tone.PLAIN: "#d5dae3",
        Tone.STRONG: "bold #f4f6fa",
        Tone.DIM: "#a0a8b6",
        Tone.GENERATOR: "bold #7fb4ff",
        Tone.HANDLER: "#8fd6a4",
        Tone.GOOD: "#8fd6a4",
        Tone.DOUBT: "#e8bd6d",
        Tone.BAD: "#ff8a8f",
        Tone.KEY: "bold #7fb4ff",
        Tone.PUBLISHED: "#4d7fbf",
        Tone.HANDLED: "#559a6e",
        Tone.WAITING: "#b38d4a",
    },
    grounds={
        Ground.PLAIN: "#14161a",
        Ground.BAR: "#21252c",
        Ground.SELECTED: "#323842",
        Ground.NEWS: "#7fb4ff",
        Ground.NOTICE: "#3d434f",
        Ground.ALARM: "#b3363f",
    },
    overrides={Ground.NEWS: "bold #0b1220", Ground.NOTICE: "#f4f6fa", Ground.ALARM: "bold #ffffff"},
)

LIGHT = Palette(
    dark=False,
    tones={
        Tone.PLAIN: "#1f2630",
        Tone.STRONG: "bold #0a0e14",
        Tone.DIM: "#555e6e",
        Tone.GENERATOR: "bold #0b55b8",
        Tone.HANDLER: "#17693a",
        Tone.GOOD: "#17693a",
        Tone.DOUBT: "#875300",
        Tone.BAD: "#b3202c",
        Tone.KEY: "bold #0b55b8",
        Tone.PUBLISHED: "#5b8fd6",
        Tone.HANDLED: "#55a074",
        Tone.WAITING: "#b07c22",
    },
    grounds={
        Ground.PLAIN: "#fcfcfb",
        Ground.BAR: "#eaecef",
        Ground.SELECTED: "#d6e4f8",
        Ground.NEWS: "#0b55b8",
        Ground.NOTICE: "#d3d9e3",
        Ground.ALARM: "#b3202c",
    },
    overrides={Ground.NEWS: "bold #ffffff", Ground.NOTICE: "#0a0e14", Ground.ALARM: "bold #ffffff"},
)


class Canvas(Widget, can_focus=True):
    """Shows a page."""

    DEFAULT_CSS = "Canvas { width: 100%; height: 100%; }"

    class Clicked(Message):
        """Somebody clicked on a line or a column of the last one."""

        def __init__(self, x: int, y: int) -> None:
            super().__init__()
            self.x, self.y = x, y

    def __init__(self) -> None:
        super().__init__()
        self._page = Page([])
        self._palette = DARK
        self._styles: dict[tuple[Tone, Ground], Style] = {}
        self._painted: dict[Line, Strip] = {}

    @property
    def page(self) -> Page:
        return self._page

    def paint_with(self, palette: Palette) -> None:
        """Other colours."""
        self._palette = palette
        self._styles.clear()
        self._painted.clear()
        self.refresh()

    def show(self, page: Page) -> None:
        """Show this from now on."""
        before, self._page = self._page, page
        if len(before.lines) != len(page.lines):
            self.refresh()
            return
        changed = [
            Region(0, y, self.size.width, 1)
            for y, (old, new) in enumerate(zip(before.lines, page.lines, strict=True))
            if old != new
        ]
        if changed:
            self.refresh(*changed)

    def render_line(self, y: int) -> Strip:
        """One line of the screen; Textual asks for those that were named to `refresh`."""
        line = self._page.lines[y] if y < len(self._page.lines) else BLANK
        painted = self._painted.get(line)
        if painted is None:
            if len(self._painted) >= CACHED:
                self._painted.clear()
            painted = self._painted[line] = self._paint(line)
        if painted.cell_length == self.size.width:
            return painted
        return painted.adjust_cell_length(self.size.width, self._style(Tone.PLAIN, line.ground))

    def _paint(self, line: Line) -> Strip:
        """As few changes of colour as there can be: a blank has none of its own. It halves what a slow terminal gets."""
        segments: list[Segment] = []
        for span in line.spans:
            style = self._style(span.tone, line.ground)
            if segments and (segments[-1].style is style or span.text.isspace()):
                segments[-1] = Segment(segments[-1].text + span.text, segments[-1].style)
            elif span.text:
                segments.append(Segment(span.text, style))
        return Strip(segments, line.width)

    def _style(self, tone: Tone, ground: Ground) -> Style:
        style = self._styles.get((tone, ground))
        if style is None:
            colours = self._palette
            front = colours.overrides.get(ground) or colours.tones[tone]
            style = self._styles[tone, ground] = Style.parse(f"{front} on {colours.grounds[ground]}")
        return style

    def on_click(self, event: events.Click) -> None:
        self.post_message(self.Clicked(event.x, event.y))
