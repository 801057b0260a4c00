#!lua
-- The generator publishes one page of one source: messages, cursor and tick in one step, and the term is renewed.
-- Numbered calls, one sender: a call that was applied already is answered OK and changes nothing. Not allowed when
-- memory is full: it is then refused whole.
--
-- KEYS
--   instances  zset
--   wills      hash
--   instance   hash   the caller's own
--   term       hash
--   totals     hash
--   kinds      set
--   log        stream
--   tracked    hash
--   runs       hash
--   ...        lists  pending, again, suspect, bell, delayed (zset) of each kind in the page
-- ARGV
--   id           text
--   term         int
--   call         int   one more than the call before it
--   first        int   the sequence number of the first message
--   lease_ms     int
--   max_pending  int   of each kind: at or above it nothing is accepted
--   source       text  schedule:NAME: its messages are runs of that schedule
--   cursor       text  empty: none is stored, else "=" and the cursor
--   tick         int   server ms, 0 for none
--   overlap      text  while a run of the schedule is not over: allow, or nothing is published and the tick is passed over (skip)
--                      or not (wait)
--   skipped      int   ticks of the schedule that are not made up for
--   kinds_count  int
--   ...          text  the kinds; then how many messages of each; then the envelopes in that order
-- REPLY
--   OK now_ms         accepted (or it was already)
--   FULL pending      too many wait: nothing was changed, the call number is not used
--   BUSY now_ms       a run of the schedule is not over: the call number is used, but no number of a message
--   SUPERSEDED term   the term is another's: it is over, presence and claims are not
--   SUPERSEDED        presence gone, or call and numbers do not fit: be reborn
local instances, wills, instance, term_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local totals, kinds, log, tracked, runs = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local id, named, call, first = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local lease_ms, max_pending = tonumber(ARGV[5]), tonumber(ARGV[6])
local source, cursor, tick, overlap, skipped = ARGV[7], ARGV[8], tonumber(ARGV[9]), ARGV[10], tonumber(ARGV[11])
local kinds_count, schedule = tonumber(ARGV[12]), string.match(source, '^schedule:(.*)$')
local names, counts = { unpack(ARGV, 13, 12 + kinds_count) }, { unpack(ARGV, 13 + kinds_count, 12 + 2 * kinds_count) }
local envelopes, offset = ARGV, 12 + 2 * kinds_count
-- include: clock
-- include: wills
-- include: kinds
-- include: log
-- include: types
-- include: tracked
local lists = kind_lists(10, names)
meet({ wills, instance, term_key, totals, tracked, runs }, { instances }, log, lists)
redis.call('SCARD', kinds)

local function superseded(...)
  redis.call('HINCRBY', totals, 'superseded:publish', 1)
  note(log, 'event', 'superseded', 'what', 'publish', 'number', redis.call('HGET', instance, 'number') or 0,
    'instance', id, 'term', named)
  return { 'SUPERSEDED', ... }
end
if not redis.call('ZSCORE', instances, id) then return superseded() end
local held = redis.call('HMGET', term_key, 'term', 'instance', 'call', 'seq')
if held[1] ~= named or held[2] ~= id then return superseded('term') end
local applied, seq = tonumber(held[3]), tonumber(held[4])
local total = #envelopes - offset
clear_mark(wills, id)
if call == applied then
  redis.call('HSET', term_key, 'call', call) -- something to WAIT for on a new connection
  if seq < first and total > 0 then return { 'BUSY', now } end
  return { 'OK', now }
end
if call ~= applied + 1 or first ~= seq + 1 then return superseded() end
for _, name in ipairs(names) do
  local of = lists[name]
  local waiting = redis.call('LLEN', of.pending) + redis.call('LLEN', of.again) + redis.call('ZCARD', of.delayed)
  if waiting >= max_pending then return { 'FULL', waiting } end
end
-- A page that comes late must not set a schedule back that was paused and resumed, or changed, meanwhile.
local function store_tick()
  local stored = schedule and redis.call('HGET', term_key, 'tick:' .. source) or 0
  if tick > tonumber(stored or 0) then redis.call('HSET', term_key, 'tick:' .. source, tick) end
end
if overlap ~= 'allow' and running(runs, schedule) > 0 then
  redis.call('HSET', term_key, 'call', call, 'deadline', now + lease_ms, 'renewed', now)
  if overlap == 'skip' then
    store_tick()
    redis.call('HINCRBY', runs, 'skipped ' .. schedule, skipped + total)
  else
    redis.call('HSET', runs, 'waits ' .. schedule, tick)
  end
  return { 'BUSY', now }
end

redis.call('HSET', term_key, 'call', call, 'seq', seq + total, 'deadline', now + lease_ms, 'renewed', now)
if cursor ~= '' then redis.call('HSET', term_key, 'cursor:' .. source, string.sub(cursor, 2)) end
store_tick()
for i, name in ipairs(names) do
  local last = offset + tonumber(counts[i])
  for from = offset + 1, last, 1000 do
    redis.call('RPUSH', lists[name].pending, unpack(envelopes, from, math.min(from + 999, last)))
  end
  offset = last
  redis.call('SADD', kinds, name)
  redis.call('HINCRBY', totals, 'published:' .. name, counts[i])
  ring(lists[name])
end
if schedule then
  track_runs(tracked, runs, ids_of({ unpack(envelopes, 13 + 2 * kinds_count) }), schedule)
  if total > 0 then redis.call('HSET', runs, 'tick ' .. schedule, tick) end
  redis.call('HDEL', runs, 'waits ' .. schedule)
end
if skipped > 0 then redis.call('HINCRBY', runs, 'skipped ' .. schedule, skipped) end
if total > 0 then
  redis.call('HINCRBY', totals, 'published', total)
  redis.call('HINCRBY', instance, 'generated', total)
end
return { 'OK', now }
