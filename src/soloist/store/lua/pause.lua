#!lua flags=allow-oom
-- Pauses or resumes kinds: of a paused one nobody claims any more; what is claimed is finished. Safe to repeat.
--
-- KEYS
--   paused  hash    kind:NAME -> 1
--   log     stream
--   ...     lists   pending, again, suspect, bell, delayed (zset) of each kind
-- ARGV
--   pause  int   1: pause, 0: resume
--   ...    text  the kinds
-- REPLY
--   OK changed   of how many kinds that is news
local paused, log = KEYS[1], KEYS[2]
local pause = ARGV[1] == '1'
local names = { unpack(ARGV, 2) }
-- include: kinds
-- include: log
-- include: types
local lists = kind_lists(3, names)
meet({ paused }, {}, log, lists)

local changed = 0
for _, name in ipairs(names) do
  local news = pause and redis.call('HSET', paused, 'kind:' .. name, 1) or redis.call('HDEL', paused, 'kind:' .. name)
  if news == 1 then note(log, 'event', pause and 'paused' or 'resumed', 'kind', name) end
  if not pause and work_in(lists[name]) > 0 then ring(lists[name]) end
  changed = changed + news
end
return { 'OK', changed }
