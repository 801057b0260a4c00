"""`status` for people."""

from dataclasses import replace

from soloist.cli.status_page import page, rates, stacks
from soloist.health import Finding
from soloist.inspector import DoingSnapshot
from soloist.store.history import Sample
from tests.unit.test_health import ONE, TWO, WELL


def sample(second: int, published: int, done: int) -> Sample:
    return Sample(1000 * second, published, done, 0, 0, 0, 0, 0, 2)


def test_the_page_fits_80_columns() -> None:
    """Also with large numbers and long names."""
    busy = replace(TWO, number=1234, host="a-host-with-a-very-long-name", pid=4_194_304, completed=99_999_999)
    text = page(replace(WELL, instances=[ONE, busy]), [sample(1, 0, 0), sample(11, 500_000, 400_000)])

    assert max(len(line) for line in text.splitlines()) <= 80
    assert "50,000 a second published, 40,000 a second handled" in text


def test_who_generates_and_who_is_next_is_seen() -> None:
    lines = page(WELL, []).splitlines()

    assert lines[:2] == ["namespace shop, App orders", "2 instances, #1 has generated for 60.0 s (term 3)"]
    assert [line[:17] for line in lines if line[1:5].strip().isdigit()] == ["    1  generator ", ">   2  handler   "]
    assert "> in line to generate next" in lines


def test_one_that_may_be_frozen_is_marked() -> None:
    text = page(replace(WELL, instances=[ONE, replace(TWO, heard_ms=3_000)]), [])

    assert "3.0 s?" in text


def test_findings_stand_below() -> None:
    assert page(WELL, [], [Finding("errors", "too many", "Look.")]).endswith("errors: too many\n")


def test_control_characters_do_not_reach_the_terminal() -> None:
    """A host name comes from another machine."""
    text = page(replace(WELL, app="a\x1b[2J", instances=[replace(ONE, host="h\x1b]0;x")]), [])

    assert "\x1b" not in text


def test_rates_are_those_of_the_last_ten_seconds() -> None:
    """Requeued messages make the sum smaller for a moment; that is no negative rate."""
    assert rates([]) is None
    assert rates([sample(1, 0, 0)]) is None
    assert rates([sample(1, 0, 0), sample(50, 100, 50), sample(60, 200, 55)]) == (10.0, 0.5)
    assert rates([sample(1, 0, 9), sample(2, 0, 5)]) == (0.0, 0.0)


def test_stacks_tell_what_each_one_does() -> None:
    slow = replace(TWO, doing=DoingSnapshot("7-tag", 12_000, '  File "a.py", line 3, in work\n    wait()\n'))

    lines = stacks(replace(WELL, instances=[ONE, slow])).splitlines()

    assert lines[0] == "#1 (host, process 17) holds nothing"
    assert lines[1] == "#2 (host, process 17) has worked on 7-tag for 12.0 s"
    assert lines[2].strip() == 'File "a.py", line 3, in work'
