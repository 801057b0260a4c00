#!lua flags=allow-oom
-- Pauses or resumes kinds, sources and schedules: of a paused kind nobody claims any more, and what is claimed is finished;
-- a source is not called; the ticks of a schedule go by, and are not made up for. Safe to repeat.
--
-- KEYS
--   paused     hash    kind:NAME, source:NAME, schedule:NAME -> 1
--   log        stream
--   meta       hash
--   alarm      list
--   term       hash
--   schedules  hash
--   ...        lists   pending, again, suspect, bell, delayed (zset) of each kind
-- ARGV
--   pause        int   1: pause, 0: resume
--   kinds_count  int
--   ...          text  the kinds; then source:NAME and schedule:NAME
-- REPLY
--   OK changed   of how many that is news
local paused, log, meta, alarm, term_key, schedules = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local pause, kinds_count = ARGV[1] == '1', tonumber(ARGV[2])
local values, at = ARGV, 3
-- include: clock
-- include: kinds
-- include: log
-- include: types
-- include: alarm
-- include: agenda
local names, others = slice(values, at, kinds_count), slice(values, at + kinds_count, #values - at - kinds_count + 1)
local lists = kind_lists(7, names)
meet({ paused, meta, term_key, schedules }, {}, log, lists)
redis.call('LLEN', alarm)

local function switch(what, name)
  local field = what .. ':' .. name
  local news = pause and redis.call('HSET', paused, field, 1) or redis.call('HDEL', paused, field)
  if news == 1 then note(log, 'event', pause and 'paused' or 'resumed', what, name) end
  return news
end
local changed = 0
for _, name in ipairs(names) do
  changed = changed + switch('kind', name)
  if not pause and work_in(lists[name]) > 0 then ring(lists[name]) end
end
local on_agenda = 0
for _, each in ipairs(others) do
  local what, name = string.match(each, '^(%l+):(.*)$')
  local news = switch(what, name)
  if news == 1 and not pause and what == 'schedule' and redis.call('HEXISTS', schedules, name) == 1 then
    redis.call('HSET', term_key, 'tick:schedule:' .. name, tick_to_go_on_with(schedules, term_key, name))
  end
  on_agenda = on_agenda + news
end
if on_agenda > 0 then tell_of_change(meta, alarm) end
return { 'OK', changed + on_agenda }
