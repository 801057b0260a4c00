"""How long ago, as people write it."""

import click

from soloist.durations import seconds_in


class Age(click.ParamType[float]):
    """How long ago: 90s, 15m, 2h, 1d; in seconds."""

    name = "AGE"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = seconds_in(str(value))
        if seconds is None:
            self.fail(f"{value!r} is no length of time such as 90s, 15m, 2h or 1d.", param, ctx)
        return seconds
