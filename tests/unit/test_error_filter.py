"""error_filter.py: which error records are meant."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from soloist.error_filter import EVERYTHING, LATEST, Instant, error_filter, instant
from soloist.errors import UsageError

NOW_US = 1_800_000_000_000_000


@pytest.mark.parametrize(
    ("moment", "understood"),
    [
        ("90s", Instant(90_000_000, ago=True)),
        ("15m", Instant(900_000_000, ago=True)),
        ("1.5h", Instant(5_400_000_000, ago=True)),
        (timedelta(seconds=2), Instant(2_000_000, ago=True)),
        (5, Instant(5_000_000)),
        (5.25, Instant(5_250_000)),
        ("5.25", Instant(5_250_000)),
        (datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC), Instant(5_000_000)),
        ("1970-01-01T00:00:05+00:00", Instant(5_000_000)),
        ("1970-01-01T00:00:05Z", Instant(5_000_000)),
    ],
)
def test_a_moment_is_understood_however_it_is_written(moment: Any, understood: Instant) -> None:
    assert instant(moment, "since") == understood


def test_a_time_without_a_zone_is_local() -> None:
    """As people read it from their clock."""
    naive = datetime(2026, 11, 16, 10, 43)  # noqa: DTZ001 - this is what the test is about

    assert instant("2026-11-16T10:43", "since") == instant(naive, "since") == instant(naive.timestamp(), "since")


@pytest.mark.parametrize(
    "moment",
    ["soon", "", "15 m", "-5m", "nan", -1, math.nan, math.inf, True, [], timedelta(-1), 1_800_000_000_000, LATEST + 1],
)
def test_what_is_no_moment_is_refused_where_it_stands(moment: Any) -> None:
    """Milliseconds, too: whoever took them for seconds would get nothing, or everything."""
    with pytest.raises(UsageError, match=r"--since: that is no time; write how long ago \(90s"):
        error_filter(since=moment, spelling=lambda name: f"--{name}")


def test_how_long_ago_is_counted_from_the_look() -> None:
    assert error_filter(since="1h", until="15m").span(NOW_US) == (NOW_US - 3_600_000_000, NOW_US - 900_000_000)
    assert error_filter(since=5).span(NOW_US) == (5_000_000, None)
    assert error_filter(until="100d").span(5) == (None, 0)


def test_a_time_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(UsageError, match="since is later than until"):
        error_filter(since="15m", until="1h").span(NOW_US)


@pytest.mark.parametrize("name", ["kind", "reason", "type"])
@pytest.mark.parametrize("value", ["", 5, b"mail"])
def test_an_empty_condition_is_none_that_could_be_meant(name: str, value: Any) -> None:
    """An empty variable of a shell must not delete everything."""
    with pytest.raises(UsageError, match=f"{name}: .* is not possible"):
        error_filter(**{name: value})


def test_what_can_be_no_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="'two words' is no kind"):
        error_filter(kind="two words")


def test_all_that_is_asked_for_must_be_true() -> None:
    """The reason in part and in whatever case; kind and type as a whole."""
    only = error_filter(kind="mail", reason="TimeOut", type="OSError")

    assert only.lets_pass("mail", "a timeout after 3 s", "OSError")
    assert not only.lets_pass("mails", "a timeout after 3 s", "OSError")
    assert not only.lets_pass("mail", "refused", "OSError")
    assert not only.lets_pass("mail", "a timeout after 3 s", "OSErrors")


def test_a_filter_that_asks_for_nothing_is_none() -> None:
    assert error_filter() == EVERYTHING
    assert EVERYTHING.lets_all_pass
    assert not error_filter(until="1d").lets_all_pass
