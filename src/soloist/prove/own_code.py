"""Which code is the user's own: that is where a process is killed. What a library does between two of its lines is its own."""

import functools
import inspect
import site
import sysconfig
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
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
        self._code = code_of(function)
        self.file = self._code.co_filename if self._code is not None else ""
        file = Path(self.file).absolute() if self.file else None
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

    def caller(self, frame: FrameType) -> FrameType | None:
        """The function itself, if it is what has called this one; else the user's first that has."""
        outermost: FrameType | None = None
        above = frame if frame.f_code is self._code else frame.f_back
        while above is not None:
            if above.f_code is self._code:
                return above if above is not frame else None
            if self.has(above.f_code):
                outermost = above
            above = above.f_back
        return outermost

    def _is_own(self, name: str) -> bool:
        if name.startswith("<"):  # made at run time: dataclasses, namedtuple, the import machinery
            return False
        path = Path(name).absolute()
        if self._beside is not None and (path == self._beside or self._beside in path.parents):
            return True
        return not _is_library(path)


def code_of(function: Callable[..., Any]) -> CodeType | None:
    """What it runs, below decorators, as far as that can be told."""
    plain = inspect.unwrap(function.func if isinstance(function, functools.partial) else function)
    code = getattr(plain, "__code__", None) or getattr(type(plain).__call__, "__code__", None)
    return code if isinstance(code, CodeType) else None


@functools.cache
def _libraries() -> frozenset[Path]:
    paths = sysconfig.get_paths()
    named = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    named += [*site.getsitepackages(), site.getusersitepackages()]
    return frozenset(Path(each).absolute() for each in named) | {Path(soloist.__file__).parent.absolute()}


def _is_library(path: Path) -> bool:
    return not _libraries().isdisjoint(path.parents)
