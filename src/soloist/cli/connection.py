"""The options that say which server and which namespace, and the settings, shared by all commands."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, TypeVar

import click

from soloist import settings as all_settings
from soloist.cli.numbers import DATABASE, PORT
from soloist.cli.output import harmless
from soloist.errors import ForeignData, UsageError
from soloist.settings import Settings

if TYPE_CHECKING:
    from soloist.store.server import Server

DEFAULT_NAMESPACE = "demo"
F = TypeVar("F", bound=Callable[..., Any])


class Purpose(Enum):
    """What a command wants of a server, and so what the server must be."""

    LOOK = auto()
    """It only reads: a replica will do."""
    CHANGE = auto()
    REMOVE = auto()
    """The namespace as a whole, whoever wrote what is in it."""
    EXAMINE = auto()
    """To say what is wrong with it."""


@dataclass(frozen=True)
class Target:
    """What the options came to.

    Attributes:
        about: what INFO says of the server; empty where it is forbidden.
    """

    server: "Server"
    namespace: str
    settings: Settings
    embedded: bool
    about: dict[str, str] = field(default_factory=dict)

    @property
    def where(self) -> str:
        return "the embedded server" if self.embedded else str(self.server)


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
        self, app_name: str | None = None, *, needs_connection: bool = False, purpose: Purpose = Purpose.CHANGE
    ) -> Target:
        goal = resolve(self._given, app_name, needs_connection=needs_connection)
        self.reached.append(goal)
        return _met(goal, purpose)

    @property
    def is_named(self) -> bool:
        """Whether an option names the server; file and environment are not asked."""
        return bool(self._given["embedded"]) or _url(self._given) is not None

    def settings(self) -> Settings:
        """The settings alone, without any contact."""
        return _settings(self._given, all_settings.gather(self._given["config"]))


def connects(command: F) -> F:
    """Give a command the options above; it gets them as one callable, `target`, that it calls when it needs it."""

    @functools.wraps(command)
    def wrapped(**given: Any) -> Any:
        names = [*(option_name(option) for option in CONNECTION), *all_settings.NAMES]
        target = Reach({name: given.pop(name, None) for name in names})
        try:
            return command(target=target, **given)
        except ForeignData as error:
            raise _named(error, target.reached[-1]) from error

    for name in reversed(all_settings.NAMES):
        wrapped = _setting_option(name, hidden=command.__name__ != "run")(wrapped)  # accepted everywhere, listed once
    for option in reversed(CONNECTION):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[return-value]  # click's decorators lose the type


def _met(goal: Target, purpose: Purpose) -> Target:
    """Make the first contact; refuse a server or a namespace that is not for this purpose."""
    from soloist.store.fitness import FIRST_CONTACT, FIRST_CONTACT_IN_ALL, first_contact, refuse_unfit
    from soloist.store.foreign import look_for_strangers
    from soloist.store.keys import Keys
    from soloist.store.link import Link
    from soloist.store.presence import check_protocol

    goal = replace(goal, about=first_contact(goal.server, None if goal.embedded else FIRST_CONTACT_IN_ALL))
    if purpose is not Purpose.EXAMINE:
        refuse_unfit(goal.server, goal.about, writes=purpose is not Purpose.LOOK)
    if purpose in (Purpose.LOOK, Purpose.CHANGE):
        link = Link(goal.server, FIRST_CONTACT)
        look_for_strangers(link, Keys(goal.namespace))
        check_protocol(link, Keys(goal.namespace))
        link.close()
    return goal


def _named(error: ForeignData, goal: Target) -> ForeignData:
    """Find out which key it is: whoever stumbled over it was told only that there is one."""
    from soloist.store.fitness import FIRST_CONTACT
    from soloist.store.foreign import named
    from soloist.store.keys import Keys
    from soloist.store.link import Link

    return named(Link(goal.server, FIRST_CONTACT), Keys(goal.namespace), error)


def option_name(option: Callable[[Any], Any]) -> str:
    """The parameter that an option of CONNECTION sets."""

    def probe() -> None: ...

    option(probe)
    name: str = probe.__click_params__[0].name  # type: ignore[attr-defined]
    return name


def resolve(given: dict[str, Any], app_name: str | None, *, needs_connection: bool) -> Target:
    """Bring flags, environment and file together."""
    found = all_settings.gather(given["config"])
    settings = _settings(given, found)
    from_flags = _url(given)
    from_elsewhere = found.get("url")
    url = from_flags if from_flags is not None or given["embedded"] else from_elsewhere
    from_settings = found.get("namespace")
    said = [name for name in (given["namespace"], from_settings, app_name) if name is not None]
    namespace = said[0] if said else DEFAULT_NAMESPACE  # one that is empty was meant to be something, and is refused
    if url is None and needs_connection and not given["embedded"]:
        raise UsageError(
            "your own App needs a server that all hosts share: name it with --url, --addr or SOLOIST_URL "
            "(or say --embedded to try it on this machine alone)."
        )
    from soloist.app import valid_name
    from soloist.store.server import Server

    named_elsewhere = from_settings is not None and given["namespace"] is None
    valid_name(namespace, all_settings.origin("namespace", given["config"]) if named_elsewhere else "--namespace")
    if url is not None:
        where = all_settings.origin("url", given["config"]) if from_flags is None else "--url"
        return Target(Server(url, where=where), namespace, settings, embedded=False)
    return Target(_embedded(), namespace, settings, embedded=True)


def _settings(given: dict[str, Any], found: dict[str, Any]) -> Settings:
    """Flags on top of what file and environment say."""
    values = {name: value for name, value in found.items() if name in all_settings.NAMES}
    flags = [name for name in all_settings.NAMES if given[name] is not None]
    for name in flags:
        values[name] = all_settings.check(name, given[name], "--" + name.replace("_", "-"))
    return all_settings.together(values, flags, given["config"])


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


def _embedded() -> "Server":
    from soloist import embedded
    from soloist.store.server import Server

    held = embedded.acquire()

    def recover() -> str:
        held.ensure()
        return held.url

    return Server(held.url, recover)
