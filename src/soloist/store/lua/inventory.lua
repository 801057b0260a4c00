#!lua flags=no-writes
-- What there is in a namespace, but for the messages and error records themselves, of which it tells how many: what an export
-- begins with. Asked again at its end, the same answer means that nothing has changed meanwhile.
--
-- KEYS
--   meta       hash
--   term       hash
--   totals     hash
--   paused     hash
--   schedules  hash
--   runs       hash
--   kinds      set
--   instances  zset
--   drainers   zset
--   errors     hash
--   log        stream
--   ...        lists  pending, again, suspect, bell, delayed (zset) of each kind
-- ARGV
--   ...  text  the kinds, sorted
-- REPLY
--   OK now_ms meta term totals paused schedules runs present errors last_entry lengths
--        present: how many instances and drainers; lengths: pending, again, suspect, delayed of each kind
--   KINDS names   the kinds that there are: nothing was read
local meta, term_key, totals, paused, schedules, runs = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local kinds, instances, drainers, errors, log = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local names = { unpack(ARGV, 1) }
-- include: clock
-- include: kinds
local lists = kind_lists(12, names)

local there = redis.call('SMEMBERS', kinds)
table.sort(there)
if table.concat(there, ' ') ~= table.concat(names, ' ') then return { 'KINDS', there } end
local lengths = {}
for i, name in ipairs(names) do
  local of = lists[name]
  lengths[i] = { redis.call('LLEN', of.pending), redis.call('LLEN', of.again), redis.call('LLEN', of.suspect),
    redis.call('ZCARD', of.delayed) }
end
local entry = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
return { 'OK', now, redis.call('HGETALL', meta), redis.call('HGETALL', term_key), redis.call('HGETALL', totals),
  redis.call('HGETALL', paused), redis.call('HGETALL', schedules), redis.call('HGETALL', runs),
  redis.call('ZCARD', instances) + redis.call('ZCARD', drainers), redis.call('HLEN', errors), entry and entry[1] or '',
  lengths }
