#!lua flags=no-writes
-- What there is to know of the schedules. Reads only.
--
-- KEYS
--   meta       hash
--   schedules  hash
--   paused     hash
--   runs       hash
--   term       hash
-- ARGV
--   known  int  the version that the caller knows, -1 for none
-- REPLY
--   OK now_ms version schedules ticks paused runs
--        schedules: name and JSON by turns; ticks: the last tick of each, in the same order, 0 for none; paused and runs:
--        fields and values by turns. All of them empty if the caller knows this version.
local meta, schedules, paused, runs, term_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local known = tonumber(ARGV[1])
-- include: clock

local version = tonumber(redis.call('HGET', meta, 'agenda') or 0)
if version == known then return { 'OK', now, version, {}, {}, {}, {} } end
local found, ticks = redis.call('HGETALL', schedules), {}
for i = 1, #found, 2 do ticks[#ticks + 1] = redis.call('HGET', term_key, 'tick:schedule:' .. found[i]) or '0' end
return { 'OK', now, version, found, ticks, redis.call('HGETALL', paused), redis.call('HGETALL', runs) }
