"""An App of the user's own, found by MODULE:APP."""

import importlib
import sys
import traceback
from pathlib import Path
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
    module_name, colon, attribute = where.partition(":")
    if not colon or not module_name or not attribute:
        raise UsageError(f"{where!r} is not MODULE:APP (for example shop.orders:app).")
    try:
        sys.path.insert(0, str(Path.cwd()))
        found = getattr(importlib.import_module(module_name), attribute)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise UsageError(f"{where}: importing it failed: {_told(error)}.") from None
        raise UsageError(f"{where}: {error}. Looked in the current folder and where Python looks.") from None
    except AttributeError as error:
        if error.obj is not sys.modules.get(module_name):
            raise UsageError(f"{where}: importing it failed: {_told(error)}.") from None
        raise UsageError(f"{where}: module {module_name!r} has no {attribute!r}.") from None
    except SoloistError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a module of the user's may raise anything
        raise UsageError(f"{where}: importing it failed: {_told(error)}.") from None
    if not isinstance(found, App):
        raise UsageError(f"{where}: {attribute!r} is a {type(found).__name__}, not a soloist.App.")
    return found


def _told(error: BaseException) -> str:
    """What went wrong in a module of the user's, and where."""
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error}"  # which names file and line
    frames = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith("<frozen")]
    last = frames[-1]
    return f"{type(error).__name__}: {error} ({last.filename}, line {last.lineno})"
