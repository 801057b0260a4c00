"""prove/verdict.py: what was found, in words."""

from dataclasses import replace
from pathlib import Path

import pytest

from soloist.prove.crash_points import END, Place, Point, When
from soloist.prove.verdict import Finding, Verdict, text_of

FILE = "/srv/shop.py"
SAFE = Verdict(
    what="the handler pay (shop.py, line 12)",
    file=FILE,
    end="the message was completed",
    many=12,
    tried=12,
    missed=0,
    seconds=0.21,
    fate="completed",
    has_world=True,
    is_blind=False,
)


def at(line: int, when: When = When.AFTER, *, file: str = FILE, time: int = 0, process: int = 0) -> Point:
    return Point(process, line, Place(file, line, when), time)


def found(point: Point, *differences: str, text: str = "charge(order)") -> Finding:
    return Finding(point, text, differences, "pay(order)" if point.place.by_line else "")


def test_what_is_safe_is_one_line() -> None:
    """With how much was tried, and how long that took."""
    assert str(SAFE) == "safe to repeat at every line (12 crash points, 0.2 s)"
    assert SAFE.is_safe


@pytest.mark.parametrize(
    ("point", "says"),
    [
        (at(17), "killed after line 17 `charge(order)`"),
        (at(17, When.BEFORE), "killed before line 17 `charge(order)`"),
        (at(17, When.WAITS), "killed while line 17 `charge(order)` waited"),
        (at(17, When.YIELDS), "killed when line 17 `charge(order)` had yielded"),
        (at(17, time=2), "killed after line 17 `charge(order)` (2nd time)"),
        (at(17, time=11), "killed after line 17 `charge(order)` (11th time)"),
        (at(17, process=1), "killed in attempt 2, after line 17 `charge(order)`"),
        (at(17, file="/srv/bank.py"), "killed after line 17 of bank.py `charge(order)`"),
        (Point(0, 0, END), "killed after the message was completed"),
        (
            Point(0, 1, Place("/srv/bank.py", 3, When.AFTER, FILE, 17)),
            "killed in line 17 `pay(order)` after line 3 of bank.py `charge(order)`",
        ),
    ],
)
def test_a_finding_says_where_it_was_killed(point: Point, says: str) -> None:
    """The file only if it is another one than that of the function, which the last line names."""
    verdict = replace(SAFE, findings=(found(point, "charges 2, want 1", "orders 2, want 1"),))

    assert str(verdict) == (
        f"{says}: charges 2, want 1; orders 2, want 1\n"
        f"not safe to repeat: the handler pay (shop.py, line 12), 1 of 12 crash points, 0.2 s"
    )


def test_what_follows_a_finding_and_differs_in_the_same_way_is_told_by_its_lines() -> None:
    """The first is where to look."""
    same = [at(17), at(18), at(18), at(20, When.WAITS), at(20), at(3, file="/srv/bank.py"), Point(0, 0, END)]
    same[2:2] = [Point(0, 1, Place("/srv/bank.py", line, When.AFTER, FILE, 19)) for line in (3, 4)]
    verdict = replace(SAFE, findings=(*[found(each, "a") for each in same], found(at(21), "b")))

    assert list(verdict.finding_lines()) == [
        "killed after line 17 `charge(order)`: a",
        "  the same after line 18, in line 19, while waiting in line 20, after line 20, after line 3 of bank.py, after the message was completed",
        "killed after line 21 `charge(order)`: b",
    ]


def test_a_loop_of_findings_is_cut_short() -> None:
    """All of them are in the JSON."""
    verdict = replace(SAFE, findings=tuple(found(at(17, time=n), f"charges {n}") for n in range(1, 31)))
    lines = list(verdict.finding_lines())

    assert len(lines) == 11
    assert lines[-1] == "and at 20 more crash points, which --json names"
    assert len(verdict.as_json()["findings"]) == 30


@pytest.mark.parametrize(
    ("verdict", "says"),
    [
        (replace(SAFE, has_world=False), "as far as Redis goes"),
        (replace(SAFE, is_blind=True), "changes nothing that the world function shows"),
        (replace(SAFE, many=5000, tried=200), "200 of 5,000 crash points were tried"),
        (replace(SAFE, missed=1), "1 crash point not reached again"),
        (replace(SAFE, fate="rejected: no order in it"), "without a crash: rejected: no order in it"),
    ],
)
def test_a_verdict_that_proves_less_says_so(verdict: Verdict, says: str) -> None:
    """Nobody is to take it for more."""
    assert says in str(verdict)
    assert says not in str(SAFE)


def test_the_json_has_all_of_it() -> None:
    """Numbers as numbers, every finding by itself."""
    verdict = replace(SAFE, findings=(found(at(17, time=2, process=1), "charges 2, want 1"),))

    assert verdict.as_json() == {
        "verdict": "not safe",
        "what": "the handler pay (shop.py, line 12)",
        "crash_points": 12,
        "tried": 12,
        "missed": 0,
        "seconds": 0.21,
        "fate": "completed",
        "has_world": True,
        "is_blind": False,
        "findings": [
            {
                "file": FILE,
                "line": 17,
                "when": "after",
                "text": "charge(order)",
                "by_file": "",
                "by_line": 0,
                "by_text": "",
                "attempt": 2,
                "time": 2,
                "differences": ["charges 2, want 1"],
            }
        ],
    }


def test_a_line_is_quoted_as_it_is_written(tmp_path: Path) -> None:
    """Without its indentation; one that goes on below is closed, a long one cut."""
    file = tmp_path / "shop.py"
    file.write_text(f"    charge(\n        1,\n    )\nx = {'1' * 100}\n")

    assert text_of(str(file), 1) == "charge(…)"
    assert len(text_of(str(file), 4)) == 60
    assert text_of(str(file), 99) == ""
