#!lua flags=allow-oom
-- A handler's one call: completes and fails what is done, gives back what will not be done, claims what comes next.
-- Numbered by turn and tied to the answer before it by its stamp: a call that was applied already is answered with
-- what the caller holds, anything else that does not fit changes nothing.
--
-- KEYS
--   instances       zset
--   wills           hash
--   instance        hash   the caller's own
--   claimed         hash   the caller's own: message id -> envelope
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
--   ...           text  per kind: name, want, completed, failed, back (how many); then per kind: the completed ids,
--                       the failed ids each followed by its details, the ids given back, oldest first
-- REPLY
--   OK stamp envelopes attempts hold      applied; attempts: id, deaths, retries of those claimed that have any;
--                                         hold: 1 = claim no more until nothing is held, a suspect waits
--   AGAIN stamp envelopes attempts hold   it was applied before; the envelopes are all that the caller holds now
--   FOREIGN list                          applied; nothing was claimed: what stands at the head of that list is no envelope
--   KINDS name                            gives back a message of a kind that was not given: nothing was changed
--   SUPERSEDED                            presence gone, turn or stamp do not fit, or an id is not claimed: be reborn
local instances, wills, instance, claimed, attempts = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local totals, errors, errors_by_time, paused, log = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local id, turn, stamp, heartbeat_ms, max_attempts = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local kinds_count, values, first_value = tonumber(ARGV[6]), ARGV, 7
-- include: clock
-- include: chunks
-- include: wills
-- include: kinds
-- include: attempts
-- include: records
-- include: log
-- include: outcomes
-- include: suspects
-- include: claim
-- include: types

local names, groups, at = {}, {}, first_value + 5 * kinds_count
for i = 1, kinds_count do
  local from = first_value + 5 * (i - 1)
  names[i] = values[from]
  groups[i] = { name = values[from], want = tonumber(values[from + 1]), completed = tonumber(values[from + 2]),
    failed = tonumber(values[from + 3]), back = tonumber(values[from + 4]) }
end
local lists = kind_lists(11, names)
meet({ wills, instance, claimed, attempts, totals, errors, paused }, { instances, errors_by_time }, log, lists)

local function superseded()
  redis.call('HINCRBY', totals, 'superseded:next', 1)
  note(log, 'event', 'superseded', 'what', 'next', 'number', redis.call('HGET', instance, 'number') or 0, 'instance', id)
  return { 'SUPERSEDED' }
end
if not redis.call('ZSCORE', instances, id) then return superseded() end
local seen = redis.call('HMGET', instance, 'turn', 'stamp', 'before', 'alone')
if not seen[1] then return superseded() end
if turn == tonumber(seen[1]) and stamp == seen[3] then
  redis.call('HSET', instance, 'turn', turn) -- something to WAIT for on a new connection
  clear_mark(wills, id)
  local envelopes = in_order(redis.call('HVALS', claimed))
  return { 'AGAIN', seen[2], envelopes, attempts_of(attempts, envelopes), 0 }
end
if turn ~= tonumber(seen[1]) + 1 or stamp ~= seen[2] then return superseded() end

-- Everything is checked before anything is written: Lua has no rollback.
local done, failed, back = {}, {}, {}
for _, group in ipairs(groups) do
  for _ = 1, group.completed do done[#done + 1], at = values[at], at + 1 end
  for _ = 1, group.failed do failed[#failed + 1], at = { id = values[at], details = values[at + 1] }, at + 2 end
  for _ = 1, group.back do back[#back + 1], at = values[at], at + 1 end
end
if not all_claimed(claimed, done) then return superseded() end
local removed, records, returned = done, {}, {}
for i, failure in ipairs(failed) do
  local envelope = redis.call('HGET', claimed, failure.id)
  if not envelope then return superseded() end
  removed[#removed + 1] = failure.id
  records[#records + 1] = failure.id
  records[#records + 1] = new_record(now_us + i, failure.details, envelope)
end
local finished = #removed
for i, given in ipairs(back) do
  returned[i] = redis.call('HGET', claimed, given)
  if not returned[i] then return superseded() end
  if not lists[kind_of(returned[i])] then return { 'KINDS', kind_of(returned[i]) } end
end

if finished > 0 and redis.call('EXISTS', attempts) == 1 then
  in_chunks(removed, function(...) redis.call('HDEL', attempts, ...) end)
end
for _, given in ipairs(back) do removed[#removed + 1] = given end
in_chunks(removed, function(...) redis.call('HDEL', claimed, ...) end)
store_records(errors, errors_by_time, records)
give_back(lists, attempts, returned, max_attempts)
count(totals, instance, groups)

local new_stamp = text_us(now_us)
local envelopes, hold, foreign = claim(lists, groups, redis.call('HLEN', claimed), seen[4])
redis.call('HSET', instance, 'turn', turn, 'stamp', new_stamp, 'before', stamp)
clear_mark(wills, id, #envelopes > 0 and heartbeat_ms or nil)
ring_for_work(names, lists, paused)
if foreign then return { 'FOREIGN', foreign } end
return { 'OK', new_stamp, envelopes, attempts_of(attempts, envelopes), hold and 1 or 0 }
