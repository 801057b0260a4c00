"""The real runtime, made to run in virtual time: other names for `threading` and `time` in its modules, and nothing else.

Also its code with a call at each kill point, and with single statements replaced, if a test breaks it on purpose.
"""

import contextlib
import inspect
import logging
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import soloist.cli.get_errors
import soloist.runtime.drainer
import soloist.runtime.instance
from soloist.runtime import claims, crew, heartbeat, incarnation
from tests.kill_points import MARK, SOURCES
from tests.simulation.simulated import Machine, SimpleQueue, Threading, Time, stage

REAL_TIME = {"soloist.store.forks"}
"""Its one lock guards against forks, of which there are none here, and is made when it is imported."""

Replacement = tuple[str, str, str]
"""A file below src/soloist, a text that stands in it once, and another in its place."""


@contextlib.contextmanager
def virtual_runtime(replaced: Sequence[Replacement] = ()) -> Iterator[None]:
    """Within it every instance and drainer runs on the stage.

    Args:
        replaced: how the code is broken on purpose.
    """
    with contextlib.ExitStack() as undo:
        for module in _modules():
            _rewrite(undo, module, replaced)
            _give(undo, module, "__reached__", stage.reached)
            for name, real, ours in (("threading", threading, Threading), ("time", time, Time)):
                if vars(module).get(name) is real:
                    _give(undo, module, name, ours)
        _give(undo, crew, "SimpleQueue", SimpleQueue)
        _give(undo, incarnation, "new_id", stage.new_id)
        _give(undo, incarnation, "os", Machine)
        _give(undo, incarnation, "socket", Machine)
        _give(undo, heartbeat, "new_tag", stage.new_tag)
        _give(undo, claims, "new_tag", stage.new_tag)
        _give(undo, soloist.cli.get_errors, "write_lines", stage.write_lines)
        _give(undo, soloist.cli.get_errors, "note", lambda _: None)
        _give(undo, logging.getLogger("soloist"), "disabled", True)
        yield


def _modules() -> list[ModuleType]:
    found = sorted(name for name in sys.modules if name.startswith("soloist."))
    return [sys.modules[name] for name in found if name not in REAL_TIME]


def _give(undo: contextlib.ExitStack, owner: Any, name: str, value: Any) -> None:
    missing = object()
    before = vars(owner).get(name, missing)
    setattr(owner, name, value)
    undo.callback(delattr, owner, name) if before is missing else undo.callback(setattr, owner, name, before)


def _rewrite(undo: contextlib.ExitStack, module: ModuleType, replaced: Sequence[Replacement]) -> None:
    """Give its functions the code of its source as it is to be. They stay the same functions: others hold on to them."""
    path = Path(module.__file__ or "")
    changes = [(old, new) for file, old, new in replaced if SOURCES / file == path]
    if not path.is_relative_to(SOURCES) or path.suffix != ".py":
        return
    text = path.read_text()
    if not changes and not MARK.search(text):
        return
    for old, new in changes:
        assert text.count(old) == 1, f"{path.name} has no single {old!r}"
        text = text.replace(old, new)
    codes = dict(_codes(compile(MARK.sub(r'\1__reached__(f"\2")', text), str(path), "exec", dont_inherit=True)))
    for function in _functions(module):
        code = codes[function.__qualname__]
        undo.callback(setattr, function, "__code__", function.__code__)
        function.__code__ = code


def _codes(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant.co_qualname, constant
            if "<locals>" not in constant.co_qualname:
                yield from _codes(constant)


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    owners = [
        module,
        *(each for each in vars(module).values() if inspect.isclass(each) and each.__module__ == module.__name__),
    ]
    for owner in owners:
        for value in vars(owner).values():
            for each in (value, getattr(value, "__func__", None), getattr(value, "fget", None)):
                if (
                    isinstance(each, FunctionType)
                    and each.__module__ == module.__name__
                    and each.__code__.co_filename == module.__file__
                ):
                    yield each
