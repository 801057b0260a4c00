#!lua
-- For tests: the last tick of these schedules is at this moment, so their next one is the first behind it. Safe to repeat.
--
-- KEYS
--   meta       hash
--   schedules  hash
--   term       hash
--   alarm      list
-- ARGV
--   tick  int   ms
--   ...   text  names
-- REPLY
--   OK version   of the agenda
local meta, schedules, term_key, alarm = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local tick, names = ARGV[1], { unpack(ARGV, 2) }
-- include: types
-- include: alarm
meet({ meta, schedules, term_key }, {})
redis.call('LLEN', alarm)

for _, name in ipairs(names) do
  if redis.call('HEXISTS', schedules, name) == 1 then redis.call('HSET', term_key, 'tick:schedule:' .. name, tick) end
end
local version = redis.call('HINCRBY', meta, 'agenda', 1)
sound(alarm)
return { 'OK', version }
