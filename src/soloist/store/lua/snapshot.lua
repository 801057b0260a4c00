#!lua flags=no-writes
-- Everything that `status` shows, in one atomic read. The caller names the instances, drainers and kinds that it
-- believes to be there, since their keys must be passed; if that is not so, it is told, and asks again.
--
-- KEYS
--   meta       hash
--   instances  zset
--   drainers   zset
--   line       hash
--   term       hash
--   totals     hash
--   errors     hash
--   kinds      set
--   paused     hash
--   ...        per instance: instance hash, claimed list; per drainer: instance hash, drained hash; per kind:
--              pending, again, suspect, bell, delayed
-- ARGV
--   instances_count  int
--   drainers_count   int
--   kinds_count      int
--   ...              text  the instance ids, the drainer ids, the kinds, each sorted
-- REPLY
--   OK now_ms meta term totals line errors instances drainers kinds paused
--        instances and drainers: of each id, deadline, how many it holds, fields; kinds: name, waiting, head, paused; paused: all that is, kind:NAME, source:NAME,
--        schedule:NAME
--   CHANGED instances drainers kinds   who and what is there now
local meta, instances, drainers, line, term = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local totals, errors, kinds, paused = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local instances_count, drainers_count, kinds_count = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local keys, names, at = KEYS, ARGV, 3
-- include: clock
-- include: kinds

local function sorted(values)
  table.sort(values)
  return values
end
local there = { sorted(redis.call('ZRANGE', instances, 0, -1)), sorted(redis.call('ZRANGE', drainers, 0, -1)),
  sorted(redis.call('SMEMBERS', kinds)) }
local given = {}
for i, many in ipairs({ instances_count, drainers_count, kinds_count }) do
  given[i] = slice(names, at + 1, many)
  at = at + many
  if table.concat(given[i], ' ') ~= table.concat(there[i], ' ') then return { 'CHANGED', unpack(there) } end
end

local next_key = 10
local function seen_of(presence, ids, length)
  local seen = {}
  for i, id in ipairs(ids) do
    seen[i] = { id, redis.call('ZSCORE', presence, id), redis.call(length, keys[next_key + 1]),
      redis.call('HGETALL', keys[next_key]) }
    next_key = next_key + 2
  end
  return seen
end
local seen_instances, seen_drainers = seen_of(instances, given[1], 'LLEN'), seen_of(drainers, given[2], 'HLEN')
local seen_kinds = {}
local lists = kind_lists(next_key, given[3])
for i, name in ipairs(given[3]) do
  local of = lists[name]
  seen_kinds[i] = { name, pending_in(of), string.sub(head_of(of), 1, 256), redis.call('HEXISTS', paused, 'kind:' .. name) }
end
return { 'OK', now, redis.call('HGETALL', meta), redis.call('HGETALL', term), redis.call('HGETALL', totals),
  redis.call('HGETALL', line), redis.call('HLEN', errors), seen_instances, seen_drainers, seen_kinds, redis.call('HKEYS', paused) }
