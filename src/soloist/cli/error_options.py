"""The options that say which error records are meant."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from soloist.error_filter import error_filter

F = TypeVar("F", bound=Callable[..., Any])

MOMENT = "MOMENT"

OPTIONS = (
    click.option("--kind", metavar="KIND", help="Only of messages of this kind."),
    click.option("--reason", metavar="TEXT", help="Only with this in the reason, in whatever case."),
    click.option("--type", metavar="NAME", help="Only of this class of failure: ValueError, Reject, Poison."),
    click.option(
        "--since",
        metavar=MOMENT,
        help="Only what failed then or later: 15m, 2h, 1d ago, 2026-11-16T10:43, epoch seconds.",
    ),
    click.option("--until", metavar=MOMENT, help="Only what failed then or before."),
)


def filters(command: F) -> F:
    """Give a command the options above; it gets them as one filter, `only`."""

    @functools.wraps(command)
    def wrapped(
        *,
        kind: str | None,
        reason: str | None,
        type: str | None,  # noqa: A002 - click names it after the option
        since: str | None,
        until: str | None,
        **given: Any,
    ) -> Any:
        only = error_filter(kind, reason, type, since, until, spelling=lambda name: f"--{name}")
        return command(only=only, **given)

    for option in reversed(OPTIONS):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[return-value]  # click's decorators lose the type
