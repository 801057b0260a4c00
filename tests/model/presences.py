"""What join, beat, reclaim and leave must answer and leave behind, by docs/protocol.md. See expected.py."""

from soloist.store.presence import Heard, Joined
from tests.model import claims, judging
from tests.model.calls import KINDS, Beat
from tests.model.state import Attempts, Life, Place, State
from tests.model.step import Step, count, moment_us, note, refuse, ring

STEP_MS = 20
"""Of the one who generates, between looks at what is delayed."""


def join(step: Step, state: State) -> set[str]:
    who, reply = step.call.who, step.reply
    if not state.meta and not who.app:
        return {"EMPTY"}
    if state.meta and who.app and who.app != state.meta["app"]:
        return {"APP"}
    if who.id in state.lives:
        return {"TAKEN"}
    if not isinstance(reply, Joined):
        return {"OK"}
    now, settings = reply.now_ms, step.settings
    state.meta.setdefault("protocol", "4")
    state.meta.setdefault("app", who.app)
    if not who.drains:
        known = int(state.meta.get("numbers", 0))
        state.meta["numbers"] = str(max(known, who.number or known + 1))
        note(state, "joined")
    state.lives[who.id] = Life(
        drains=who.drains, deadline=now + settings.claim_lease_ms, beat=now, since=now, will=0, will_since=0, turn=0,
        stamp=reply.stamp, before="", alone="", generated=0, completed=0, failed=0, retried=0, refused="", has=False,
        interval=settings.heartbeat_ms, zero=0, lease=settings.claim_lease_ms,
    )  # fmt: skip
    return {"OK"}


def has_forgotten(life: Life, turn: int, stamp: str) -> bool:
    """Whether the server went back behind the last `next` whose answer the caller has."""
    return life.turn < turn or (life.turn == turn and life.stamp != stamp and turn > 0)


def beat(step: Step, state: State) -> set[str]:
    ident, said, heard, settings = step.call.who.id, step.call.beat, step.reply, step.settings
    assert said is not None
    if ident not in state.lives or has_forgotten(state.lives[ident], *said.known):
        return {"SUPERSEDED"}
    if not isinstance(heard, Heard):
        return {"OK"}
    now, before = heard.now_ms, step.before
    seen = judging.look(before, ident, said, step.there, now, settings.lease_ms)
    state.lives.update(seen.lives)
    if before.number("deadline") > now + before.number("lease"):
        state.term["deadline"] = str(now + before.number("lease"))
    role = _role(step, state, said, seen, now)
    idle_judge = not said.busy and (judging.by_will(seen.me, now) or judging.by_lease(seen.me, now, settings.lease_ms))
    waits = said.may_generate and role in {"handler", "superseded"} and not seen.me.drains
    place = _stand_in_line(step, state, seen, now, idle_judge=idle_judge) if waits else _leave_line(state, ident)
    generates = role in {"generator", "asked", "elected"}
    fast = said.busy or before.claimed.get(ident) or place or seen.me.drains or generates
    interval = settings.heartbeat_ms if fast else max(settings.heartbeat_ms, settings.lease_ms // 3)
    state.lives[ident] = seen.me._replace(deadline=now + settings.claim_lease_ms, interval=interval)
    ends = [interval, *([] if seen.wake is None else [seen.wake])]
    for kind in step.call.who.kinds:
        due = claims.become_due(state, kind, now, settings.max_attempts)
        ends += [] if due is None else [due if due <= 0 else max(due, STEP_MS if generates else settings.heartbeat_ms)]
    ring(state, step.call.who.kinds)
    if role == "handler" and waits and before.holder in seen.lives and before.number("deadline") >= now:
        ends.append(int(state.term["deadline"]) - now + 1)
    if place == 2:
        ends.append(_midway(before.line.get("1"), now, settings.heartbeat_ms))
    right = (role, place, len(state.instances()), seen.gone, _told(state) if role == "elected" else None)
    told = heard.term and (heard.term.number, heard.term.call, heard.term.seq, heard.term.tag)
    given = (heard.role, heard.place, heard.instances, sorted(heard.gone), told)
    soon = max(1, min(ends))
    same = given == right and heard.next_ms == soon
    return {"OK"} if same else {f"OK {right} in {soon} ms, not {given} in {heard.next_ms} ms"}


def _role(step: Step, state: State, said: Beat, seen: judging.Look, now: int) -> str:
    """Resigns, renews, adopts, is superseded, is elected, or handles."""
    ident, before, settings = step.call.who.id, step.before, step.settings
    number, holds = before.number("term"), before.holder == ident
    if holds and not said.may_generate and said.term in {0, number}:
        state.term |= {"instance": "", "deadline": "0"}
        note(state, "resigned")
        return "handler"
    if holds and said.term == number:
        state.term |= {"deadline": str(now + settings.lease_ms), "lease": str(settings.lease_ms), "renewed": str(now)}
        return "asked" if state.term["asked"] == state.term["term"] else "generator"
    if holds:
        return "elected"
    if said.term:
        refuse(state, "beat")
        return "superseded"
    back = said.busy and judging.stands_back(before, ident, seen, now, settings.heartbeat_ms)
    if said.may_generate and not seen.me.drains and judging.is_open(before, seen, now) and not back:
        _elect(state, ident, said.tag, now, settings.lease_ms)
        return "elected"
    return "handler"


def _told(state: State) -> tuple[int, int, int, str]:
    """What a holder is told of its term: where to go on."""
    return state.number("term"), state.number("call"), state.number("seq"), state.term["tag"]


def _midway(first: Place | None, now: int, heartbeat: int) -> int:
    """In how many ms the second in line beats: midway between two beats of the first, if that one is heard in time."""
    if first is None or not 0 <= now - first.last < 1.5 * heartbeat:
        return heartbeat
    return (first.last + heartbeat // 2 - now - 1) % heartbeat + 1


def _elect(state: State, ident: str, tag: str, now: int, lease: int) -> None:
    note(state, "elected")
    renewed = state.number("renewed")
    state.term |= {
        "term": str(state.number("term") + 1), "instance": ident, "deadline": str(now + lease), "lease": str(lease),
        "call": "0", "tag": tag, "since": str(now), "renewed": str(now), "asked": "0",
        "takeover_ms": str(max(0, now - renewed) if renewed else 0), "seq": state.term.get("seq", "0"),
    }  # fmt: skip


def _leave_line(state: State, ident: str) -> int:
    state.line = {place: entry for place, entry in state.line.items() if entry.id != ident}
    return 0


def _stand_in_line(step: Step, state: State, seen: judging.Look, now: int, *, idle_judge: bool) -> int:
    """Its own place, else the first that is free, else, being an idle judge, the first whose occupant is none."""
    ident, before = step.call.who.id, step.before
    both = [before.line.get("1"), before.line.get("2")]
    mine = [at for at, place in enumerate(both, 1) if place and place.id == ident]
    heartbeat = step.settings.heartbeat_ms
    free = [at for at, place in enumerate(both, 1) if judging.is_free(place, before, seen, now, heartbeat)]
    weaker = [at for at, place in enumerate(both, 1) if idle_judge and place and not place.idle_judge]
    _leave_line(state, ident)
    at = next(iter([*mine, *free, *weaker]), 0)
    if at:
        state.line[str(at)] = Place(ident, now, idle_judge)
    return at


def _depart(state: State, ident: str) -> list[str]:
    """Everything of one that is gone is gone with it; answers what it held, oldest first."""
    del state.lives[ident]
    _leave_line(state, ident)
    if state.holder == ident:
        state.term |= {"instance": "", "deadline": "0"}
    state.errors |= state.drained.pop(ident, {})
    return sorted(state.claimed.pop(ident, ()), key=lambda each: int(each.partition("-")[0]))


def reclaim(step: Step, state: State) -> set[str]:
    victim, judge, settings = step.call.subject, step.call.who.id, step.settings
    if victim not in state.lives:
        return {"GONE"}
    verdicts = {
        any(judging.may_reclaim(step.before, judge, victim, step.there, now, settings.lease_ms)) for now in step.moments
    }
    words = {"OK" if may else "ALIVE" for may in verdicts}
    if step.reply is None or True not in verdicts:
        return words
    held = _depart(state, victim)
    kinds = {KINDS[0], *(step.kinds[each] for each in held)}
    for each in held:
        of, kind = state.attempts.get(each, Attempts(0, 0, 0, 0)), step.kinds[each]
        if of.deaths >= settings.max_attempts - 1:
            state.errors[each] = moment_us(step, step.after.errors.get(each, 0), len(held))
            state.attempts.pop(each, None)
            count(state, "failed", 1, kind)
            continue
        where = "suspect" if of.deaths + 1 >= settings.max_attempts - 1 else "again"
        since = step.after.attempts.get(each, of).since if where == "suspect" else of.since
        known = where == "again" or moment_us(step, since * 1000, 1)
        state.attempts[each] = of._replace(deaths=of.deaths + 1, since=since if known else -1)
        state.lists.setdefault(f"{where}:{kind}", []).append(each)
    count(state, "reclaimed", len(held))
    note(state, "reclaimed")
    ring(state, kinds, paused_too=True)
    return words


def leave(step: Step, state: State) -> set[str]:
    if step.call.subject not in state.lives:
        return {"GONE"}
    if not state.lives[step.call.subject].drains:
        note(state, "left")
    held = _depart(state, step.call.subject)
    claims.give_back(state, held, step.kinds, step.settings.max_attempts)
    if held:
        ring(state, {KINDS[0], *(step.kinds[each] for each in held)}, paused_too=True)
    return {"OK"}
