"""Pause, resume and hand over: what people ask of a running system."""

from collections.abc import Sequence
from dataclasses import dataclass

from soloist.store import replies
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.script import Script

PAUSE, HANDOVER = Script("pause"), Script("handover")


@dataclass(frozen=True)
class Asked:
    """What handover answers.

    Attributes:
        outcome: OK, OVER, VACANT or NOBODY; see handover.lua.
        term: the term that was asked to end, or that is on.
    """

    outcome: str
    term: int = 0


def pause(link: Link, keys: Keys, kinds: Sequence[str], others: Sequence[str] = (), *, on: bool) -> int:
    """Pause or resume kinds, and others: `source:NAME`, `schedule:NAME`. Answers of how many that was news."""
    reply = PAUSE.call(
        link,
        keys={
            "paused": keys.paused,
            "log": keys.log,
            "meta": keys.meta,
            "alarm": keys.alarm,
            "term": keys.term,
            "schedules": keys.schedules,
        },
        args={"pause": int(on), "kinds_count": len(kinds)},
        more_keys=keys.of_kinds(kinds),
        more_args=[*kinds, *others],
    )
    replies.word(reply, "pause", "OK")
    return int(reply[1])


def handover(link: Link, keys: Keys, term: int = 0) -> Asked:
    """Ask the generator to step down."""
    reply = HANDOVER.call(
        link,
        keys={"instances": keys.instances, "line": keys.line, "term": keys.term, "log": keys.log},
        args={"term": term},
    )
    outcome = replies.word(reply, "handover", "OK", "OVER", "VACANT", "NOBODY")
    return Asked(outcome, int(reply[1]) if len(reply) > 1 else 0)
