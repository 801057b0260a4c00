"""`soloist prove` as a real process: verdicts, exit codes, JSON, and sentences about what cannot be."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.processes.one_command import USAGE, Ended, soloist

APP = "examples.prove.shop:app"
WORLD = ("--world", "examples.prove.shop:world", "--reset", "examples.prove.shop:reset")
ORDER = '{"number": 42, "cents": 100}'
SAFE, NOT_SAFE = 0, 1


@pytest.fixture
def prove(tmp_path: Path) -> Any:
    """Runs the command upon a shop of the test's own."""

    def run(*words: str) -> Ended:
        return soloist("prove", *words, environment={"SHOP_FOLDER": str(tmp_path / "shop")}, within=100)

    return run


@pytest.mark.parametrize(
    ("kind", "code", "parts"),
    [
        (
            "naive",
            NOT_SAFE,
            ['`charge(order["cents"])`', ": charges 2, want 1\n", "not safe to repeat: the handler naive"],
        ),
        (
            "half-right",
            NOT_SAFE,
            [": orders 2, want 1\n", "not safe to repeat: the handler half_right (shop.py, line "],
        ),
        ("right", SAFE, ["safe to repeat at every line ("]),
    ],
)
def test_a_handler_has_its_verdict(prove: Any, kind: str, code: int, parts: list[str]) -> None:
    """The double in a naive one, the key in the wrong transaction of a half-right one, nothing in a right one."""
    ended = prove(APP, "--kind", kind, "--message", ORDER, *WORLD)

    assert ended.code == code
    for part in parts:
        assert part in ended.stdout
    assert ended.stderr == ""


def test_a_verdict_can_be_read_by_programs(prove: Any) -> None:
    """Every crash point that was found, with its place."""
    ended = prove(APP, "--kind", "naive", "--message", ORDER, "--json", *WORLD)
    told = json.loads(ended.stdout)

    assert ended.code == NOT_SAFE
    assert told["verdict"] == "not safe"
    assert told["tried"] == told["crash_points"] > len(told["findings"]) > 0
    assert {"file", "line", "when", "text", "differences"} <= set(told["findings"][0])
    assert told["findings"][0]["by_text"] == 'charge(order["cents"])'


def test_what_user_code_prints_does_not_mix_with_the_verdict(prove: Any, tmp_path: Path) -> None:
    """Once, on stderr: that of the first run; that of the hundred others is dropped."""
    ended = prove("tests.prove.talking:app", "--message", "x", "--json")

    assert json.loads(ended.stdout)["verdict"] == "safe"
    assert ended.stderr == "imported\nhandling x\n"


def test_a_source_is_proved_from_a_cursor(prove: Any) -> None:
    """As JSON, as it is stored."""
    ended = prove(APP, "--source", "outbox", "--cursor", "1", "--calls", "2", *WORLD)

    assert ended.code == SAFE
    assert "safe to repeat at every line (" in ended.stdout


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["no.such.module:app", "--message", ""], ["No module named 'no'"]),
        (["examples.prove.shop:shop", "--message", ""], ["has no 'shop'", "Write examples.prove.shop:app"]),
        ([APP, "--kind", "naiv", "--message", ""], ["has no handler for the kind 'naiv'. Did you mean naive?"]),
        ([APP, "--message", ""], ["--kind is missing", "naive, half-right, right"]),
        ([APP, "--kind", "naive"], ["--message is missing"]),
        ([APP, "--kind", "naive", "--message", "a", "--message", "b"], ["takes one message at a time"]),
        ([APP, "--source", "outbox", "--message", "a"], ["--message belongs to a handler"]),
        ([APP, "--kind", "naive", "--message", "a", "--cursor", "1"], ["--cursor belongs to a source"]),
        ([APP, "--source", "outbux"], ["has no source 'outbux'. Did you mean outbox?"]),
        ([APP, "--source", "outbox", "--cursor", "abc"], ["--cursor: 'abc' is not JSON"]),
        ([APP, "--source", "outbox", "--cursor", '"abc"'], ["does not fit the annotation"]),
        ([APP, "--kind", "naive", "--message", "a", "--world", "x:y"], ["--world needs --reset"]),
        ([APP, "--kind", "naive", "--message", "a", "--reset", "x"], ["--reset: 'x' is not MODULE:FUNCTION"]),
        ([APP, "--kind", "naive", "--message", "a", "--reset", "nowhere:x"], ["--reset nowhere:x: No module named"]),
        (
            [APP, "--kind", "naive", "--message", "a", "--reset", "examples.prove.shop:rest"],
            ["has no 'rest'. Did you mean examples.prove.shop:reset?"],
        ),
        (
            [APP, "--kind", "naive", "--message", "a", "--reset", "examples.prove.shop:FOLDER"],
            ["cannot call its 'FOLDER'"],
        ),
        ([APP, "--kind", "naive", "--message", "a", "--addr", "localhost:1"], ["prove needs no server"]),
        (
            ["tests.prove.talking:app", "--message", "x", "--reset", "tests.prove.talking:fails"],
            ["the reset of the world failed: OSError: no"],
        ),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_what_cannot_be_is_refused_in_words(prove: Any, words: list[str], parts: list[str]) -> None:
    """Exit 2 and a sentence, no traceback, no verdict."""
    ended = prove(*words)

    assert ended.code == USAGE, ended
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    for part in parts:
        assert part in ended.stderr, ended
