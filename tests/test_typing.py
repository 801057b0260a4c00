"""The public API under `mypy --strict`, as users check their own code."""

import os
import subprocess
import sys
from pathlib import Path

import soloist
from tests.documents import ROOT

WHOLE_API = ROOT / "tests" / "typing" / "whole_api.py"


def test_an_app_that_uses_the_whole_api_is_typed(tmp_path: Path) -> None:
    """With no configuration of ours, from a folder of the user's: the types come with the package."""
    own = tmp_path / "shop.py"
    own.write_text(WHOLE_API.read_text())
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MYPY")}

    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), own.name],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        timeout=110,
        check=False,
    )

    assert checked.stdout == "Success: no issues found in 1 source file\n", checked.stdout + checked.stderr


def test_everything_that_is_public_is_used_there() -> None:
    """Else it would not be the whole."""
    text = WHOLE_API.read_text()

    assert [name for name in soloist.__all__ if name not in text] == []
