"""examples/prove and docs/prove.md: every command as a real process, with the output that the page shows."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import ROOT, Document
from tests.processes.one_command import Ended, soloist

PAGE = Document("docs/prove.md")
BLOCK = re.compile(r"^<!-- (run|excerpt): (\S+) -->\n```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
BLOCKS = BLOCK.findall(PAGE.text)
SHOWN = [re.sub(r" *\\\n\s*", " ", block).split("\n", 1) for block in PAGE.blocks("console")]
"""Each command of the page and what it prints."""


def prove(folder: Path, *words: str) -> Ended:
    return soloist("prove", *words, environment={"SHOP_FOLDER": str(folder / "shop")}, within=100)


def without_figures(text: str) -> str:
    """How many crash points there are depends on the version of Python, how long it takes on the machine."""
    return re.sub(r"(\d+ of )?\d+ crash points, [\d.]+ s", "N crash points", text)


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command.split()[5] for command, _ in SHOWN])
def test_the_page_shows_what_a_command_prints(tmp_path: Path, command: str, output: str) -> None:
    """Word for word, and the exit code that goes with it."""
    words = shlex.split(command)
    assert words[:3] == ["$", "soloist", "prove"]

    ended = prove(tmp_path, *words[3:])

    assert without_figures(ended.stdout) == without_figures(output)
    assert ended.stderr == ""
    assert ended.code == (0 if output.startswith("safe") else 1)


def test_the_page_shows_both_verdicts_of_handlers_and_sources() -> None:
    """The tests above have something to compare."""
    verdicts = {(("--source" in command), output.startswith("safe")) for command, output in SHOWN}

    assert verdicts == {(False, False), (False, True), (True, False), (True, True)}


@pytest.mark.parametrize("block", [block for what, _, block in BLOCKS if what == "excerpt"])
def test_an_excerpt_is_still_in_the_example(block: str) -> None:
    """Word for word."""
    assert block in (ROOT / "examples/prove/shop.py").read_text()


def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    """As they stand there, with the conftest.py that stands there."""
    (tests,) = [block for what, _, block in BLOCKS if what == "run"]
    (conftest,) = [block for block in PAGE.blocks("python") if block.startswith("# conftest.py")]
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "test_shop.py").write_text(tests)

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:valkey", "--rootdir", tmp_path, tmp_path],
        cwd=ROOT,
        env={**os.environ, "SHOP_FOLDER": str(tmp_path / "shop"), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "2 passed" in done.stdout, done.stdout
