#!lua
-- Adds a schedule at run time, changes it, or removes it. Safe to repeat. What the App's code declares is the code's to change.
--
-- KEYS
--   meta       hash
--   schedules  hash
--   term       hash
--   runs       hash
--   alarm      list
--   log        stream
--   paused     hash
-- ARGV
--   name  text
--   json  text  empty: remove it
-- REPLY
--   OK changed   1 if that is news
--   CODE         the App's code declares it: nothing was changed
--   EMPTY        there is no such namespace
local meta, schedules, term_key, runs, alarm, log, paused = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local name, json = ARGV[1], ARGV[2]
-- include: clock
-- include: log
-- include: types
-- include: alarm
-- include: agenda
meet({ meta, schedules, term_key, runs, paused }, {}, log)
redis.call('LLEN', alarm)

if redis.call('EXISTS', meta) == 0 then return { 'EMPTY' } end
local before = redis.call('HGET', schedules, name)
if is_of_code(before) then return { 'CODE' } end
if json == '' then
  if not before then return { 'OK', 0 } end
  drop_schedule(schedules, term_key, runs, name)
  redis.call('HDEL', paused, 'schedule:' .. name)
elseif not put_schedule(schedules, term_key, runs, name, json) then
  return { 'OK', 0 }
end
tell_of_change(meta, alarm)
note(log, 'event', json == '' and 'unscheduled' or 'scheduled', 'schedule', name)
return { 'OK', 1 }
