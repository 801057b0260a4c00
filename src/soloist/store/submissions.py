"""Enlist and submit: how processes that are no instances publish messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from soloist.store import replies
from soloist.store.guard import PROTOCOL, refusal
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.messages import Full
from soloist.store.script import Script

ENLIST, SUBMIT = Script("enlist"), Script("submit")


class Gone(Exception):
    """The producer is not known, or another of its calls would be the next; nothing was published."""


@dataclass(frozen=True)
class SpecialMessage:
    """Of one message of which there is more to say than that it is to be published.

    Attributes:
        place: among all envelopes of the call, from 1.
        delay_ms: it is not handled before so many ms are over.
        at_ms: nor before this time of the server; 0: at any time.
        waits: who waits for its end: "unique KEY", "run SCHEDULE" or nobody.
    """

    place: int
    delay_ms: int = 0
    at_ms: int = 0
    waits: str = ""


@dataclass(frozen=True)
class SubmitCall:
    """One numbered call of a producer. Repeated unchanged until its outcome is known."""

    call: int
    envelopes: Mapping[str, Sequence[bytes]]
    specials: Sequence[SpecialMessage] = ()


@dataclass(frozen=True)
class Submitted:
    """What submit answers.

    Attributes:
        others: of those that were not published, since one of the same key waits or is claimed: place to the id of that one.
    """

    now_ms: int
    others: Mapping[int, str]


def enlist(link: Link, keys: Keys, producer: str, app: str) -> int:
    """Become known as a producer; answers the server's time in ms. See enlist.lua."""
    reply = ENLIST.call(
        link,
        keys={"meta": keys.meta, "producers": keys.producers, "submitted": keys.submitted},
        args={"producer": producer, "app": app, "protocol": PROTOCOL},
    )
    answer = replies.word(reply, "enlist", "OK", "FORBIDDEN", "PROTOCOL", "APP", "EMPTY")
    if answer != "OK":
        raise refusal(keys, app, answer, reply)
    return int(reply[1])


def submit(link: Link, keys: Keys, producer: str, max_pending: int, wanted: SubmitCall) -> Submitted:
    """Publish; see submit.lua.

    Raises:
        Full: too many wait.
        Gone: nothing was published.
    """
    kinds = list(wanted.envelopes)
    reply = SUBMIT.call(
        link,
        keys={
            "producers": keys.producers,
            "submitted": keys.submitted,
            "totals": keys.totals,
            "kinds": keys.kinds,
            "tracked": keys.tracked,
            "unique": keys.unique,
            "runs": keys.runs,
            "alarm": keys.alarm,
        },
        args={
            "producer": producer,
            "call": wanted.call,
            "max_pending": max_pending,
            "kinds_count": len(kinds),
            "specials_count": len(wanted.specials),
        },
        more_keys=keys.of_kinds(kinds),
        more_args=[
            *kinds,
            *(len(wanted.envelopes[kind]) for kind in kinds),
            *(word for each in wanted.specials for word in (each.place, each.delay_ms, each.at_ms, each.waits)),
            *chain(*wanted.envelopes.values()),
        ],
    )
    answer = replies.word(reply, "submit", "OK", "FULL", "GONE")
    if answer != "OK":
        raise Full if answer == "FULL" else Gone
    _, now_ms, others = reply
    words = iter(replies.texts(others))
    return Submitted(int(now_ms), {int(place): ident for place, ident in zip(words, words, strict=True)})
