"""Which server, which namespace and which settings: what code, file, environment and flags come to; and the first contact.

Strength: code < file < environment < flag. The arguments of `app.run` and `app.start` count as flags.
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from soloist import settings as all_settings
from soloist.errors import ForeignData, UsageError
from soloist.settings import Settings

if TYPE_CHECKING:
    from soloist.app import App
    from soloist.store.server import Server

DEFAULT_NAMESPACE = "demo"


class Purpose(Enum):
    """What is wanted of a server, and so what the server must be."""

    LOOK = auto()
    """Only to read: a replica will do."""
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


@dataclass(frozen=True)
class Said:
    """What was said last, and so counts most: the flags of a command, the arguments of a call.

    Attributes:
        values: settings, url and namespace; what was not said is None, or not there.
        embedded: the embedded server, whatever file and environment say.
        config: the file that was named.
        spelling: how a setting is written there, for sentences about it.
        remedy: what to write if no server was named.
    """

    values: Mapping[str, Any]
    embedded: bool
    config: str | None
    spelling: Callable[[str], str]
    remedy: str


def resolve(
    said: Said, app: "App | None" = None, *, needs_connection: bool = False, default_namespace: str | None = None
) -> Target:
    """Bring code, file, environment and what was said last together."""
    from soloist.app import valid_name
    from soloist.store.server import Server

    values, place = _gathered(said, app)
    settings = all_settings.together({name: values[name] for name in all_settings.NAMES if name in values}, place)
    default = default_namespace or (DEFAULT_NAMESPACE if app is None else app.name)
    namespace = values.get("namespace", default)  # one that is empty was meant to be something, and is refused
    valid_name(namespace, place("namespace") if "namespace" in values else said.spelling("namespace"))
    url = None if said.embedded else values.get("url")
    if url is not None:
        return Target(Server(url, where=place("url")), namespace, settings, embedded=False)
    if needs_connection and not said.embedded:
        raise UsageError(f"your own App needs a server that all hosts share: {said.remedy}")
    return Target(_embedded(), namespace, settings, embedded=True)


def settings_of(said: Said, app: "App | None" = None) -> Settings:
    """The settings alone, without any contact."""
    values, place = _gathered(said, app)
    return all_settings.together({name: values[name] for name in all_settings.NAMES if name in values}, place)


def _gathered(said: Said, app: "App | None") -> tuple[dict[str, Any], Callable[[str], str]]:
    """All that was said anywhere, the stronger on top; and where each of it is from."""
    in_code = {} if app is None else app.settings
    found = all_settings.gather(said.config)
    last = {name: value for name, value in said.values.items() if value is not None}
    checked = {
        name: all_settings.check(name, value, said.spelling(name)) if name in all_settings.NAMES else value
        for name, value in last.items()
    }

    def place(name: str) -> str:
        if name in last:
            return said.spelling(name)
        if name in found or app is None:
            return all_settings.origin(name, said.config)
        return f"{app.where}: {name}"

    return {**in_code, **found, **checked}, place


def meet(goal: Target, purpose: Purpose) -> Target:
    """Make the first contact; refuse a server or a namespace that is not for this purpose."""
    from soloist.store.fitness import FIRST_CONTACT, FIRST_CONTACT_IN_ALL, first_contact, refuse_unfit
    from soloist.store.foreign import look_for_strangers
    from soloist.store.guard import check_protocol
    from soloist.store.keys import Keys
    from soloist.store.link import Link

    goal = replace(goal, about=first_contact(goal.server, None if goal.embedded else FIRST_CONTACT_IN_ALL))
    if purpose is not Purpose.EXAMINE:
        refuse_unfit(goal.server, goal.about, writes=purpose is not Purpose.LOOK)
    if purpose in (Purpose.LOOK, Purpose.CHANGE):
        with closing(Link(goal.server, FIRST_CONTACT)) as link:
            look_for_strangers(link, Keys(goal.namespace))
            check_protocol(link, Keys(goal.namespace))
    return goal


def named(error: ForeignData, goal: Target) -> ForeignData:
    """Find out which key it is: whoever stumbled over it was told only that there is one."""
    from soloist.store import foreign
    from soloist.store.fitness import FIRST_CONTACT
    from soloist.store.keys import Keys
    from soloist.store.link import Link

    with closing(Link(goal.server, FIRST_CONTACT)) as link:
        return foreign.named(link, Keys(goal.namespace), error)


def _embedded() -> "Server":
    from soloist import embedded
    from soloist.store.server import Server

    held = embedded.acquire()

    def recover() -> str:
        held.ensure()
        return held.url

    return Server(held.url, recover)
