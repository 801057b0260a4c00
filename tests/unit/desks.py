"""A desk of runtime/turns.py, and what is done at it: messages are laid down, taken in hand, and done."""

from collections.abc import Iterable

from soloist.runtime.incarnation import Incarnation
from soloist.runtime.turns import Desk
from soloist.store.envelope import pack
from soloist.store.messages import Claimed, FailedMessage, Run
from soloist.store.presence import Who

MAIL, ORDER = "mail", "order"
KINDS = (MAIL, ORDER)


def incarnation(stamp: str = "joined") -> Incarnation:
    """One of ann, that has just joined."""
    return Incarnation(Who("ann", 1, "app", "host", 1, KINDS), number=1, stamp=stamp)


def envelope(number: int, kind: str = MAIL) -> bytes:
    return pack(f"{number}-tag", kind, 5, b"a body with blanks")


def claimed(
    envelopes: Iterable[bytes] = (),
    stamp: str = "later",
    *,
    again: bool = False,
    hold: bool = False,
    attempts: dict[bytes, tuple[int, int]] | None = None,
) -> Claimed:
    return Claimed(stamp, list(envelopes), attempts or {}, hold, again)


def lay_down(desk: Desk, *envelopes: bytes) -> None:
    """Let a call have claimed these."""
    desk.accept(desk.collect(KINDS, 10, give_back=False), claimed(envelopes))


def handle(desk: Desk, details: bytes | None = None) -> None:
    """The handler takes the oldest that waits, and is done with it."""
    kind, each = desk.waiting.popleft()
    desk.outcomes.append((kind, each, details))


def takes_in_hand(desk: Desk) -> bytes:
    """The handler is at work on the oldest that waits."""
    _, desk.in_hand = desk.waiting.popleft()
    assert desk.in_hand is not None
    return desk.in_hand


def done(length: int, first: bytes, *failures: FailedMessage) -> Run:
    """What is done stands at the head."""
    return Run(0, length, first, [*failures])


def back(place: int, length: int, first: bytes) -> Run:
    return Run(place, length, first, is_back=True)


def waiting(desk: Desk) -> list[tuple[str, bytes]]:
    return [(kind, each.split(b" ", 1)[0]) for kind, each in desk.waiting]
