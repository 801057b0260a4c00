"""The options that say which server and which namespace, and the settings, shared by all commands."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from soloist import settings as all_settings
from soloist.cli.numbers import DATABASE, PORT
from soloist.cli.output import harmless
from soloist.errors import ForeignData, UsageError
from soloist.settings import Settings
from soloist.target import Purpose, Said, Target, meet, named, resolve, settings_of

if TYPE_CHECKING:
    from soloist.app import App

F = TypeVar("F", bound=Callable[..., Any])

CONNECTION = (
    click.option("--url", metavar="URL", help="redis://, rediss:// or unix://  [env: SOLOIST_URL]"),
    click.option("--addr", metavar="HOST:PORT", help="The same, shorter."),
    click.option("--host", metavar="HOST", help="Default: localhost, with --port or --db."),
    click.option("--port", metavar="PORT", type=PORT, help="Default: 6379, with --host or --db."),
    click.option("--db", metavar="N", type=DATABASE, help="Number of the database; default: 0."),
    click.option("--embedded", is_flag=True, help="The embedded server of this user on this machine."),
    click.option("--namespace", metavar="NAME", help="Default: demo, or the App's name.  [env: SOLOIST_NAMESPACE]"),
    click.option("--config", metavar="FILE", help=f"Settings; else {all_settings.FILE} in the current folder."),
)


def _setting_option(name: str, *, hidden: bool) -> Callable[[F], F]:
    about = all_settings.about(name)
    variable = all_settings.ENVIRONMENT_PREFIX + name.upper()
    help_text = f"{about['says']}  [default: {about['shown']}; env: {variable}]"
    return click.option("--" + name.replace("_", "-"), name, metavar=_metavar(name), help=help_text, hidden=hidden)


def _metavar(name: str) -> str:
    return {all_settings.seconds: "SECONDS", all_settings.size_in_bytes: "BYTES"}.get(
        all_settings.about(name)["parse"], "N"
    )


class Reach:
    """What a command gets for the options above: called, it makes the first contact."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._given = given
        self.reached: list[Target] = []

    def __call__(
        self,
        app: "App | None" = None,
        *,
        needs_connection: bool = False,
        purpose: Purpose = Purpose.CHANGE,
        default_namespace: str | None = None,
    ) -> Target:
        goal = resolve(flags(self._given), app, needs_connection=needs_connection, default_namespace=default_namespace)
        self.reached.append(goal)
        return meet(goal, purpose)

    @property
    def is_named(self) -> bool:
        """Whether an option names the server; file and environment are not asked."""
        return bool(self._given["embedded"]) or _url(self._given) is not None

    def settings(self, app: "App | None" = None) -> Settings:
        """The settings alone, without any contact."""
        return settings_of(flags(self._given), app)


def connects(command: F) -> F:
    """Give a command the options above; it gets them as one callable, `target`, that it calls when it needs it."""

    @functools.wraps(command)
    def wrapped(**given: Any) -> Any:
        names = [*(option_name(option) for option in CONNECTION), *all_settings.NAMES]
        target = Reach({name: given.pop(name, None) for name in names})
        try:
            return command(target=target, **given)
        except ForeignData as error:
            raise named(error, target.reached[-1]) from error

    for name in reversed(all_settings.NAMES):
        wrapped = _setting_option(name, hidden=command.__name__ != "run")(wrapped)  # accepted everywhere, listed once
    for option in reversed(CONNECTION):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[return-value]  # click's decorators lose the type


def option_name(option: Callable[[Any], Any]) -> str:
    """The parameter that an option of CONNECTION sets."""

    def probe() -> None: ...

    option(probe)
    name: str = probe.__click_params__[0].name  # type: ignore[attr-defined]
    return name


def flags(given: dict[str, Any]) -> Said:
    """What the options say."""
    settings = {name: given[name] for name in all_settings.NAMES}
    return Said(
        {"url": _url(given), "namespace": given["namespace"], **settings},
        embedded=bool(given["embedded"]),
        config=given["config"],
        spelling=lambda name: "--" + name.replace("_", "-"),
        remedy=("name it with --url, --addr or SOLOIST_URL (or say --embedded to try it on this machine alone)."),
    )


def is_empty(goal: Target) -> str:
    """The sentence about a namespace with nothing in it, with the names that there are."""
    from soloist.inspector import Inspector

    found = Inspector(goal.server, goal.namespace).namespaces()
    others = f"; there are: {', '.join(harmless(name.encode()) for name in found)}" if found else ""
    return f"namespace {goal.namespace!r} on {goal.where} is empty{others}"


def _url(given: dict[str, Any]) -> str | None:
    parts = [name for name in ("host", "port", "db") if given[name] is not None]
    ways = [name for name in ("url", "addr") if given[name] is not None] + (["host"] if parts else [])
    if len(ways) + bool(given["embedded"]) > 1:
        named = ", ".join("--" + name for name in [*ways, *(["embedded"] if given["embedded"] else [])])
        raise UsageError(f"{named}: name the server in one way only.")
    if given["url"] is not None:
        return str(given["url"])
    if given["addr"] is not None:
        host, colon, port = str(given["addr"]).rpartition(":")
        if not colon or not port.isdigit() or not host or not 0 < int(port) < 65536:
            raise UsageError(f"--addr: {given['addr']!r} is not HOST:PORT.")
        return f"redis://{host}:{port}/0"
    if parts:
        host = given["host"] or "localhost"
        host = f"[{host}]" if ":" in host and not host.startswith("[") else host  # an IPv6 address
        return f"redis://{host}:{given['port'] or 6379}/{given['db'] or 0}"
    return None
