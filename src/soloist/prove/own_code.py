"""Which code is the user's own: that is where a process is killed. What a library does between two of its lines is its own."""

import functools
import inspect
import site
import sysconfig
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import soloist


class OwnCode:
    """All files but those of Python, of installed packages and of soloist.

    Where the function itself lives among installed packages, as in a container: the files beside it and below.

    Attributes:
        file: where the function is written.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._known: dict[str, bool] = {}
        file = file_of(function)
        self.file = str(file or "")
        self._beside: Path | None = None
        if file is not None and _is_library(file):
            self._beside = file if file.parent in _libraries() else file.parent

    def has(self, code: CodeType) -> bool:
        """Whether it is the user's; asked at every call of every function, so each file is looked at once."""
        name = code.co_filename
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._is_own(name)
        return known

    def _is_own(self, name: str) -> bool:
        if name.startswith("<"):  # made at run time: dataclasses, namedtuple, the import machinery
            return False
        path = Path(name).absolute()
        if self._beside is not None and (path == self._beside or self._beside in path.parents):
            return True
        return not _is_library(path)


def file_of(function: Callable[..., Any]) -> Path | None:
    """Where it is written, as far as that can be told."""
    plain = function.func if isinstance(function, functools.partial) else function
    plain = inspect.unwrap(plain)
    code = getattr(plain, "__code__", None) or getattr(type(plain).__call__, "__code__", None)
    return Path(code.co_filename).absolute() if code is not None else None


@functools.cache
def _libraries() -> frozenset[Path]:
    paths = sysconfig.get_paths()
    named = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    named += [*site.getsitepackages(), site.getusersitepackages()]
    return frozenset(Path(each).absolute() for each in named) | {Path(soloist.__file__).parent.absolute()}


def _is_library(path: Path) -> bool:
    return not _libraries().isdisjoint(path.parents)
