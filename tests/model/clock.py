"""Moving time: every moment that is stored is rewritten, as if the server's clock had gone on, or back.

Some may be heard all the while: their hearts went on beating, and the model spares itself the single beats.
"""

from collections.abc import Set as AbstractSet

from soloist.settings import Settings
from tests.model.judging import has_gap
from tests.model.state import Life, Place, State
from tests.servers import Store

WRITE = """
local at = 1
while at <= #ARGV do
  redis.call(unpack(ARGV, at + 1, at + tonumber(ARGV[at])))
  at = at + 1 + tonumber(ARGV[at])
end
return 'OK'
"""


SHIFT = (
    "for _, each in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do redis.call('ZINCRBY', KEYS[1], ARGV[1], each) end"
)


def moved(state: State, ms: int, heard: AbstractSet[str], there: AbstractSet[str], settings: Settings) -> State:
    """The state as it is when so much time has passed."""
    after, now = state.copy(), state.now_ms

    def shift(moment: int) -> int:
        return moment - ms if moment > 0 else moment

    for ident, life in state.lives.items():
        older = life._replace(
            deadline=shift(life.deadline),
            beat=shift(life.beat),
            since=shift(life.since),
            will_since=shift(life.will_since),
            zero=shift(life.zero),
        )
        if ident in heard:
            begun = older.since if not has_gap(life, now, settings.lease_ms) else now - ms
            older = _heard(older, now, begun, subscribed=ident in there)
        after.lives[ident] = older
    for field in ("deadline", "since", "renewed"):
        if state.number(field):
            after.term[field] = str(shift(state.number(field)))
    if state.holder in heard:
        after.term |= {"deadline": str(now + state.number("lease")), "renewed": str(now)}
    after.line = {
        at: Place(place.id, now if place.id in heard else shift(place.last), place.idle_judge)
        for at, place in state.line.items()
    }
    after.delayed = {name: {ident: shift(due) for ident, due in dues.items()} for name, dues in state.delayed.items()}
    after.attempts = {
        ident: of._replace(since=shift(of.since), hold=shift(of.hold)) for ident, of in state.attempts.items()
    }
    return after


def _heard(life: Life, now: int, since: int, *, subscribed: bool) -> Life:
    unbroken = max(since, life.will_since) if subscribed and life.will_since else 0
    return life._replace(
        deadline=now + life.lease, beat=now, since=since, will_since=unbroken, has=subscribed and life.has, zero=0
    )


def write(store: Store, old: State, new: State) -> None:
    """Store every moment that differs, in one step."""
    keys = store.keys
    commands: list[tuple[str | int, ...]] = []
    for ident, life in new.lives.items():
        if life != old.lives[ident]:
            presence = keys.drainers if life.drains else keys.instances
            entry = f"{int(life.has)} {life.interval} {life.zero} {life.lease}"
            commands += [
                ("ZADD", presence, life.deadline, ident),
                ("HSET", keys.wills, ident, entry),
                ("HSET", keys.instance(ident), "beat", life.beat, "since", life.since, "will_since", life.will_since),
            ]
    for field, value in new.term.items():
        if old.term.get(field) != value:
            commands.append(("HSET", keys.term, field, value))
    commands += [
        ("HSET", keys.line, at, f"{place.id} {place.last} {int(place.idle_judge)}") for at, place in new.line.items()
    ]
    commands += [("HSET", keys.attempts, ident, " ".join(map(str, of))) for ident, of in new.attempts.items()]
    for name, dues in new.delayed.items():
        ident = next(iter(dues))
        store.link.command("EVAL", SHIFT, 1, keys.base + name, dues[ident] - old.delayed[name][ident])
    if commands:
        store.link.command("EVAL", WRITE, 0, *(word for command in commands for word in (len(command), *command)))
