"""prove/crash_points.py and own_code.py: which moments there are, and which of them are tried."""

import json
import sysconfig
from pathlib import Path

import pytest

from soloist import demo
from soloist.prove.crash_points import Place, Point, When, chosen, numbered
from soloist.prove.own_code import OwnCode

FILE = "shop.py"


def place(line: int) -> Place:
    return Place(FILE, line, When.AFTER)


def test_a_place_that_comes_once_has_no_number() -> None:
    """One that comes again is told by how often it had come."""
    points = numbered([place(1), place(2), place(1)])

    assert [(point.number, point.place.line, point.time) for point in points] == [(1, 1, 1), (2, 2, 0), (3, 1, 2)]


def test_all_are_chosen_if_they_are_not_too_many() -> None:
    """In their order."""
    points = numbered([place(1), place(2), place(1)])

    assert chosen(points, 3) == points


@pytest.mark.parametrize(
    ("most", "numbers"),
    [
        (3, [1, 2, 102]),  # the first time of each
        (4, [1, 2, 101, 102]),  # then the last
        (5, [1, 2, 3, 101, 102]),  # then the second
        (6, [1, 2, 3, 4, 101, 102]),
    ],
)
def test_every_line_is_tried_before_any_is_tried_often(most: int, numbers: list[int]) -> None:
    """A long loop does not hide the line behind it."""
    points = numbered([place(1), *[place(2)] * 100, place(3)])

    assert [point.number for point in chosen(points, most)] == numbers


def test_attempts_are_chosen_from_each_by_itself() -> None:
    """The same line in another process is another place."""
    points = [*numbered([place(1)] * 3, 0), *numbered([place(1)] * 3, 1)]

    assert [(point.process, point.number) for point in chosen(points, 2)] == [(0, 1), (1, 1)]


def test_only_the_users_files_count() -> None:
    """Not Python's, not installed ones, not ours."""
    own = OwnCode(place)

    assert own.has(place.__code__)
    assert not own.has(json.dumps.__code__)
    assert not own.has(pytest.raises.__code__)
    assert not own.has(Point.__new__.__code__)  # made at run time
    assert not own.has(chosen.__code__)


def test_an_app_that_is_installed_is_the_users_too() -> None:
    """In a container everything is: then what lies beside the function counts."""
    own = OwnCode(demo.build)

    assert own.has(demo.build.__code__)
    assert not own.has(json.dumps.__code__)


def test_a_single_module_among_installed_ones_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies beside it belongs to others."""
    installed = Path(sysconfig.get_paths()["purelib"])
    function = compile("def work(): pass", str(installed / "shop.py"), "exec")
    names: dict[str, object] = {}
    exec(function, names)  # noqa: S102 - a function that says that it is written there
    work = names["work"]
    assert callable(work)

    own = OwnCode(work)

    assert own.has(work.__code__)  # type: ignore[attr-defined]  # it is a function
    assert not own.has(pytest.raises.__code__)
