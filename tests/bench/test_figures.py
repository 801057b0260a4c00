"""The pure parts of `soloist bench`: the ledger, medians, tables, charts, the page."""

from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from soloist.bench import ledger
from soloist.bench.charts import Bars, chart
from soloist.bench.page import page
from soloist.bench.result import Column, Result, are_sound, middle, percentile
from soloist.bench.table import table
from soloist.lab.progress import Bar, line
from soloist.message import Message


def handled(folder: Path, name: str, numbers: Sequence[int], messages: int) -> None:
    """What one process has written down."""
    counts = bytearray(messages + 1)
    for number in numbers:
        counts[number] += 1
    (folder / f"handled-{name}").write_bytes(bytes(counts))


def result(**changes: Any) -> Result:
    given: dict[str, Any] = {
        "scenario": "size",
        "title": "Sizes <of> messages",
        "method": "As ever.",
        "columns": (Column("bytes", "bytes"), Column("rate", "messages a second"), Column("ratio", "ratio", ".2f")),
        "rows": [{"bytes": 10, "rate": 123456, "ratio": 1.234}, {"bytes": 100, "rate": 999, "ratio": None}],
        "charts": ("rate",),
        "about": {"server": "valkey 1 & 2", "taken": "today"},
        "facts": {"rate": 5, "retaken": 3},
    }
    return Result(**(given | changes))


# The ledger.


def test_a_ledger_in_which_each_was_handled_once_is_clean(tmp_path: Path) -> None:
    """Also when several processes shared the work."""
    handled(tmp_path, "1", [1, 3], 4)
    handled(tmp_path, "2", [2, 4], 4)

    assert ledger.read(tmp_path, 4) == (0, 0)


def test_what_nobody_handled_is_lost_and_what_two_handled_is_doubled(tmp_path: Path) -> None:
    """Each time too often counts."""
    handled(tmp_path, "1", [1, 3, 3], 4)
    handled(tmp_path, "2", [3, 4, 4], 4)

    assert ledger.read(tmp_path, 4) == (1, 3)


def test_without_any_ledger_all_are_lost(tmp_path: Path) -> None:
    """Nobody wrote anything down."""
    assert ledger.read(tmp_path, 7) == (7, 0)


def test_what_is_marked_is_in_the_file_at_once(tmp_path: Path) -> None:
    """Whatever becomes of the process."""
    mark = ledger.marker(tmp_path, 3)
    for number in (1, 3, 3):
        mark(Message(b"%d-tag default 1 5 0 0 body" % number))

    assert ledger.read(tmp_path, 3) == (1, 1)


@pytest.mark.parametrize(
    ("seen", "recorded", "expected"),
    [
        (ledger.Handled(0, 0), 10, (0, 0)),
        (ledger.Handled(1, 2), 10, (1, 2)),
        (ledger.Handled(0, 0), 13, (0, 3)),
        (ledger.Handled(0, 2), 12, (0, 2)),
        (None, 10, (None, None)),
        (None, 13, (None, 3)),
    ],
)
def test_what_is_recorded_too_often_is_doubled_too(
    seen: ledger.Handled | None, recorded: int, expected: tuple[int | None, int | None]
) -> None:
    """Of ten messages. What was handled twice and recorded twice is one fault; without a ledger a surplus still tells."""
    assert ledger.verdict(seen, recorded, 10) == expected


def test_the_cost_of_marking_is_measured() -> None:
    """A figure, not a promise."""
    assert 0 < ledger.cost_us() < 1000


# Medians.


def test_the_middle_of_several_runs_is_the_median_of_each_figure() -> None:
    """Words stay; what must not be at all is added up, since one is too many."""
    runs = [
        {"what": "x", "rate": 30, "seconds": 1.5, "lost": 0, "floor": None},
        {"what": "x", "rate": 10, "seconds": 2.5, "lost": 1, "floor": None},
        {"what": "x", "rate": 20, "seconds": 0.5, "lost": 1, "floor": None},
    ]

    assert middle(runs) == {"what": "x", "rate": 20, "seconds": 1.5, "lost": 2, "floor": None}


def test_a_fault_of_any_run_is_in_the_middle_of_them() -> None:
    """Also when the first one has no books."""
    assert middle([{"duplicated": None}, {"duplicated": 3}, {"duplicated": None}]) == {"duplicated": 3}


@pytest.mark.parametrize(
    ("row", "sound"), [({"lost": 0, "duplicated": None}, True), ({"lost": 1}, False), ({"duplicated": 2}, False)]
)
def test_rows_are_sound_when_nothing_was_lost_or_doubled(row: dict[str, Any], sound: bool) -> None:
    """None: nobody kept books."""
    assert are_sound([{"lost": 0, "duplicated": 0}, row]) is sound


def test_a_percentile_is_one_of_the_samples() -> None:
    """The largest, at 1."""
    assert [percentile([3, 1, 2], share) for share in (0, 0.5, 1.0)] == [1, 2, 3]


# What people read.


def test_a_table_has_a_line_per_row_under_its_titles() -> None:
    """Figures to the right, as they are written; a missing one is a dash; what rows do not tell stands below."""
    lines = table(result()).splitlines()

    assert lines[0] == "Sizes <of> messages"
    assert lines[2:5] == [
        "bytes  messages a second  ratio",
        "10               123,456   1.23",
        "100                  999      –",
    ]
    assert "retaken: 3" in lines
    assert not any(each.startswith("rate:") for each in lines)


def test_a_wide_table_is_turned() -> None:
    """It fits into 80 columns."""
    columns = [Column(f"c{at}", f"a rather long title {at}") for at in range(6)]
    text = table(result(columns=columns, rows=[{f"c{at}": at for at in range(6)}], charts=()))

    assert "a rather long title 0  0" in text


def test_a_table_says_when_messages_were_lost() -> None:
    """In words."""
    assert "lost or handled twice" in table(result(is_sound=False))
    assert "lost or handled twice" not in table(result())


def test_a_bar_of_progress_tells_rate_and_time_left() -> None:
    """Half of it in two seconds: two are left."""
    text = line("handled", 500, 1000, 2.0)

    assert "500/1,000" in text
    assert "250/s" in text
    assert "2.0 s left" in text
    assert text.count("█") == text.count("░") == 15


def test_a_bar_counts_from_the_first_that_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    """What was before, was getting ready."""
    progress = Bar()
    progress.begin("handled", 1000)
    progress._begun -= 1000  # it took long to get there
    progress.at(1)
    progress._shown = 0
    progress.at(500)
    shown = capsys.readouterr().err.split("\r\x1b[K")[-1]
    progress.end()

    assert int(shown.split("/s")[0].split()[-1].replace(",", "")) > 500


def test_before_anything_is_done_there_is_no_rate() -> None:
    """Nothing is divided by nothing."""
    assert line("floor", 0, 10, 0.0).endswith("0/10")


class Tags(HTMLParser):
    """Which tags are opened and not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in {"meta", "rect"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.open and tag == self.open[-1]:
            self.open.pop()


def test_a_page_is_whole_and_fetches_nothing() -> None:
    """Every tag is closed; no script, no address but that of SVG; text is escaped."""
    text = page([result(), result(scenario="window", is_sound=False)])
    tags = Tags(text)

    assert tags.open == []
    assert tags.seen.count("svg") == 2
    assert "script" not in tags.seen
    assert text.count("http") == text.count("http://www.w3.org/2000/svg") == 2
    assert "Sizes &lt;of&gt; messages" in text
    assert "valkey 1 &amp; 2" in text
    assert text.count("Messages were lost or handled twice.") == 1


def test_bars_are_as_long_as_their_figures() -> None:
    """The largest fills the room; half of it is half as long; figures of one unit have one scale."""
    drawn = chart(["a", "b"], [Bars("rate", [100, 50], ["100", "50"]), Bars("floor", [None, 25], ["–", "25"])])
    widths = [float(each.split('width="')[1].split('"')[0]) for each in drawn.split("<rect ")[1:5]]

    assert widths[0] == 2 * widths[2] == 4 * widths[3]
    assert widths[1] == 1.0
