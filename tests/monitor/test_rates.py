"""Rates and backlog: from the history at first, then from what is seen."""

from dataclasses import replace

import pytest

from soloist.monitor.charts import bars, charts, count, drawn, rate
from soloist.monitor.rates import LONGEST_GAP, MOST, Point, Rates, after
from tests.monitor.samples import history, snapshot


def watched(seconds: float, per_second: int, every: float = 0.2, rates: Rates | None = None) -> Rates:
    """Look at a steady stream for so long."""
    known = rates or Rates()
    for look in range(round(seconds / every) + 1):
        done = round(look * every * per_second)
        known = after(known, 100 + look * every, snapshot(published=done + 5, completed=done, pending=5))
    return known


def test_the_past_is_there_at_once() -> None:
    """The history was written by the generators, whether anybody watched or not."""
    known = after(Rates(), 100, snapshot(published=118), history(60, per_second=2, pending=3))

    assert known.points == (Point(2, 2, 3),) * 59


def test_without_a_history_it_is_what_was_seen() -> None:
    """One point a second, however often somebody looks."""
    known = watched(10, per_second=100)

    assert len(known.points) == pytest.approx(10, abs=1)
    assert {round(point.published) for point in known.points} == {100}
    assert {point.pending for point in known.points} == {5}


def test_what_is_seen_goes_on_where_the_history_ends() -> None:
    known = after(Rates(), 100, snapshot(published=118, completed=118), history(60))
    known = after(known, 101, snapshot(published=125, completed=119, pending=6))

    assert known.points[-2:] == (Point(2, 2, 0), Point(7, 1, 6))


def test_in_a_gap_nobody_generated() -> None:
    """What was published came before it; the backlog is what it was until somebody looked again. A long one is cut."""
    first, last = history(2, per_second=10)
    later = replace(last, at_ms=first.at_ms + 10_000, pending=4)
    known = after(Rates(), 100, snapshot(published=10), [first, later])
    assert [point.published for point in known.points] == [10] + [0] * 9
    assert [point.pending for point in known.points] == [0] * 9 + [4]

    next_day = replace(last, at_ms=first.at_ms + 86_400_000)
    assert len(after(Rates(), 100, snapshot(published=10), [first, next_day]).points) == LONGEST_GAP + 2


def test_the_number_is_an_average_of_the_last_seconds() -> None:
    known = watched(20, per_second=1000)

    assert known.published == pytest.approx(1000, rel=0.01)
    assert known.handled == pytest.approx(1000, rel=0.01)
    assert len(known.counts) <= 27


def test_a_namespace_that_was_removed_begins_anew() -> None:
    """And no rate is ever negative: a message that is requeued is taken back from those handled."""
    known = after(watched(5, per_second=100), 106, snapshot(published=1))
    assert known.published == 0

    requeued = after(after(Rates(), 1, snapshot(published=9, failed=5)), 2.5, snapshot(published=9, pending=5))
    assert requeued.handled == 0
    assert requeued.points[-1].handled == 0


def test_the_past_is_bounded() -> None:
    assert len(after(Rates(), 100, snapshot(published=9999), history(2000)).points) == MOST


def test_bars_fill_their_height() -> None:
    """The highest is full, nothing is nothing, and a little can be seen."""
    assert bars([0, 1, 4, 8], 4, 1) == [" ▁▄█"]
    assert bars([0, 0.001, 8], 3, 1) == [" ▁█"]
    assert bars([8, 16], 2, 2) == [" █", "██"]
    assert bars([], 3, 1) == ["   "]
    assert bars([0, 0], 3, 1) == ["   "]
    assert bars([1, 2, 3, 4], 2, 1) == ["▆█"]


def test_a_chart_says_its_value_and_its_highest() -> None:
    known = Rates(points=(Point(1, 0, 7), Point(1234, 0, 20_000)))

    lines = drawn(charts(known, 12)[0], known.points, 24, 2)
    assert lines[0].text == "published/s 0.0   ↑1,234"
    assert [each.text for each in lines[1:]] == [" " * 23 + "█", " " * 22 + "▁█"]
    assert drawn(charts(known, 12)[2], known.points, 24, 1)[0].text == "backlog 12        ↑20.0k"


def test_numbers_are_short() -> None:
    assert [rate(each) for each in (0, 2, 12.46, 999.6, 12_345, 1_234_567)] == [
        "0.0",
        "2.0",
        "12.5",
        "1,000",
        "12.3k",
        "1.2M",
    ]
    assert [count(each) for each in (0, 12, 1003, 999_990)] == ["0", "12", "1,003", "1.0M"]
