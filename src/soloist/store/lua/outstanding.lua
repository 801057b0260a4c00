#!lua flags=no-writes
-- For tests: what is still to be done of each kind, in one atomic read. What is delayed and not due yet is counted apart. The
-- caller names the kinds that it believes to be there, since their keys must be passed.
--
-- KEYS
--   totals  hash
--   kinds   set
--   ...     per kind: pending, again, suspect, bell, delayed (zset)
-- ARGV
--   ...   text  the kinds, sorted
-- REPLY
--   OK now_ms due_ms kinds   when the next one of those that are delayed is due, 0 if there is none; kinds: name, how many are
--                            pending or claimed, and how many are delayed and not due, by turns
--   CHANGED kinds            which are there now
local totals, kinds = KEYS[1], KEYS[2]
local names = { unpack(ARGV, 1) }
-- include: clock
-- include: kinds

local there = redis.call('SMEMBERS', kinds)
table.sort(there)
if table.concat(there, ' ') ~= table.concat(names, ' ') then return { 'CHANGED', there } end
local found, due_ms, lists = {}, 0, kind_lists(3, names)
for _, name in ipairs(names) do
  local of, counts = lists[name], redis.call('HMGET', totals, 'published:' .. name, 'completed:' .. name, 'failed:' .. name)
  local later = redis.call('ZRANGE', of.delayed, '(' .. now, '+inf', 'BYSCORE', 'WITHSCORES')
  if later[2] and (due_ms == 0 or tonumber(later[2]) < due_ms) then due_ms = tonumber(later[2]) end
  local open = (counts[1] or 0) - (counts[2] or 0) - (counts[3] or 0) - #later / 2
  for _, value in ipairs({ name, open, #later / 2 }) do found[#found + 1] = value end
end
return { 'OK', now, due_ms, found }
