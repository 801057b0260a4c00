#!lua flags=allow-oom
-- A handler's one call: completes and fails what is done, gives back what will not be done, claims what comes next.
-- What leaves its hands is named by its places among what it holds, since the caller knows their order as well as we do:
-- so a call about a thousand messages is no longer than one about ten, and takes them out in one step.
-- Numbered by turn and tied to the answer before it by its stamp: a call that was applied already is answered with
-- what the caller holds, anything else that does not fit changes nothing.
--
-- KEYS
--   instances       zset
--   wills           hash
--   instance        hash   the caller's own
--   claimed         list   the caller's own: the envelopes that it holds, in the order in which it claimed them
--   attempts        hash
--   totals          hash
--   errors          hash
--   errors_by_time  zset
--   paused          hash
--   log             stream
--   ...             lists  pending, again, suspect, bell of each kind that it handles or holds
-- ARGV
--   id            text
--   turn          int   one more than the turn before it
--   stamp         text  of the answer before it (join's, for the first)
--   heartbeat_ms  int   its beat interval from now on, if this claims anything
--   max_attempts  int
--   kinds_count   int
--   runs_count    int
--   ...           text  per kind: name, want, completed, failed (how many); then per run of what leaves its hands, in the
--                       order of claimed: done or back, place of its first, length, id of its first, failed (how many),
--                       and of each that failed: place, id, details
-- REPLY
--   OK stamp envelopes attempts hold      applied; attempts: id, deaths, retries of those claimed that have any;
--                                         hold: 1 = claim no more until nothing is held, a suspect waits
--   AGAIN stamp envelopes attempts hold   it was applied before; the envelopes are all that the caller holds now
--   FOREIGN stamp list                    applied; nothing was claimed: what stands at the head of that list is no envelope
--   KINDS name                            gives back a message of a kind that was not given: nothing was changed
--   SUPERSEDED                            presence gone, turn or stamp do not fit, or what is named is not claimed or
--                                         stands elsewhere: be reborn
local instances, wills, instance, claimed, attempts = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local totals, errors, errors_by_time, paused, log = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local id, turn, stamp, heartbeat_ms, max_attempts = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local kinds_count, runs_count, values, at = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV, 8
-- include: clock
-- include: chunks
-- include: wills
-- include: kinds
-- include: attempts
-- include: records
-- include: unknown
-- include: log
-- include: runs
-- include: outcomes
-- include: suspects
-- include: claim
-- include: types

local names, groups = {}, {}
for i = 1, kinds_count do
  names[i] = values[at]
  groups[i] = { name = values[at], want = tonumber(values[at + 1]), completed = tonumber(values[at + 2]),
    failed = tonumber(values[at + 3]) }
  at = at + 4
end
local lists = kind_lists(11, names)
meet({ wills, totals, paused }, {}, log, lists) -- the others are read or met below, before the first write
local any_attempts = redis.call('HLEN', attempts) > 0

local function superseded()
  local number = redis.call('HGET', instance, 'number') or 0
  redis.call('HINCRBY', totals, 'superseded:next', 1)
  note(log, 'event', 'superseded', 'what', 'next', 'number', number, 'instance', id)
  return { 'SUPERSEDED' }
end
if not redis.call('ZSCORE', instances, id) then return superseded() end
local seen = redis.call('HMGET', instance, 'turn', 'stamp', 'before', 'alone')
if not seen[1] then return superseded() end
if turn == tonumber(seen[1]) and stamp == seen[3] then
  local envelopes = redis.call('LRANGE', claimed, 0, -1)
  redis.call('HSET', instance, 'turn', turn) -- something to WAIT for on a new connection
  clear_mark(wills, id)
  return { 'AGAIN', seen[2], envelopes, attempts_of(attempts, envelopes), 0 }
end
if turn ~= tonumber(seen[1]) + 1 or stamp ~= seen[2] then return superseded() end

-- Everything is checked before anything is written: Lua has no rollback.
local runs = read_runs(values, at, runs_count)
if not fit(runs, claimed, groups) then return superseded() end
for _, group in ipairs(groups) do
  if group.failed > 0 then meet({ errors }, { errors_by_time }) end
end
local returned = envelopes_in(runs, 'back', claimed)
local missing = unknown_kinds(returned, lists)
if #missing > 0 then return { 'KINDS', missing[1] } end

if any_attempts then
  in_chunks(ids_of(envelopes_in(runs, 'done', claimed)), function(...) redis.call('HDEL', attempts, ...) end)
end
if #runs > 0 then remove(runs, claimed) end
store_records(errors, errors_by_time, records_of(runs))
if #returned > 0 then give_back(lists, attempts, returned, max_attempts) end
count(totals, instance, groups)

local new_stamp = text_us(now_us)
local envelopes, hold, foreign = claim(lists, groups, claimed, seen[4])
redis.call('HSET', instance, 'turn', turn, 'stamp', new_stamp, 'before', stamp)
clear_mark(wills, id, #envelopes > 0 and heartbeat_ms or nil)
ring_for_work(names, lists, paused)
if foreign then return { 'FOREIGN', new_stamp, foreign } end
return { 'OK', new_stamp, envelopes, any_attempts and attempts_of(attempts, envelopes) or {}, hold and 1 or 0 }
