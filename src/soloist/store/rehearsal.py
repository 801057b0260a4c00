"""What the kit for tests asks of a namespace: what is still to be done there, and time by hand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from soloist.store import replies
from soloist.store.keys import DATA, Keys
from soloist.store.link import Link
from soloist.store.script import Script

OUTSTANDING, ELAPSE, VOUCH, RETIME = Script("outstanding"), Script("elapse"), Script("vouch"), Script("retime")


@dataclass(frozen=True)
class KindLeft:
    """What is left of one kind: pending or claimed, and delayed and not due yet."""

    open: int
    delayed: int


@dataclass(frozen=True)
class Outstanding:
    """What is still to be done.

    Attributes:
        due_ms: when the next one of those that are delayed is due, the server's time; 0: there is none.
    """

    now_ms: int
    due_ms: int
    kinds: dict[str, KindLeft]


def outstanding(link: Link, keys: Keys, kinds: Sequence[str] = ()) -> Outstanding:
    """See outstanding.lua.

    Args:
        kinds: that were there the last time: a question less.
    """
    while True:
        reply = OUTSTANDING.call(
            link,
            keys={"totals": keys.totals, "kinds": keys.kinds},
            args={},
            more_keys=keys.of_kinds(kinds),
            more_args=kinds,
        )
        if replies.word(reply, "outstanding", "OK", "CHANGED") == "OK":
            _, now_ms, due_ms, found = reply
            left = {
                replies.text(name): KindLeft(int(is_open), int(delayed))
                for name, is_open, delayed in zip(found[::3], found[1::3], found[2::3], strict=True)
            }
            return Outstanding(int(now_ms), int(due_ms), left)
        kinds = replies.texts(reply[1])


def elapse(link: Link, keys: Keys, kinds: Sequence[str], ms: int) -> None:
    """What is delayed is due by so much sooner. See elapse.lua."""
    reply = ELAPSE.call(
        link, keys={"kinds": keys.kinds}, args={"ms": ms}, more_keys=keys.of_kinds(kinds), more_args=kinds
    )
    replies.word(reply, "elapse", "OK")


def vouch(link: Link, keys: Keys, instance: str, ms: int) -> bool:
    """An instance has been heard for so much longer; False if it has no will yet. See vouch.lua."""
    reply = VOUCH.call(link, keys={"instance": keys.instance(instance)}, args={"ms": ms})
    replies.word(reply, "vouch", "OK")
    return bool(reply[1])


def retime(link: Link, keys: Keys, names: Sequence[str], tick: int) -> int:
    """The last tick of these schedules is at this moment; answers the version of the agenda. See retime.lua."""
    reply = RETIME.call(
        link,
        keys={"meta": keys.meta, "schedules": keys.schedules, "term": keys.term, "alarm": keys.alarm},
        args={"tick": tick},
        more_args=names,
    )
    replies.word(reply, "retime", "OK")
    return int(reply[1])


def read_data(link: Link, keys: Keys, name: str) -> Any:
    """What users wrote along with messages under this name, as Python has it; None if nothing is there."""
    key = f"{keys.base}{DATA}{name}"
    match replies.text(link.command("TYPE", key)):
        case "string":
            return replies.text(link.command("GET", key))
        case "hash":
            return replies.fields(link.command("HGETALL", key))
        case "list":
            return replies.texts(link.command("LRANGE", key, 0, -1))
        case "set":
            return set(replies.texts(link.command("SMEMBERS", key)))
        case "zset":
            pairs = replies.fields(link.command("ZRANGE", key, 0, -1, "WITHSCORES"))
            return {member: float(score) for member, score in pairs.items()}
        case _:
            return None
