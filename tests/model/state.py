"""The whole namespace in one atomic read; and a server that goes back to an earlier state, as after a failover."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from soloist.store.replies import fields, text, texts
from tests.servers import Store

READ = """
local base, answer = ARGV[1], { redis.call('TIME') }
for _, name in ipairs({ 'instances', 'drainers' }) do
  answer[#answer + 1] = redis.call('ZRANGE', base .. name, 0, -1, 'WITHSCORES')
end
for _, name in ipairs({ 'term', 'totals' }) do answer[#answer + 1] = redis.call('HGETALL', base .. name) end
local times, judges = redis.call('ZRANGE', base .. 'errors:by_time', 0, -1), {}
answer[#answer + 1] = times
local places = {}
for _, key in ipairs(redis.call('KEYS', base .. '*')) do
  local name = string.sub(key, #base + 1)
  local what = string.match(name, '^%a+')
  if what == 'pending' or what == 'again' or what == 'suspect' then
    for _, envelope in ipairs(redis.call('LRANGE', key, 0, -1)) do
      places[#places + 1] = name
      places[#places + 1] = string.match(envelope, '^[^ ]+')
    end
  elseif what == 'claimed' or what == 'drained' or name == 'errors' then
    for _, id in ipairs(redis.call('HKEYS', key)) do
      places[#places + 1] = name
      places[#places + 1] = id
    end
  elseif what == 'instance' and string.find(name, ':', 1, true) then
    judges[#judges + 1] = string.match(name, ':(.*)$')
    judges[#judges + 1] = redis.call('HGET', key, 'since') or 0
  end
end
answer[#answer + 1] = judges
answer[#answer + 1] = places
return answer
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


@dataclass(frozen=True)
class State:
    """What is stored at one instant.

    Attributes:
        instances: id to deadline, server ms; drainers alike.
        since: since when each one that has a hash was heard without a gap, server ms.
        places: message id to every place where it stands: `pending:KIND`, `claimed:ID`, `errors`, …
    """

    now_ms: int
    instances: dict[str, int]
    drainers: dict[str, int]
    term: dict[str, str]
    totals: dict[str, int]
    errors_by_time: set[str]
    since: dict[str, int]
    places: dict[str, list[str]]

    @property
    def present(self) -> dict[str, int]:
        return self.instances | self.drainers

    @property
    def holder(self) -> str:
        return self.term.get("instance", "")

    def number(self, field: str) -> int:
        """A number in the term's hash: term, call, seq, deadline, cursor."""
        return int(self.term.get(field, 0))

    def standing(self, place: str) -> set[str]:
        """The ids that stand there."""
        return {ident for ident, where in self.places.items() if place in where}


def read(store: Store) -> State:
    clock, instances, drainers, term, totals, times, judges, places = store.link.command(
        "EVAL", READ, 0, store.keys.base
    )
    by_id: dict[str, list[str]] = defaultdict(list)
    for place, ident in _pairs(places):
        by_id[ident].append(place)
    return State(
        now_ms=int(clock[0]) * 1000 + int(clock[1]) // 1000,
        instances={ident: int(deadline) for ident, deadline in _pairs(instances)},
        drainers={ident: int(deadline) for ident, deadline in _pairs(drainers)},
        term=fields(term),
        totals={name: int(value) for name, value in fields(totals).items()},
        errors_by_time=set(texts(times)),
        since={ident: int(since) for ident, since in _pairs(judges)},
        places=dict(by_id),
    )


def save(store: Store) -> list[bytes]:
    """Everything that the server knows of the namespace now."""
    kept: list[bytes] = store.link.command("EVAL", SAVE, 0, store.keys.base)
    return kept


def restore(store: Store, kept: list[bytes]) -> None:
    """The server knows that again, and nothing else."""
    store.link.command("EVAL", RESTORE, 0, store.keys.base, *kept)


def _pairs(flat: list[Any]) -> list[tuple[str, str]]:
    values = iter(flat)
    return [(text(one), text(other)) for one, other in zip(values, values, strict=True)]
