"""How long ago, as people write it."""

import re

import click

UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
LONGEST = 100 * 366 * 86400
"""Seconds: beyond it nothing of ours can be."""


class Age(click.ParamType[float]):
    """How long ago: 90s, 15m, 2h, 1d; in seconds."""

    name = "AGE"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|min|h|d)", str(value), re.ASCII)
        if not found:
            self.fail(f"{value!r} is no length of time such as 90s, 15m, 2h or 1d.", param, ctx)
        return min(float(LONGEST), float(found[1]) * UNITS[found[2]])
