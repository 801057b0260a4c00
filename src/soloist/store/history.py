"""The history of a namespace: one sample for every second in which somebody generated, for an hour."""

from collections.abc import Sequence
from dataclasses import dataclass

from soloist.store import replies
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.script import Script

SAMPLE = Script("sample")

SECONDS = 3600
"""So many samples are kept."""


@dataclass(frozen=True)
class Sample:
    """What the generator saw with the first beat of a second. The totals are those since the namespace began.

    Attributes:
        at_ms: the server's time.
        oldest_pending_ms: how long the oldest message that waits has waited.
        instances: how many are present.
    """

    at_ms: int
    published: int
    completed: int
    failed: int
    reclaimed: int
    superseded: int
    pending: int
    oldest_pending_ms: int
    instances: int


def sample(link: Link, keys: Keys, instance: str, term: int, kinds: Sequence[str]) -> None:
    """Note what there is in this second, if this instance holds the term."""
    reply = SAMPLE.call(
        link,
        keys={
            "instances": keys.instances,
            "term": keys.term,
            "totals": keys.totals,
            "log": keys.log,
            "history": keys.history,
        },
        args={"id": instance, "term": term},
        more_keys=keys.of_kinds(kinds),
        more_args=kinds,
    )
    replies.word(reply, "sample", "OK", "OVER")


def read_history(link: Link, keys: Keys, seconds: int = SECONDS) -> list[Sample]:
    """The last so many samples, oldest first."""
    found = link.command("XREVRANGE", keys.history, "+", "-", "COUNT", seconds)
    return [_sample(ident, replies.fields(flat)) for ident, flat in reversed(found)]


def _sample(ident: bytes, fields: dict[str, str]) -> Sample:
    return Sample(int(ident.split(b"-")[0]), **{name: int(value) for name, value in fields.items()})
