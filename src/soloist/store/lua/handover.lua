#!lua flags=allow-oom
-- Asks the generator to step down, if somebody is in line. Its next beat is told, and it resigns. Safe to repeat; a late
-- copy asks only for the term that was on when it was made.
--
-- KEYS
--   instances  zset
--   line       hash
--   term       hash
--   log        stream
-- ARGV
--   term  int   the term that is to end; 0: whichever is on
-- REPLY
--   OK term instance   it was asked
--   OVER term          that term is over already
--   VACANT             nobody generates
--   NOBODY             nobody is in line: nothing was changed
local instances, line, term_key, log = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local named = tonumber(ARGV[1])
-- include: clock
-- include: line
-- include: log
-- include: types
meet({ line, term_key }, { instances }, log)

local held = redis.call('HMGET', term_key, 'term', 'instance')
local term, holder = tonumber(held[1] or 0), held[2] or ''
if holder == '' or not redis.call('ZSCORE', instances, holder) then return { 'VACANT' } end
if named > 0 and named ~= term then return { 'OVER', term } end
local someone = false
for _, place in ipairs(read_line(line)) do
  if place.id ~= '' and place.id ~= holder and redis.call('ZSCORE', instances, place.id) then someone = true end
end
if not someone then return { 'NOBODY' } end
redis.call('HSET', term_key, 'asked', term)
note(log, 'event', 'asked', 'instance', holder, 'term', term)
return { 'OK', term, holder }
