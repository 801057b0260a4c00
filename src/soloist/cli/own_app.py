"""An App of the user's own, found by MODULE:APP; and functions that belong to it, found by MODULE:FUNCTION."""

import difflib
import importlib
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from soloist.errors import SoloistError, UsageError

if TYPE_CHECKING:
    from soloist.app import App


def own_app(where: str, demo: dict[str, Any]) -> "App":
    """Import it. Options of the default application are refused beside it."""
    from soloist.app import App

    given = [name for name, value in demo.items() if value is not None and value is not False]
    if given:
        raise UsageError(f"--{given[0].replace('_', '-')} belongs to the default application, not to your own App.")
    module_name, _, attribute = where.partition(":")
    if not module_name:
        raise UsageError(f"{where!r} is not MODULE:APP (for example shop.orders:app).")
    if module_name.endswith(".py") or "/" in module_name:
        meant = module_name.removesuffix(".py").strip("./").replace("/", ".")
        raise UsageError(f"{where!r} names a file: write its module, {meant}:{attribute or 'app'}.")
    try:
        module = _imported(where, module_name)
    except UsageError as error:
        if attribute:
            raise
        raise UsageError(f"{where!r} is not MODULE:APP (for example shop.orders:app). {error}") from None
    if not attribute:
        raise UsageError(f"{where!r} is not MODULE:APP. {_instead(module)}")
    try:
        found = getattr(module, attribute)
    except AttributeError:
        raise UsageError(
            f"{where}: module {module_name!r} has no {attribute!r}. {_instead(module, attribute)}"
        ) from None
    if not isinstance(found, App):
        raise UsageError(f"{where}: {attribute!r} is a {type(found).__name__}, not a soloist.App. {_instead(module)}")
    return found


def own_function(where: str, option: str) -> Callable[..., Any]:
    """Import a function that an option names."""
    module_name, _, attribute = where.partition(":")
    if not module_name or not attribute or module_name.endswith(".py") or "/" in module_name:
        raise UsageError(f"{option}: {where!r} is not MODULE:FUNCTION (for example shop.orders:world).")
    module = _imported(f"{option} {where}", module_name)
    found: Any = getattr(module, attribute, None)
    if not callable(found):
        what = "has no" if found is None else "cannot call its"
        names = [name for name, each in vars(module).items() if isinstance(each, FunctionType)]
        meant = "".join(
            f" Did you mean {module_name}:{each}?" for each in difflib.get_close_matches(attribute, names, n=1)
        )
        raise UsageError(f"{option} {where}: module {module_name!r} {what} {attribute!r}.{meant}")
    function: Callable[..., Any] = found
    return function


def _imported(where: str, name: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise UsageError(f"{where}: importing it failed: {_told(error)}.") from None
        raise UsageError(f"{where}: {error}. Looked in the current folder and where Python looks.") from None
    except SoloistError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a module of the user's may raise anything
        raise UsageError(f"{where}: importing it failed: {_told(error)}.") from None


def _instead(module: ModuleType, attribute: str = "") -> str:
    """What to write: the Apps that the module has."""
    from soloist.app import App

    names = [name for name, value in vars(module).items() if isinstance(value, App)]
    if not names:
        return (
            f'There is no App in {module.__name__}: write `app = App("{module.__name__.rpartition(".")[2]}")` into it.'
        )
    if len(names) == 1:
        return f"Write {module.__name__}:{names[0]}."
    meant = difflib.get_close_matches(attribute, names, n=1)
    said = f"Did you mean {module.__name__}:{meant[0]}? " if meant else ""
    return f"{said}Its Apps are {', '.join(names)}."


def _told(error: BaseException) -> str:
    """What went wrong in a module of the user's, and where."""
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error}"  # which names file and line
    frames = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith("<frozen")]
    last = frames[-1]
    return f"{type(error).__name__}: {error} ({last.filename}, line {last.lineno})"
