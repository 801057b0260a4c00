"""Who is let into a namespace: it belongs to one App, and speaks one version of the protocol."""

from typing import Any

from soloist.errors import Defect, Denied, NamespaceError, SoloistError
from soloist.store import foreign, replies
from soloist.store.keys import Keys
from soloist.store.link import Link

PROTOCOL = 4
"""The version of keys, envelopes and scripts together. An instance never speaks to a namespace of another one."""

IMPORTING = "importing"
"""What a namespace speaks until an import into it is complete: nobody knows it, so nobody comes in. See prepare.lua."""


class EmptyNamespace(NamespaceError):
    """There is nothing under this name."""


def refusal(keys: Keys, app: str, answer: str, reply: list[Any]) -> SoloistError:
    """What it means that a script let us not in.

    Args:
        app: who wanted to come in.
        answer: the first word of the reply.
    """
    if answer == "EMPTY":
        return EmptyNamespace(f"namespace {keys.namespace!r} is empty")
    said = replies.text(reply[1])
    if answer == "FORBIDDEN":
        return Denied(
            f"the server's ACL forbids us {said}, which our scripts use on {keys.base}*. "
            f"Allow +@read +@write on these keys; `soloist doctor` says what else is needed."
        )
    if answer == "PROTOCOL":
        return _another_protocol(keys, said)
    if answer == "FOREIGN":
        return foreign.before_us(keys, said)
    if answer == "APP":
        return _another_app(keys, said, app)
    return Defect(f"refused with {answer}, which nobody knows")


def check_protocol(link: Link, keys: Keys) -> None:
    """Refuse a namespace of another version to those who look or ask without joining."""
    spoken = link.command("HGET", keys.meta, "protocol")
    if spoken is not None and spoken != str(PROTOCOL).encode():
        raise _another_protocol(keys, spoken.decode(errors="replace"))


def check_app(link: Link, keys: Keys, app: str) -> None:
    """Refuse a namespace of another App to those who ask without joining; without a name, none."""
    there = link.command("HGET", keys.meta, "app")
    if app and there is not None and there != app.encode():
        raise _another_app(keys, there.decode(errors="replace"), app)


def _another_app(keys: Keys, there: str, app: str) -> NamespaceError:
    return NamespaceError(
        f"namespace {keys.namespace!r} belongs to the App {there!r}, not to {app!r}. "
        f"Name another one with --namespace. (`soloist purge --namespace {keys.namespace}` on the same server tells "
        f"what removing it would remove.)"
    )


def _another_protocol(keys: Keys, spoken: str) -> NamespaceError:
    if spoken == IMPORTING:
        return NamespaceError(
            f"namespace {keys.namespace!r}: an import into it has begun and is not complete. If it does not run any more, run "
            f"`soloist import` again with the same file, or remove what is there: "
            f"soloist purge --namespace {keys.namespace} --yes"
        )
    return NamespaceError(
        f"namespace {keys.namespace!r} speaks version {spoken} of the protocol, this soloist {PROTOCOL}. "
        f"Update the older side, or name another namespace with --namespace."
    )
