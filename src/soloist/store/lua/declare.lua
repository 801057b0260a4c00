#!lua
-- The generator says which schedules its App's code declares: those are put in place, and what code declared before is
-- removed. Safe to repeat.
--
-- KEYS
--   instances  zset
--   meta       hash
--   schedules  hash
--   term       hash
--   runs       hash
--   alarm      list
--   log        stream
-- ARGV
--   id    text
--   term  int
--   ...   text  name and JSON by turns
-- REPLY
--   OK changed        of how many that is news
--   SUPERSEDED term   the term is another's: nothing was changed
local instances, meta, schedules, term_key, runs, alarm, log = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local id, named = ARGV[1], ARGV[2]
local values, at = ARGV, 3
-- include: clock
-- include: log
-- include: types
-- include: alarm
-- include: agenda
meet({ meta, schedules, term_key, runs }, { instances }, log)
redis.call('LLEN', alarm)

local held = redis.call('HMGET', term_key, 'term', 'instance')
if held[1] ~= named or held[2] ~= id or not redis.call('ZSCORE', instances, id) then return { 'SUPERSEDED', 'term' } end
local changed, declared = 0, {}
for i = at, #values, 2 do
  declared[values[i]] = true
  if put_schedule(schedules, term_key, runs, values[i], values[i + 1]) then changed = changed + 1 end
end
local stored = redis.call('HGETALL', schedules)
for i = 1, #stored, 2 do
  if not declared[stored[i]] and is_of_code(stored[i + 1]) then
    set_aside(schedules, runs, stored[i])
    changed = changed + 1
  end
end
drop_what_was_kept(schedules, term_key, runs)
if changed > 0 then
  tell_of_change(meta, alarm)
  note(log, 'event', 'declared', 'instance', id, 'term', named, 'schedules', changed)
end
return { 'OK', changed }
