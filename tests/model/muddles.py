"""Calls of a client that has lost count: their places and numbers contradict each other, or what it holds.

Each of them must be refused, whole. (What is not held any more is named by Client._is_confused.)
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from soloist.store.messages import FailedMessage, Run, Tally, TurnCall

DETAILS = b'{"reason": "it is muddled"}'


def muddled(turn: TurnCall, held: Sequence[bytes], chance: random.Random) -> TurnCall:
    """A call that must be refused; the call as it was, if it says too little to be muddled in any way."""
    return chance.choice([wrong for muddle in MUDDLES if (wrong := muddle(turn, held, chance))] or [turn])


def _named_twice(turn: TurnCall, held: Sequence[bytes], chance: random.Random) -> TurnCall | None:
    """What a run ends with begins another one: it has two fates, or one of them twice."""
    if not turn.runs:
        return None
    at = chance.randrange(len(turn.runs))
    last = turn.runs[at].place + turn.runs[at].length - 1
    once_more = Run(last, 1, _id_at(held, last), is_back=chance.random() < 0.5)
    runs = [*turn.runs[: at + 1], once_more, *turn.runs[at + 1 :]]
    return replace(turn, runs=runs, kinds=_counting(turn.kinds, completed=0 if once_more.is_back else 1))


def _in_another_order(turn: TurnCall, held: Sequence[bytes], chance: random.Random) -> TurnCall | None:
    return replace(turn, runs=[*reversed(turn.runs)]) if len(turn.runs) > 1 else None


def _beyond_the_end(turn: TurnCall, held: Sequence[bytes], chance: random.Random) -> TurnCall | None:
    """The last run is longer than what is held; the tallies count along."""
    if not turn.runs:
        return None
    last = turn.runs[-1]
    longer = replace(last, length=len(held) - last.place + 1)
    more = 0 if last.is_back else longer.length - last.length
    return replace(turn, runs=[*turn.runs[:-1], longer], kinds=_counting(turn.kinds, completed=more))


def _from_the_end(turn: TurnCall, held: Sequence[bytes], chance: random.Random) -> TurnCall | None:
    """Place -1 is the last for a list of the server, and none for us."""
    if not held or turn.runs:
        return None
    run = Run(-1, 1, held[-1], is_back=chance.random() < 0.5)
    return replace(turn, runs=[run], kinds=_counting(turn.kinds, completed=0 if run.is_back else 1))


def _of_nothing(turn: TurnCall, held: Sequence[bytes], chance: random.Random) -> TurnCall | None:
    """A run of no length."""
    free = max((run.place + run.length for run in turn.runs), default=0)
    return replace(turn, runs=[*turn.runs, Run(free, 0, held[free])]) if free < len(held) else None


def _miscounted(turn: TurnCall, held: Sequence[bytes], chance: random.Random) -> TurnCall | None:
    """More or less was completed, failed or retried than is named."""
    return _recounted(turn, *chance.choice(((1, 0), (-1, 0), (0, 1), (0, -1), (0, 0, 1), (0, 0, -1))))


def _failed_for_completed(turn: TurnCall, held: Sequence[bytes], chance: random.Random) -> TurnCall | None:
    """One is counted as the other: as much in all."""
    return _recounted(turn, 1, -1) or _recounted(turn, -1, 1)


def _retried_for_completed(turn: TurnCall, held: Sequence[bytes], chance: random.Random) -> TurnCall | None:
    """The same of retries."""
    return _recounted(turn, 1, 0, -1) or _recounted(turn, -1, 0, 1)


def _failed_twice(turn: TurnCall, held: Sequence[bytes], chance: random.Random) -> TurnCall | None:
    """And its neighbour never."""
    for at, run in enumerate(turn.runs):
        if 0 < len(run.specials) < run.length:
            again = replace(run, specials=[*run.specials, run.specials[-1]])
            return _with(turn, at, again)
    return None


def _failed_before(turn: TurnCall, held: Sequence[bytes], chance: random.Random) -> TurnCall | None:
    """A run names a failure that stands before it, and has completed one less."""
    for at, run in enumerate(turn.runs):
        if run.place and not run.is_back:
            place = chance.randrange(run.place)
            failures = [FailedMessage(place, held[place], DETAILS), *run.specials]
            return _with(turn, at, replace(run, specials=failures))
    return None


def _failed_behind(turn: TurnCall, held: Sequence[bytes], chance: random.Random) -> TurnCall | None:
    """The same, with a failure that stands behind it."""
    for at, run in enumerate(turn.runs):
        behind = range(run.place + run.length, len(held))
        if behind and not run.is_back:
            place = chance.choice(behind)
            failures = [*run.specials, FailedMessage(place, held[place], DETAILS)]
            return _with(turn, at, replace(run, specials=failures))
    return None


def _failed_under_another_id(turn: TurnCall, held: Sequence[bytes], chance: random.Random) -> TurnCall | None:
    """Within a run, where no other id is compared."""
    for at, run in enumerate(turn.runs):
        if run.specials and run.specials[-1].place > run.place:
            of = run.specials[-1]
            right = {of.id, _id_at(held, of.place)}  # where the client is confused already, they may differ
            other = chance.choice([b"0-nobody", *(ident for ident in held if ident not in right)])
            wrong = replace(run, specials=[*run.specials[:-1], of._replace(id=other)])
            return replace(turn, runs=[*turn.runs[:at], wrong, *turn.runs[at + 1 :]])
    return None


def _failed_and_given_back(turn: TurnCall, held: Sequence[bytes], chance: random.Random) -> TurnCall | None:
    for at, run in enumerate(turn.runs):
        if run.is_back:
            return _with(turn, at, replace(run, specials=[FailedMessage(run.place, run.id, DETAILS)]))
    return None


def _with(turn: TurnCall, at: int, run: Run) -> TurnCall | None:
    """With this run in the place of another, which has one failure more and one completed less."""
    return _recounted(replace(turn, runs=[*turn.runs[:at], run, *turn.runs[at + 1 :]]), -1, 1)


def _recounted(turn: TurnCall, completed: int, failed: int, retried: int = 0) -> TurnCall | None:
    kinds = _counting(turn.kinds, completed, failed, retried)
    return replace(turn, kinds=kinds) if kinds != turn.kinds else None


def _counting(kinds: Mapping[str, Tally], completed: int, failed: int = 0, retried: int = 0) -> Mapping[str, Tally]:
    """So many more, of the first kind that has as many to give; as they were, if none has."""
    for kind, of in kinds.items():
        counts = (of.completed + completed, of.failed + failed, of.retried + retried)
        if min(counts) >= 0:
            return {**kinds, kind: Tally(of.want, *counts)}
    return kinds


def _id_at(held: Sequence[bytes], place: int) -> bytes:
    return held[place] if place < len(held) else b"0-nobody"


Muddle = Callable[[TurnCall, Sequence[bytes], random.Random], TurnCall | None]

OF_FAILURES: tuple[Muddle, ...] = (
    _failed_for_completed,
    _retried_for_completed,
    _failed_twice,
    _failed_before,
    _failed_behind,
    _failed_under_another_id,
    _failed_and_given_back,
)
"""They need a call that says much, so they are preferred where they can be had."""

MUDDLES: tuple[Muddle, ...] = (
    *(_named_twice, _in_another_order, _beyond_the_end, _from_the_end, _of_nothing, _miscounted) * 2,
    *OF_FAILURES * 3,
)
