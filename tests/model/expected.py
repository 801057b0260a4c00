"""What each call must be answered, and what it must leave behind: worked out from the state before it, by the documents.

One function per script. It takes the state before, changes it into the state that the rules ask for, and answers the
words of the contract that are right: more than one only where the moment decides. What only the script can know (its
moment, a stamp) is taken from its answer.
"""

from collections.abc import Callable, Mapping

from soloist.store.messages import Claimed
from soloist.store.records import Drained
from tests.model import claims, outcomes, places, presences
from tests.model.calls import KINDS
from tests.model.state import State
from tests.model.step import Step, count, hear, note, refuse, ring


def expected(step: Step) -> tuple[set[str], State]:
    """The words that are right, and the state that must be there now."""
    state = step.before.copy()
    return SCRIPTS[step.call.what](step, state), state


def _publish(step: Step, state: State) -> set[str]:
    ident, page = step.call.who.id, step.call.page
    assert page is not None
    if ident not in state.lives:
        return refuse(state, "publish")
    if (state.holder, state.number("term")) != (ident, page.term):
        refuse(state, "publish")
        return {"SUPERSEDED term"}
    hear(state, ident)
    if page.call == state.number("call"):
        return {"OK"}
    if (page.call, page.first) != (state.number("call") + 1, state.number("seq") + 1):
        return refuse(state, "publish")
    lists = {kind: [f"pending:{kind}", f"again:{kind}"] for kind in page.envelopes}
    waiting = {kind: sum(len(state.lists.get(name, ())) for name in names) for kind, names in lists.items()}
    waiting = {kind: many + len(state.delayed.get(f"delayed:{kind}", ())) for kind, many in waiting.items()}
    if any(many >= step.settings.max_pending for many in waiting.values()):
        return {"FULL"}
    if not isinstance(step.reply, int):
        return {"OK"}
    now = step.reply
    many = len(step.call.published)
    state.term |= {"call": str(page.call), "seq": str(state.number("seq") + many), "renewed": str(now)}
    state.term["deadline"] = str(now + step.settings.lease_ms)
    state.term |= {f"cursor:{page.source}": page.cursor} if page.cursor is not None else {}
    state.term |= {f"tick:{page.source}": str(page.tick)} if page.tick else {}
    me = state.lives[ident]
    state.lives[ident] = me._replace(generated=me.generated + many)
    for kind, envelopes in page.envelopes.items():
        state.lists.setdefault(f"pending:{kind}", []).extend(each.split(b" ", 1)[0].decode() for each in envelopes)
        count(state, "published", len(envelopes), kind)
        state.bells.add(kind)
    return {"OK"}


def _next(step: Step, state: State) -> set[str]:
    ident, turn = step.call.who.id, step.call.turn
    me = state.lives.get(ident)
    assert turn is not None
    if me is not None and (turn.turn, turn.stamp) == (me.turn, me.before):
        hear(state, ident)
        held, reply = state.claimed.get(ident, []), step.reply
        same = isinstance(reply, Claimed) and (reply.stamp, reply.hold_ms) == (me.stamp, 0)
        same = same and isinstance(reply, Claimed) and b" ".join(reply.refused).decode() == me.refused
        same = same and isinstance(reply, Claimed) and claims.is_told(state, reply, held)
        return {"AGAIN"} if same else {f"AGAIN {me.stamp} {held}, not {reply}"}
    fits = me is not None and (turn.turn, turn.stamp) == (me.turn + 1, me.stamp)
    named = places.named(turn, state.claimed.get(ident, []))
    if me is None or not fits or named is None:
        return refuse(state, "next")
    if any(step.kinds[each] not in turn.kinds for each in named.must_be_given):
        return {"KINDS"}
    if not isinstance(step.reply, Claimed):
        return {"OK"}
    now = int(step.reply.stamp) // 1000
    held = [each for each in state.claimed.get(ident, []) if each not in named.all]
    state.claimed[ident] = held
    completed, failed = outcomes.settle(state, named, step.kinds, int(step.reply.stamp))
    claims.give_back(state, named.back, step.kinds, step.settings.max_attempts)
    want = {kind: tally.want for kind, tally in turn.kinds.items()}
    taken, hold_ms, alone = claims.claim(state, ident, want, now)
    held += taken
    interval = min(me.interval, step.settings.heartbeat_ms) if taken else me.interval
    state.lives[ident] = me._replace(
        turn=turn.turn, stamp=step.reply.stamp, before=turn.stamp, alone=alone or me.alone, zero=0, interval=interval,
        completed=me.completed + completed, failed=me.failed + failed, retried=me.retried + len(named.retried),
        refused=" ".join(named.refused),
    )  # fmt: skip
    ring(state, KINDS if named.committed else tuple(turn.kinds), suspects_too=False)
    told = [each.split(b" ", 1)[0].decode() for each in step.reply.envelopes]
    refused = [each.decode() for each in step.reply.refused]
    right = told == taken and step.reply.hold_ms == hold_ms and claims.is_told(state, step.reply, taken)
    given = f"{told} hold={step.reply.hold_ms} refused={refused}"
    return {"OK"} if right and refused == named.refused else {f"OK {taken} hold={hold_ms} {named.refused}, not {given}"}


def _drain(step: Step, state: State) -> set[str]:
    ident, reply = step.call.who.id, step.reply
    if ident not in state.lives:
        return {"SUPERSEDED"}
    hear(state, ident)
    if not state.drained.get(ident):
        oldest = sorted(state.errors, key=lambda each: (state.errors[each], each))[: step.call.limit]
        if not step.call.limit:
            return {"OK"}
        if not oldest:
            return {_whether_to_wait(state, ident, now) for now in step.moments}
        state.drained[ident] = {each: state.errors.pop(each) for each in oldest}
    held = state.drained[ident]
    told = [each.id for each in reply.records] if isinstance(reply, Drained) else []
    in_order = sorted(told, key=lambda each: held.get(each, 0)) == told
    return {"OK"} if in_order and set(told) == set(held) else {f"OK {sorted(held)}, not {told}"}


def _whether_to_wait(state: State, ident: str, now: int) -> str:
    """Whether another drainer is marked, or silent for 4 of its heartbeats: it may hold records."""
    silent = [
        life
        for other, life in state.lives.items()
        if life.drains and other != ident and (life.zero or now - (life.deadline - life.lease) > 4 * life.interval)
    ]
    return "WAIT" if silent else "EMPTY"


def _confirm(step: Step, state: State) -> set[str]:
    ident = step.call.who.id
    if ident not in state.lives:
        return {"SUPERSEDED"}
    hear(state, ident)
    held = state.drained.get(ident, {})
    removed = [each for each in step.call.confirmed if held.pop(each, None)]
    count(state, "drained", len(removed))
    return {"OK"} if step.reply == len(removed) else {f"OK {len(removed)}, not {step.reply}"}


def _requeue(step: Step, state: State) -> set[str]:
    found = [each for each, at in step.call.failures if state.errors.get(each) == at]
    for each in sorted(found, key=lambda ident: int(ident.partition("-")[0])):
        kind = step.kinds[each]
        del state.errors[each]
        state.lists.setdefault(f"pending:{kind}", []).append(each)
        count(state, "failed", -1, kind)
        state.bells.add(kind)
    if found:
        note(state, "requeued")
    return {"OK"} if step.reply == len(found) else {f"OK {len(found)}, not {step.reply}"}


def _discard(step: Step, state: State) -> set[str]:
    found = [each for each, at in step.call.failures if state.errors.get(each) == at]
    for each in found:
        del state.errors[each]
    count(state, "discarded", len(found))
    if found:
        note(state, "discarded")
    return {"OK"} if step.reply == len(found) else {f"OK {len(found)}, not {step.reply}"}


def _pause(step: Step, state: State) -> set[str]:
    kinds = set(step.call.kinds)
    news = len(kinds - state.paused if step.call.on else kinds & state.paused)
    for _ in range(news):
        note(state, "paused" if step.call.on else "resumed")
    state.paused = state.paused | kinds if step.call.on else state.paused - kinds
    if not step.call.on:
        ring(state, kinds)
    return {"OK"} if step.reply == news else {f"OK {news}, not {step.reply}"}


def _handover(step: Step, state: State) -> set[str]:
    if state.holder not in state.lives:
        return {"VACANT"}
    if step.call.term not in {0, state.number("term")}:
        return {"OVER"}
    others = [place.id for place in state.line.values() if place.id != state.holder and place.id in state.lives]
    if not others:
        return {"NOBODY"}
    state.term["asked"] = state.term["term"]
    note(state, "asked")
    return {"OK"}


SCRIPTS: Mapping[str, Callable[[Step, State], set[str]]] = {
    "join": presences.join,
    "beat": presences.beat,
    "reclaim": presences.reclaim,
    "leave": presences.leave,
    "publish": _publish,
    "next": _next,
    "drain": _drain,
    "confirm": _confirm,
    "requeue": _requeue,
    "discard": _discard,
    "pause": _pause,
    "handover": _handover,
}
