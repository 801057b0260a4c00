"""A desk of runtime/desk.py, and what is done at it: messages are laid down, taken in hand, and done."""

from collections.abc import Iterable

from soloist.runtime.desk import Desk, Outcome, Tray
from soloist.runtime.incarnation import Incarnation
from soloist.store.envelope import id_of, pack
from soloist.store.messages import Claimed, FailedMessage, Run, TurnCall
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
    hold_ms: int = 0,
    attempts: dict[bytes, tuple[int, int]] | None = None,
) -> Claimed:
    return Claimed(stamp, list(envelopes), attempts or {}, hold_ms, again)


def new_desk(stamp: str = "joined") -> Desk:
    """The desk of an instance that has just joined."""
    return Desk(incarnation(stamp), KINDS)


def wants(many: int) -> dict[str, int]:
    """So many of every kind."""
    return dict.fromkeys(KINDS, many)


def collect(desk: Desk, want: int, *, give_back: bool = False) -> TurnCall:
    """The next call, for all kinds."""
    return desk.collect(wants(want), list(desk.trays.values()) if give_back else [])


def lay_down(desk: Desk, *envelopes: bytes) -> None:
    """Let a call have claimed these."""
    desk.accept(collect(desk, 10), claimed(envelopes))


def _oldest(desk: Desk) -> tuple[Tray, bytes]:
    """What one thread for all kinds would take next."""
    order = [id_of(each) for each in desk._held]
    waiting = [(order.index(id_of(each)), tray, each) for tray in desk.trays.values() for each in tray.waiting]
    _, tray, oldest = min(waiting, key=lambda each: each[0])
    assert tray.waiting.popleft() == oldest
    return tray, oldest


def handle(desk: Desk, details: bytes | None = None) -> None:
    """The handler takes the oldest that waits, and is done with it."""
    tray, each = _oldest(desk)
    tray.outcomes.append((each, details))


def takes_in_hand(desk: Desk) -> bytes:
    """The handler is at work on the oldest that waits."""
    tray, oldest = _oldest(desk)
    tray.in_hand = oldest
    return oldest


def outcomes(desk: Desk) -> list[Outcome]:
    return [outcome for tray in desk.trays.values() for outcome in tray.outcomes]


def done(length: int, first: bytes, *failures: FailedMessage) -> Run:
    """What is done stands at the head."""
    return Run(0, length, first, [*failures])


def back(place: int, length: int, first: bytes) -> Run:
    return Run(place, length, first, is_back=True)


def waiting(desk: Desk) -> list[tuple[str, bytes]]:
    """Kind and id of what waits, in the order of claiming."""
    order = [id_of(each) for each in desk._held]
    found = [(tray.kind, id_of(each)) for tray in desk.trays.values() for each in tray.waiting]
    return sorted(found, key=lambda each: order.index(each[1]))
