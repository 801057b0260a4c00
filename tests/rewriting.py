"""soloist with other sources: run as a program (PROGRAM), it loads each module as this file rewrites it.

There is a call at each kill point (tests/kill_points.py), and what the environment variable REWRITTEN says is replaced:
a list of [file, old text, new text] in JSON. So a test can show that it would notice a broken runtime.
"""

import builtins
import json
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

from tests.kill_points import MARK, SOURCES, reached

PROGRAM = (sys.executable, "-m", "tests.rewriting")


def environment(*replaced: tuple[str, str, str]) -> dict[str, str]:
    """The variable that has these replaced. Each must stand in its file once."""
    for file, old, _ in replaced:
        assert (SOURCES / file).read_text().count(old) == 1, f"{file} has no single {old!r}"
    return {"REWRITTEN": json.dumps(replaced)}


def rewrite(path: Path) -> str:
    """A module as it is to be loaded."""
    text = path.read_text()
    replaced: Sequence[tuple[str, str, str]] = json.loads(os.environ.get("REWRITTEN", "[]"))
    for file, old, new in replaced:
        if path == SOURCES / file:
            text = text.replace(old, new)
    return MARK.sub(r'\1__reached__(f"\2")', text)


class Loader(SourceFileLoader):
    """Loads a module as it is rewritten, never from a cache."""

    def get_code(self, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        return compile(rewrite(Path(path)), path, "exec", dont_inherit=True)


class Finder(MetaPathFinder):
    """Finds our own modules only."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname.startswith("soloist.") else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = Loader(fullname, spec.loader.path)
        return spec


def install() -> None:
    """From now on it is loaded as it is rewritten."""
    vars(builtins)["__reached__"] = reached
    sys.meta_path.insert(0, Finder())
    for name in [name for name in sys.modules if name.partition(".")[0] == "soloist"]:
        del sys.modules[name]  # imported above, as it is


def main() -> None:
    """Run soloist."""
    install()
    from soloist.cli.main import main as soloist_main

    soloist_main()


if __name__ == "__main__":
    main()
