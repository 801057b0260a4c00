"""Who may judge whom, and which marks a beat sets: docs/protocol.md, written down once more, without any script."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from tests.model.calls import Beat
from tests.model.state import Life, Place, State

GRACE_MS = 300
WITNESS_MS = 1000
"""The least grace of a will, and for how long one must have been heard and subscribed to judge by will."""


def grace_of(life: Life) -> int:
    return max(GRACE_MS, 2 * life.interval)


def is_executed(life: Life, now: int) -> bool:
    """Whether its will is: the mark is older than the grace."""
    return 0 < life.zero <= now and now - life.zero >= grace_of(life)


def has_gap(life: Life, now: int, lease: int) -> bool:
    """Whether it was silent for more than half a lease, or the clock went back."""
    return now < life.beat or now - life.beat > lease / 2


def by_will(judge: Life, now: int) -> bool:
    """Whether it may judge by will: heard, and its own subscription unbroken, for a second."""
    return judge.will_since > 0 and now - max(judge.since, judge.will_since) >= WITNESS_MS


def by_lease(judge: Life, now: int, lease: int) -> bool:
    """Whether it may judge by a lease: heard for as long as that without a gap."""
    return now - judge.since >= lease


def may_reclaim(
    state: State, judge_id: str, victim_id: str, there: AbstractSet[str], now: int, lease: int
) -> tuple[bool, bool]:
    """Whether the judge may declare the victim gone: by its will, by its lease."""
    judge, victim = state.lives.get(judge_id), state.lives[victim_id]
    if judge is None or judge_id == victim_id or has_gap(judge, now, lease):
        return False, False
    silent = victim_id not in there and judge_id in there
    return (
        by_will(judge, now) and is_executed(victim, now) and silent,
        victim.deadline < now and by_lease(judge, now, victim.lease),
    )


@dataclass(frozen=True)
class Look:
    """What a beat sees of the others, and what it leaves stored of them.

    Attributes:
        me: the caller's own life, brought up to date as a judge.
        lives: of those that were looked at.
        gone: whom to reclaim.
        wake: in how many ms the first grace ends, None if no mark is set.
    """

    me: Life
    lives: dict[str, Life]
    gone: list[str]
    wake: int | None


def look(state: State, ident: str, said: Beat, there: AbstractSet[str], now: int, lease: int) -> Look:
    """The marks: set by whoever first counts 0, cleared when the channel counts again."""
    me = _up_to_date(state.lives[ident], said, subscribed=ident in there, now=now, lease=lease)
    lives: dict[str, Life] = {}
    gone: list[str] = []
    wake: list[int] = []
    for other in _watched(state, ident, said, now):
        life = state.lives[other]
        if life.has:
            marked = life.zero if 0 < life.zero <= now else now
            life = life._replace(zero=0 if other in there else marked)
        life = lives[other] = life._replace(deadline=min(life.deadline, now + life.lease))
        dead = by_will(me, now) and is_executed(life, now)
        if dead or (life.deadline < now and by_lease(me, now, life.lease)):
            gone.append(other)
        if life.zero and not is_executed(life, now):
            wake.append(life.zero + grace_of(life) - now)
    return Look(me, lives, sorted(gone), min(wake, default=None))


def _up_to_date(me: Life, said: Beat, *, subscribed: bool, now: int, lease: int) -> Life:
    gap = has_gap(me, now, lease)
    since = now if gap else me.since
    interrupted = me.will != said.will or me.will_since == 0 or since == now
    will_since = (now if interrupted else me.will_since) if subscribed else 0
    has = subscribed or me.will_since > 0  # of one that is dying, this may be its last beat
    return me._replace(beat=now, since=since, will=said.will, will_since=will_since, has=has, zero=0)


def _watched(state: State, ident: str, said: Beat, now: int) -> Iterable[str]:
    """The generator, those in line, the busy, who holds messages and drainers look at everybody; all do while nobody generates."""
    in_line = {place.id for place in state.line.values()}
    everybody = (
        said.busy
        or state.claimed.get(ident)
        or ident in in_line
        or state.holder == ident
        or state.lives[ident].drains
        or state.number("deadline") < now
    )
    watched = state.lives.keys() if everybody else {state.holder, *in_line} & state.lives.keys()
    return sorted(watched - {ident})


def is_open(state: State, seen: Look, now: int) -> bool:
    """Whether the caller may begin a new term: the old one is vacant, or it judges it to be over."""
    holder = seen.lives.get(state.holder)
    if holder is None:
        return True
    over = state.number("deadline") < now and by_lease(seen.me, now, state.number("lease"))
    return over or (by_will(seen.me, now) and is_executed(holder, now))


def stands_back(state: State, ident: str, seen: Look, now: int, heartbeat: int) -> bool:
    """Whether a busy one leaves the term to an idle judge in line that was heard within 2 heartbeats."""
    return any(
        place.id != ident
        and place.idle_judge
        and place.id in seen.lives
        and not seen.lives[place.id].zero
        and 0 <= now - place.last <= 2 * heartbeat
        for place in state.line.values()
    )


def is_free(place: Place | None, state: State, seen: Look, now: int, heartbeat: int) -> bool:
    """Whether a place in line may be taken by anybody."""
    if place is None or place.id not in seen.lives:
        return True
    silent = not 0 <= now - place.last <= 3 * heartbeat
    return bool(seen.lives[place.id].zero) or place.id == state.holder or silent
