"""The whole namespace in one atomic read; and a server that goes back to an earlier state, as after a failover."""

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from soloist.store.replies import fields as named
from soloist.store.replies import text, texts
from tests.servers import Store

READ = """
local base = ARGV[1]
local function whole(name) return redis.call('HGETALL', base .. name) end
local function ranked(name) return redis.call('ZRANGE', base .. name, 0, -1, 'WITHSCORES') end
local lives, lists, claimed, records, bells, delayed, data = {}, {}, {}, {}, {}, {}, {}
for _, key in ipairs(redis.call('KEYS', base .. '*')) do
  local name = string.sub(key, #base + 1)
  local what = string.match(name, '^%a+')
  if what == 'pending' or what == 'again' or what == 'suspect' then
    local waiting = { name }
    for i, envelope in ipairs(redis.call('LRANGE', key, 0, -1)) do waiting[i + 1] = string.match(envelope, '^[^ ]+') end
    lists[#lists + 1] = waiting
  elseif what == 'claimed' then
    local held = { string.sub(name, 9) }
    for i, envelope in ipairs(redis.call('LRANGE', key, 0, -1)) do held[i + 1] = string.match(envelope, '^[^ ]*') end
    claimed[#claimed + 1] = held
  elseif what == 'drained' or name == 'errors' then
    local held = redis.call('HGETALL', key)
    for i = 2, #held, 2 do held[i] = string.match(held[i], '^%d+') end
    records[#records + 1] = { name, unpack(held) }
  elseif what == 'instance' then
    lives[#lives + 1] = { string.sub(name, 10),
      unpack(redis.call('HMGET', key, 'beat', 'since', 'will', 'will_since', 'turn', 'stamp', 'before', 'alone',
        'generated', 'completed', 'failed', 'retried', 'refused'), 1, 13) }
  elseif what == 'delayed' then
    local waiting = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    for i = 1, #waiting, 2 do waiting[i] = string.match(waiting[i], '^[^ ]+') end
    delayed[#delayed + 1] = { name, unpack(waiting) }
  elseif what == 'data' then
    data[#data + 1] = name
    data[#data + 1] = redis.call('GET', key)
  elseif what == 'bell' then
    bells[#bells + 1] = { name, redis.call('LLEN', key) }
  end
end
return { redis.call('TIME'), ranked('instances'), ranked('drainers'), whole('wills'), lives, whole('meta'), whole('term'),
  whole('totals'), whole('line'), redis.call('HKEYS', base .. 'paused'), whole('attempts'), ranked('errors:by_time'),
  lists, claimed, records, bells, redis.call('XLEN', base .. 'log'),
  redis.call('XREVRANGE', base .. 'log', '+', '-', 'COUNT', 1), delayed, data }
"""

SAVE = """
local kept = {}
for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do
  kept[#kept + 1] = key
  kept[#kept + 1] = redis.call('DUMP', key)
end
return kept
"""

RESTORE = """
for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do redis.call('DEL', key) end
for i = 2, #ARGV, 2 do redis.call('RESTORE', ARGV[i], 0, ARGV[i + 1]) end
return 'OK'
"""


class Life(NamedTuple):
    """What is stored about one that is present; moments and spans in server ms.

    Attributes:
        since: since when it was heard without a gap.
        will: the number of its subscription; `will_since`, since when that is unbroken, 0 if it is not.
        has: whether it has a will.
        zero: since when its channel was seen to count 0; 0 if it was not.
        refused: ids of those that failed by the last `next`, since what they commit would be refused.
    """

    drains: bool
    deadline: int
    beat: int
    since: int
    will: int
    will_since: int
    turn: int
    stamp: str
    before: str
    alone: str
    generated: int
    completed: int
    failed: int
    retried: int
    refused: str
    has: bool
    interval: int
    zero: int
    lease: int


class Attempts(NamedTuple):
    """What is known of a message that was in the hands of one that died."""

    deaths: int
    retries: int
    since: int
    hold: int


class Place(NamedTuple):
    """A place in line."""

    id: str
    last: int
    idle_judge: bool


@dataclass
class State:
    """What is stored at one instant.

    Attributes:
        lists: `pending:KIND`, `again:KIND`, `suspect:KIND` to message ids, the head first.
        delayed: `delayed:KIND` to message ids and the moment at which each is due, server ms.
        data: what was written along with messages: name to number.
        claimed: instance to message ids, in the order of claiming.
        errors: message id to the time of its failure, µs; drained: drainer to the same.
        bells: kinds whose bell has a token.
        log: how many entries the common log has, and which event was the last.
    """

    now_us: int
    lives: dict[str, Life]
    meta: dict[str, str]
    term: dict[str, str]
    totals: dict[str, int]
    line: dict[str, Place]
    paused: set[str]
    attempts: dict[str, Attempts]
    lists: dict[str, list[str]]
    claimed: dict[str, list[str]]
    errors: dict[str, int]
    drained: dict[str, dict[str, int]]
    bells: set[str]
    log: tuple[int, str]
    delayed: dict[str, dict[str, int]]
    data: dict[str, int]

    @property
    def now_ms(self) -> int:
        return self.now_us // 1000

    @property
    def holder(self) -> str:
        return self.term.get("instance", "")

    def number(self, field: str) -> int:
        """A number in the term's hash: term, call, seq, deadline, cursor."""
        return int(self.term.get(field, 0))

    def instances(self) -> list[str]:
        return sorted(ident for ident, life in self.lives.items() if not life.drains)

    def places(self) -> dict[str, list[str]]:
        """Message id to every place where it stands: `pending:KIND`, `claimed:ID`, `errors` and the like."""
        found: dict[str, list[str]] = {}
        for name, waiting in self.lists.items():
            for ident in waiting:
                found.setdefault(ident, []).append(name)
        for name, dues in self.delayed.items():
            for ident in dues:
                found.setdefault(ident, []).append(name)
        for of, held in self.claimed.items():
            for ident in held:
                found.setdefault(ident, []).append(f"claimed:{of}")
        for of, records in self.drained.items():
            for ident in records:
                found.setdefault(ident, []).append(f"drained:{of}")
        for ident in self.errors:
            found.setdefault(ident, []).append("errors")
        return found

    @property
    def pending(self) -> int:
        """All that wait, due or not."""
        return sum(map(len, self.lists.values())) + sum(map(len, self.delayed.values()))

    def copy(self) -> "State":
        """A state of its own, down to the single entries."""
        return State(
            self.now_us,
            self.lives.copy(),
            self.meta.copy(),
            self.term.copy(),
            self.totals.copy(),
            self.line.copy(),
            self.paused.copy(),
            self.attempts.copy(),
            {name: waiting.copy() for name, waiting in self.lists.items()},
            {of: held.copy() for of, held in self.claimed.items()},
            self.errors.copy(),
            {of: held.copy() for of, held in self.drained.items()},
            self.bells.copy(),
            self.log,
            {name: dues.copy() for name, dues in self.delayed.items()},
            self.data.copy(),
        )

    def differences(self, other: "State") -> list[str]:
        """What differs, the clock aside, in words; empty lists and hands are none."""
        if self.same_as(other):
            return []
        told = []
        for name in PARTS:
            mine, its = getattr(self, name), getattr(other, name)
            if not isinstance(mine, dict):
                told += [f"{name}: {mine} | {its}"] if mine != its else []
                continue
            for key in sorted({*mine, *its}):
                one, another = mine.get(key), its.get(key)
                if one != another and (one or another):
                    told.append(f"{name} {key}: {one} | {another}")
        return told

    def same_as(self, other: "State") -> bool:
        return all(getattr(self, name) == getattr(other, name) for name in PARTS)


PARTS = tuple(field.name for field in fields(State) if field.name != "now_us")


class Broken(Exception):
    """What is stored cannot even be read: parts of it contradict each other."""


def parse(answer: list[Any]) -> State:
    """What READ answered.

    Raises:
        Broken: somebody is present in part, or the error store and its order disagree.
    """
    clock, instances, drainers, wills, hashes, meta, term, totals, line, paused = answer[:10]
    attempts, by_time, lists, claimed, records, bells, noted, last, delayed, data = answer[10:]
    entries = dict(_pairs(wills))
    heard = {text(each[0]): each[1:] for each in hashes}
    lives = {ident: _life(False, deadline, heard, entries, ident) for ident, deadline in _pairs(instances)}
    lives |= {ident: _life(True, deadline, heard, entries, ident) for ident, deadline in _pairs(drainers)}
    if not lives.keys() == heard.keys() == entries.keys():
        raise Broken(f"present {sorted(lives)}, hashes {sorted(heard)}, wills {sorted(entries)}")
    held = {text(name): {ident: int(us) for ident, us in _pairs(pairs)} for name, *pairs in records}
    errors = held.pop("errors", {})
    if errors != {ident: int(us) for ident, us in _pairs(by_time)}:
        raise Broken(f"the error store {errors} and its order {_pairs(by_time)} disagree")
    if any(count > 1 for _, count in bells):
        raise Broken(f"more than one token: {bells}")
    return State(
        now_us=int(clock[0]) * 1_000_000 + int(clock[1]),
        lives=lives,
        meta=named(meta),
        term=named(term),
        totals={name: int(value) for name, value in _pairs(totals) if value != "0"},
        line={place: _place(entry) for place, entry in _pairs(line)},
        paused={text(each).removeprefix("kind:") for each in paused},
        attempts={ident: Attempts(*map(int, entry.split())) for ident, entry in _pairs(attempts)},
        lists={text(name): texts(waiting) for name, *waiting in lists},
        claimed={text(of): texts(held) for of, *held in claimed},
        errors=errors,
        drained={name.removeprefix("drained:"): of for name, of in held.items()},
        bells={text(name).removeprefix("bell:") for name, _ in bells},
        log=(noted, named(last[0][1])["event"] if last else ""),
        delayed={text(name): {ident: int(due) for ident, due in _pairs(dues)} for name, *dues in delayed},
        data={name: int(number) for name, number in _pairs(data)},
    )


def _life(drains: bool, deadline: str, heard: dict[str, Any], wills: dict[str, str], ident: str) -> Life:
    try:
        beat, since, will, will_since, turn, stamp, before, alone, generated, completed, failed, retried, refused = (
            heard[ident]
        )
        has, interval, zero, lease = map(int, wills[ident].split())
        return Life(
            drains, int(deadline), int(beat), int(since), int(will), int(will_since), int(turn), text(stamp),
            text(before), text(alone or ""), int(generated), int(completed), int(failed), int(retried or 0),
            text(refused or ""), bool(has), interval, zero, lease,
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise Broken(f"{ident} is present in part: {heard.get(ident)}, will {wills.get(ident)}") from error


def _place(entry: str) -> Place:
    ident, last, idle = entry.split()
    return Place(ident, int(last), idle == "1")


def _pairs(flat: list[Any]) -> list[tuple[str, str]]:
    values = iter(flat)
    return [(text(one), text(other)) for one, other in zip(values, values, strict=True)]


def save(store: Store) -> list[bytes]:
    """Everything that the server knows of the namespace now."""
    kept: list[bytes] = store.link.command("EVAL", SAVE, 0, store.keys.base)
    return kept


def restore(store: Store, kept: list[bytes]) -> None:
    """The server knows that again, and nothing else."""
    store.link.command("EVAL", RESTORE, 0, store.keys.base, *kept)
