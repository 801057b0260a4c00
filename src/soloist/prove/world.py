"""The outside world, by two functions of the user's: one that shows it, one that sets it back to its beginning."""

import inspect
from collections.abc import Callable
from typing import Any

import msgspec

from soloist.errors import UsageError
from soloist.prove import child
from soloist.prove.child import Refused, Report, Told
from soloist.runtime.telling import told

SHOWING = 60.0
"""Seconds that one of these functions may take in a process of its own."""


class World:
    """What is compared.

    Args:
        show: answers the outside world, as anything that JSON can tell; None: nothing of it is compared.
        reset: sets it back to what it is to be before each run.
    """

    def __init__(self, show: Callable[[], Any] | None, reset: Callable[[], Any] | None) -> None:
        if show is not None and reset is None:
            raise UsageError(
                "a world needs a reset: each run is to begin with the same world, "
                "and what one left behind would be counted in the next."
            )
        self._show, self._reset = show, reset

    @property
    def is_known(self) -> bool:
        return self._show is not None

    def begin(self) -> None:
        """Set it back.

        Raises:
            UsageError: that failed.
        """
        if self._reset is None:
            return
        try:
            _require_plain(self._reset())
        except Exception as error:
            raise UsageError(f"the reset of the world failed: {_told(error)}.") from error

    def look(self) -> tuple[Any, str | None]:
        """What it is now; or why that cannot be told."""
        if self._show is None:
            return None, None
        try:
            return snapshot(self._show()), None
        except Exception as error:  # noqa: BLE001 - the user's code may raise anything
            return None, _told(error)


def snapshot(value: Any) -> Any:
    """A value as it is now, in the form that JSON has: what it was made of may change later, and sets have no order."""
    _require_plain(value)
    encoded = msgspec.json.encode(value, enc_hook=_plain, order="deterministic")
    return msgspec.json.decode(encoded)


def apart(function: Callable[[], Any]) -> Callable[[], Any]:
    """The function in a process of its own: what it opens and keeps (a pool) is not handed down to the attempts.

    For functions whose memory is nobody's: those of the command line. A test's own may keep its fake in memory.
    """

    def work(report: Report) -> None:
        try:
            value = snapshot(function())
        except Exception as error:  # noqa: BLE001 - the user's code may raise anything
            report.write(Refused(told(error)))
        else:
            report.write(Told(msgspec.Raw(msgspec.json.encode(value))))

    def call() -> Any:
        ended = child.run(work, within=SHOWING, is_quiet=False)
        for record in ended.records:
            if isinstance(record, Told):
                return msgspec.json.decode(record.value)
            if isinstance(record, Refused):
                raise _Failed(record.reason)
        raise _Failed(f"it {ended.trouble}")

    return call


class _Failed(Exception):
    """What went wrong in the other process, in its words."""


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, _Failed) else told(error)


def _require_plain(value: Any) -> None:
    if inspect.iscoroutine(value):
        value.close()
        raise TypeError("it is async, and must be a plain function")


def _plain(value: Any) -> Any:
    """Of what msgspec does not know: rows of a database by their columns, whatever can be gone through as a list."""
    if hasattr(value, "keys"):
        return {name: value[name] for name in value.keys()}  # noqa: SIM118 - a row is no mapping, but has keys
    if hasattr(value, "__iter__"):
        return list(value)
    return repr(value)
