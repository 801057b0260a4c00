#!lua
-- A beat of Celery sends what is due: its messages go into the broker's own queues, and the entry's last run is stored in
-- the same step; the term is renewed. Numbered like publish, with the same numbers, and repeated unchanged until it is known:
-- what was applied already is answered OK and changes nothing. Without messages only the last run is stored.
-- The queues are not ours, and Lua has no rollback: all of them are asked for before anything is written.
--
-- KEYS
--   instances  zset
--   wills      hash
--   instance   hash   the caller's own
--   term       hash
--   meta       hash
--   totals     hash
--   log        stream
--   ...        lists  of the broker, one for each message that goes into a list
-- ARGV
--   id        text
--   term      int
--   call      int   one more than the call before it
--   lease_ms  int
--   agenda    int   the version of the agenda by which this is due
--   entry     text  the name of the schedule
--   tick      int   its last run, ms
--   runs      int   how often it was sent, this time included
--   ...       text  the messages for the lists; then channel and message by turns
-- REPLY
--   OK now_ms              accepted (or it was already)
--   CHANGED agenda         something of the agenda has changed: nothing was changed, the call number is not used
--   FORBIDDEN command key  the ACL forbids it: likewise
--   FOREIGN key type       this queue is no list: likewise
--   SUPERSEDED term        the term is another's: it is over, presence is not
--   SUPERSEDED             presence gone, or the call does not fit: be reborn
local instances, wills, instance, term_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local meta, totals, log = KEYS[5], KEYS[6], KEYS[7]
local queues = { unpack(KEYS, 8) }
local id, named, call, lease_ms = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local agenda, entry, tick, runs = tonumber(ARGV[5]), ARGV[6], ARGV[7], ARGV[8]
local messages = { unpack(ARGV, 9) }
-- include: clock
-- include: wills
-- include: log
-- include: types
meet({ wills, instance, term_key, meta, totals }, { instances }, log)

local function superseded(...)
  redis.call('HINCRBY', totals, 'superseded:send', 1)
  note(log, 'event', 'superseded', 'what', 'send', 'number', redis.call('HGET', instance, 'number') or 0,
    'instance', id, 'term', named, 'schedule', entry)
  return { 'SUPERSEDED', ... }
end
if not redis.call('ZSCORE', instances, id) then return superseded() end
local held = redis.call('HMGET', term_key, 'term', 'instance', 'call')
if held[1] ~= named or held[2] ~= id then return superseded('term') end
local applied = tonumber(held[3])
if call == applied then
  clear_mark(wills, id)
  redis.call('HSET', term_key, 'call', call) -- something to WAIT for on a new connection
  return { 'OK', now }
end
if call ~= applied + 1 then return superseded() end
local version = tonumber(redis.call('HGET', meta, 'agenda') or 0)
if version ~= agenda then return { 'CHANGED', version } end
for _, queue in ipairs(queues) do
  if not redis.acl_check_cmd('LPUSH', queue, '') then return { 'FORBIDDEN', 'LPUSH', queue } end
  local found = redis.call('TYPE', queue).ok
  if found ~= 'list' and found ~= 'none' then return { 'FOREIGN', queue, found } end
end
for i = #queues + 1, #messages, 2 do
  if not redis.acl_check_cmd('PUBLISH', messages[i], '') then return { 'FORBIDDEN', 'PUBLISH', messages[i] } end
end

clear_mark(wills, id)
redis.call('HSET', term_key, 'call', call, 'deadline', now + lease_ms, 'renewed', now,
  'tick:schedule:' .. entry, tick, 'cursor:schedule:' .. entry, runs)
for i, queue in ipairs(queues) do redis.call('LPUSH', queue, messages[i]) end
for i = #queues + 1, #messages, 2 do redis.call('PUBLISH', messages[i], messages[i + 1]) end
if #messages > 0 then redis.call('HINCRBY', instance, 'generated', 1) end
return { 'OK', now }
