"""What an instance says of itself that nobody else can see. It stands in its hash as JSON, and only if it matters."""

import msgspec

from soloist.store import replies
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.script import Script

REPORT = Script("report")


class Doing(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message that it has worked on for a while.

    Attributes:
        message: its id.
        since_ms: since when, server ms.
        stack: where the handler's code is, if it takes very long.
    """

    message: str
    since_ms: int
    stack: str = ""


class SourceTrouble(msgspec.Struct, frozen=True, omit_defaults=True):
    """A source that fails, or has not returned.

    Attributes:
        since_ms: since when, server ms.
        error: what it raised last; empty if it has not returned.
    """

    since_ms: int
    error: str = ""


class Report(msgspec.Struct, frozen=True, omit_defaults=True):
    """All of it.

    Attributes:
        late_ms: how late its heart beat at worst in the last minute, if it was late at all: code held the interpreter
            lock, or the machine has too much to do.
        sources: by name.
    """

    doing: Doing | None = None
    late_ms: int = 0
    sources: dict[str, SourceTrouble] = {}


def to_text(said: Report) -> str:
    """As it is sent; empty if there is nothing to say."""
    return "" if said == Report() else msgspec.json.encode(said).decode()


def from_text(text: str) -> Report:
    """As it is read: a newer version may say more, and what cannot be read says nothing."""
    try:
        return msgspec.json.decode(text, type=Report) if text else Report()
    except msgspec.MsgspecError:
        return Report()


def report(link: Link, keys: Keys, instance: str, number: int, text: str) -> None:
    """Write it down, unless one of a higher number is there."""
    reply = REPORT.call(
        link,
        keys={"instances": keys.instances, "instance": keys.instance(instance)},
        args={"id": instance, "number": number, "report": text},
    )
    replies.word(reply, "report", "OK", "GONE")
