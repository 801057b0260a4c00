"""cli/main.py and errors.py: which exit code an end is."""

import inspect
import re
import signal
from collections.abc import Callable
from typing import Any

import click
import pytest

from soloist import errors
from soloist.cli import main as entry
from soloist.cli.main import cli
from soloist.errors import Defect, OutputError, Reject, SoloistError, Unavailable, UnfitServer, UsageError

Ends = Callable[[Any], int]


@pytest.fixture(autouse=True)
def _ctrl_c_stays_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry point ignores Ctrl-C at its end; this process goes on."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Ends:
    """The exit code when a command ends so: by an exception or with a value."""

    def end(how: Any) -> int:
        def callback() -> Any:
            if isinstance(how, BaseException):
                raise how
            return how

        monkeypatch.setitem(cli.commands, "probe", click.Command("probe", callback=callback))
        with pytest.raises(SystemExit) as ended:
            entry.main(["probe"])
        assert isinstance(ended.value.code, int)
        return ended.value.code

    return end


@pytest.mark.parametrize(
    ("how", "code"),
    [
        (None, 0),
        (0, 0),
        (1, 1),
        (130, 130),
        (BrokenPipeError(), 0),
        (UsageError("wrong"), 2),
        (click.UsageError("wrong"), 2),
        (click.BadParameter("wrong"), 2),
        (Unavailable("away"), 3),
        (UnfitServer("old"), 3),
        (OutputError("full"), 4),
        (Defect("ours"), 70),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
    ],
    ids=repr,
)
def test_each_end_has_its_code(how: Any, code: int, ends: Ends) -> None:
    """0 done, 1 negative, 2 usage, 3 server, 4 output, 70 defect, 130 Ctrl-C."""
    assert ends(how) == code


@pytest.mark.parametrize("surprise", [RuntimeError("surprise"), KeyError("surprise"), AssertionError()], ids=repr)
def test_what_nobody_foresaw_is_a_defect_of_ours(surprise: Exception, ends: Ends) -> None:
    """Not 1, which is the answer of a check; and it leaves by the one way out."""
    assert ends(surprise) == 70


def test_an_error_is_said_in_one_sentence(ends: Ends, capsys: pytest.CaptureFixture[str]) -> None:
    """To stderr, without a traceback."""
    ends(UsageError("--lease: write 0.2 to 3600."))

    assert capsys.readouterr() == ("", "soloist: --lease: write 0.2 to 3600.\n")


def test_an_unknown_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """And is named."""
    with pytest.raises(SystemExit) as ended:
        entry.main(["frobnicate"])

    assert ended.value.code == 2
    assert "frobnicate" in capsys.readouterr().err


def test_the_tree_of_errors_is_drawn_as_it_is() -> None:
    """Each class at the top of errors.py, under its parent, with its exit code; and no class is missing there."""
    drawn: dict[str, tuple[str, int]] = {}
    parents = [SoloistError.__name__]
    for found in re.finditer(r"^((?:│   |    )*)[├└]── (\w+) +(\d+) ", errors.__doc__ or "", re.MULTILINE):
        depth = len(found[1]) // 4 + 1
        parents[depth:] = [found[2]]
        drawn[found[2]] = (parents[depth - 1], int(found[3]))

    real = {
        name: (kind.__bases__[0].__name__, kind.exit_code)
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, SoloistError) and kind is not SoloistError and kind.__bases__[0] is not None
    }
    assert drawn == real


def test_a_rejected_message_is_no_error_of_soloist() -> None:
    """A handler raises it; nothing that catches our errors may swallow it."""
    assert not issubclass(Reject, SoloistError)
