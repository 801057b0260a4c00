"""Send: the call that moves a message of Celery's into the broker's own queues."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from soloist.settings import Settings
from soloist.store import replies
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.script import Script

SEND = Script("send")


class Changed(Exception):
    """Something of the agenda has changed since it was read: nothing was sent, and the call number is not used."""


class Undeliverable(Exception):
    """The broker's queue or channel cannot be written to, for this reason: nothing was sent, the call number is not used."""


@dataclass(frozen=True)
class Post:
    """What one entry sends, as the broker is to get it.

    Attributes:
        pushes: queue and message; each becomes the newest of its queue.
        broadcasts: channel and message.
    """

    pushes: Sequence[tuple[str, str]] = ()
    broadcasts: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class SendCall:
    """One numbered send. Repeated unchanged until its outcome is known.

    Attributes:
        agenda: the version by which the entry is due.
        entry: the name of the schedule.
        tick: its last run, ms.
        runs: how often it was sent, this time included.
        post: nothing at all: only the last run is stored.
    """

    term: int
    call: int
    agenda: int
    entry: str
    tick: int
    runs: int
    post: Post = field(default_factory=Post)


def send(link: Link, keys: Keys, instance: str, settings: Settings, sent: SendCall) -> int:
    """Send, and store the last run, in one step; answers the server's time in ms. See send.lua."""
    post = sent.post
    reply = SEND.call(
        link,
        keys={
            "instances": keys.instances,
            "wills": keys.wills,
            "instance": keys.instance(instance),
            "term": keys.term,
            "meta": keys.meta,
            "totals": keys.totals,
            "log": keys.log,
        },
        args={
            "id": instance,
            "term": sent.term,
            "call": sent.call,
            "lease_ms": settings.lease_ms,
            "agenda": sent.agenda,
            "entry": sent.entry,
            "tick": sent.tick,
            "runs": sent.runs,
        },
        more_keys=[queue for queue, _ in post.pushes],
        more_args=[
            *(message for _, message in post.pushes),
            *(word for broadcast in post.broadcasts for word in broadcast),
        ],
    )
    answer = replies.word(reply, "send", "OK", "CHANGED", "FORBIDDEN", "FOREIGN")
    if answer == "CHANGED":
        raise Changed
    if answer == "FORBIDDEN":
        command, key = replies.texts(reply[1:])
        raise Undeliverable(f"this user may not {command} {key!r}: allow it in the server's ACL")
    if answer == "FOREIGN":
        key, found = replies.texts(reply[1:])
        raise Undeliverable(f"the queue {key!r} is no list but a {found}: somebody else wrote it")
    return int(reply[1])
