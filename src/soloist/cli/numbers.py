"""Numbers on the command line: one that is not allowed is told what is."""

from collections.abc import Callable
from typing import Any

import click


class Number(click.ParamType):  # type: ignore[type-arg]  # generic only in the newest click
    """A number in a range.

    Args:
        parse: int or float.
        allowed: the range in words that can be typed in again.
    """

    name = "number"

    def __init__(self, parse: Callable[[str], float], least: float, most: float, allowed: str) -> None:
        self._parse, self._least, self._most, self._allowed = parse, least, most, allowed

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            parsed = self._parse(value)
        except ValueError:
            parsed = float("nan")
        if not self._least <= parsed <= self._most:  # nan is in no range
            self.fail(f"{value!r} is not allowed; write {self._allowed}.", param, ctx)
        return parsed


PORT = Number(int, 1, 65535, "a whole number, 1 to 65535")
DATABASE = Number(int, 0, 2**31 - 1, "a whole number, 0 or more")
COUNT = Number(int, 1, 2**53, "a whole number, 1 to 2^53")
SHARE = Number(float, 0, 1, "a number, 0 to 1")
SECONDS = Number(float, 0, 31_536_000, "a number of seconds, 0 to 31536000 (a year)")

DELAY = Number(float, 0, 315_360_000, "a number of seconds, 0 to 315360000 (ten years)")


class Address(click.ParamType):  # type: ignore[type-arg]  # generic only in the newest click
    """[HOST:]PORT, on this machine."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        host, _, port = str(value).rpartition(":")
        if not port.isdigit() or not 0 <= int(port) < 65536:
            self.fail(f"{value!r} is not allowed; write PORT or HOST:PORT, the port 0 to 65535.", param, ctx)
        return host.strip("[]") or "127.0.0.1", int(port)


ADDRESS = Address()
