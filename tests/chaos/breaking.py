"""`soloist chaos` as a real process, with the sources as they are or broken on purpose."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.kill_points import SOURCES
from tests.servers import Kind, require


def chaos(
    kind: Kind, folder: Path, *words: str | float, sources: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run it to its end, on a private server of this kind.

    Args:
        sources: of soloist; None: those of this checkout.
    """
    environment = {**os.environ, "SOLOIST_SERVER": str(require(kind))}
    if sources is not None:
        environment["PYTHONPATH"] = str(sources)
    command = [sys.executable, "-P", "-m", "soloist", "chaos", "--no-bounds", *map(str, words)]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)


def verdict_of(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    """What `--json` told."""
    assert done.returncode in (0, 1), done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def broken(folder: Path, *replaced: tuple[str, str, str]) -> Path:
    """A copy of the sources in which something is replaced: file, old text, new text. Each must stand in its file once."""
    copy = folder / "broken"
    shutil.copytree(SOURCES, copy / "soloist", ignore=shutil.ignore_patterns("__pycache__"))
    for file, old, new in replaced:
        path = copy / "soloist" / file
        text = path.read_text()
        assert text.count(old) == 1, f"{file} has no single {old!r}"
        path.write_text(text.replace(old, new))
    return copy
