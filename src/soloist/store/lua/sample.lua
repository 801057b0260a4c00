#!lua flags=allow-oom
-- The generator notes what it sees, once a second: a sample for the history, and in the common log that messages failed
-- (one entry for all of ten seconds). Safe to repeat: a second has one sample. Bounded, so allowed when memory is full.
--
-- KEYS
--   instances  zset
--   term       hash
--   totals     hash
--   log        stream
--   history    stream  one entry a second, for an hour
--   ...        lists   pending, again, suspect, bell, delayed (zset) of each kind
-- ARGV
--   id    text
--   term  int   the term that the caller plays
--   ...   text  the kinds
-- REPLY
--   OK     noted, or this second has its sample already
--   OVER   the term is another's; nothing was changed
local instances, term_key, totals, log, history = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, named = ARGV[1], ARGV[2]
local names = { unpack(ARGV, 3) }
-- include: clock
-- include: kinds
-- include: types
-- include: log
local SECONDS, BURST_MS = 3600, 10000
local lists = kind_lists(6, names)
meet({ term_key, totals }, { instances }, log, lists)
redis.call('XLEN', history)

local held = redis.call('HMGET', term_key, 'term', 'instance', 'sampled', 'failed_noted', 'failed_noted_at')
if held[1] ~= named or held[2] ~= id then return { 'OVER' } end
local second = math.floor(now / 1000)
if tonumber(held[3] or 0) == second then return { 'OK' } end

local pending, oldest = 0, now
for _, name in ipairs(names) do
  local of = lists[name]
  pending = pending + pending_in(of)
  oldest = math.min(oldest, tonumber(string.match(head_of(of), '^[^ ]+ [^ ]+ [^ ]+ (%d+) ') or now))
end
local of = redis.call('HMGET', totals, 'published', 'completed', 'failed', 'reclaimed', 'superseded:publish',
  'superseded:next', 'superseded:beat')
for i = 1, 7 do of[i] = tonumber(of[i] or 0) end
redis.call('XADD', history, 'MAXLEN', '~', SECONDS, '*', 'published', of[1], 'completed', of[2], 'failed', of[3],
  'reclaimed', of[4], 'superseded', of[5] + of[6] + of[7], 'pending', pending, 'oldest_pending_ms', now - oldest,
  'instances', redis.call('ZCARD', instances))
redis.call('HSET', term_key, 'sampled', second)

local failed, noted, noted_at = of[3], tonumber(held[4] or 0), tonumber(held[5] or 0)
if failed < noted then -- some were put back
  redis.call('HSET', term_key, 'failed_noted', failed)
elseif failed > noted and (now < noted_at or now - noted_at >= BURST_MS) then
  note(log, 'event', 'failed', 'messages', failed - noted)
  redis.call('HSET', term_key, 'failed_noted', failed, 'failed_noted_at', now)
end
return { 'OK' }
