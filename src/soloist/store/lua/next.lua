#!lua flags=allow-oom
-- A handler's one call: completes, fails and delays what is done, gives back what will not be done, claims what comes next.
-- What a message asked to be written or published along with it is, in the same step, if it is completed; else it is not.
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
--   kinds           set
--   tracked         hash   message id -> who waits for its end
--   unique          hash   met and written only if anything is tracked
--   schedule_runs   hash   likewise
--   alarm           list   rung if something is delayed, and soon due
--   ...             lists  pending, again, suspect, bell, delayed (zset) of each kind that it handles, holds or publishes to;
--                          then the keys that are written along with messages, of any type
-- ARGV
--   id            text
--   turn          int   one more than the turn before it
--   stamp         text  of the answer before it (join's, for the first)
--   heartbeat_ms  int   its beat interval from now on, if this claims anything
--   max_attempts  int
--   kinds_count   int
--   runs_count    int
--   ...           text  per kind: name, want, completed, failed, retried (how many); then per run of what leaves its hands,
--                       in the order of claimed: done or back, place of its first, length, id of its first, specials (how
--                       many), and of each special: place, id, its fate, how many values follow, and these: failed: details;
--                       retried: after so many ms; committed: writes (how many), of each command, key (its place among
--                       those that are written, from 0), arguments (how many), these; messages (how many), of each delay
--                       in ms, envelope
-- REPLY
--   OK stamp envelopes attempts hold refused      applied; attempts: id, deaths, retries of those claimed that have any;
--                                                 hold: for so many ms (0: none) claim no more unless nothing is held: a
--                                                 suspect waits, or is held;
--                                                 refused: ids of those that failed since what they commit would be refused
--   AGAIN stamp envelopes attempts hold refused   it was applied before; the envelopes are all that the caller holds now
--   FOREIGN stamp list refused                    applied; nothing was claimed: at the head of that list stands no envelope
--   KINDS name                                    a message of a kind that was not given is given back, delayed, published
--                                                 or commits: nothing was changed
--   SUPERSEDED                                    presence gone, turn or stamp do not fit, or what is named is not claimed
--                                                 or stands elsewhere: be reborn
local instances, wills, instance, claimed, attempts = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local totals, errors, errors_by_time, paused, log, kinds = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local tracked, unique, schedule_runs, alarm = KEYS[12], KEYS[13], KEYS[14], KEYS[15]
local id, turn, stamp, heartbeat_ms, max_attempts = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local kinds_count, runs_count, values, keys, at = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV, KEYS, 8
-- include: clock
-- include: chunks
-- include: wills
-- include: kinds
-- include: attempts
-- include: records
-- include: unknown
-- include: log
-- include: runs
-- include: tracked
-- include: alarm
local function committing() -- made only where something is committed: it takes as long as a fifth of a small call
-- include: commands
-- include: foresight
-- include: commit
  return along
end
-- include: specials
-- include: outcomes
-- include: suspects
-- include: claim
-- include: types

local names, groups = {}, {}
for i = 1, kinds_count do
  names[i] = values[at]
  groups[i] = { name = values[at], want = tonumber(values[at + 1]), completed = tonumber(values[at + 2]),
    failed = tonumber(values[at + 3]), retried = tonumber(values[at + 4]) }
  at = at + 5
end
local lists, first_written = kind_lists(16, names), 16 + 5 * kinds_count
meet({ wills, totals, paused }, {}, log, lists) -- the others are read or met below, before the first write
local any_attempts, any_tracked = redis.call('HLEN', attempts) > 0, redis.call('HLEN', tracked) > 0

local function superseded()
  local number = redis.call('HGET', instance, 'number') or 0
  redis.call('HINCRBY', totals, 'superseded:next', 1)
  note(log, 'event', 'superseded', 'what', 'next', 'number', number, 'instance', id)
  return { 'SUPERSEDED' }
end
if not redis.call('ZSCORE', instances, id) then return superseded() end
local seen = redis.call('HMGET', instance, 'turn', 'stamp', 'before', 'alone', 'refused')
if not seen[1] then return superseded() end
if turn == tonumber(seen[1]) and stamp == seen[3] then
  local envelopes = redis.call('LRANGE', claimed, 0, -1)
  redis.call('HSET', instance, 'turn', turn) -- something to WAIT for on a new connection
  clear_mark(wills, id)
  return { 'AGAIN', seen[2], envelopes, attempts_of(attempts, envelopes), 0, words_in(seen[5]) }
end
if turn ~= tonumber(seen[1]) + 1 or stamp ~= seen[2] then return superseded() end

-- Everything is checked before anything is written: Lua has no rollback.
if any_tracked then meet({ unique, schedule_runs }, {}) end
local runs = read_runs(values, at, runs_count)
if not fit(runs, claimed, groups) then return superseded() end
local returned = envelopes_in(runs, 'back', claimed)
local specials, named, along = specials_of(runs, values, keys, first_written)
if #specials > 0 then
  meet({ errors }, { errors_by_time })
  redis.call('SCARD', kinds)
  redis.call('LLEN', alarm)
end
local missing = unknown_kinds(returned, lists, unknown_kinds(named, lists))
if #missing > 0 then return { 'KINDS', missing[1] } end

local known = any_attempts and attempts_behind(specials) or {}
local refused = along and commit_all(along, specials, groups, lists) or {}
if any_attempts or any_tracked then
  local done = ids_of(envelopes_in(runs, 'done', claimed))
  if any_attempts then in_chunks(done, function(...) redis.call('HDEL', attempts, ...) end) end
  if any_tracked then end_tracked(tracked, unique, schedule_runs, ended(done, specials)) end
end
if #runs > 0 then remove(runs, claimed) end
store_records(errors, errors_by_time, records_of(specials, known, values))
delay(specials, lists, known, values)
if #returned > 0 then give_back(lists, attempts, returned, max_attempts) end
count(totals, instance, groups)

local new_stamp = text_us(now_us)
local envelopes, hold_ms, foreign = claim(lists, groups, claimed, seen[4])
redis.call('HSET', instance, 'turn', turn, 'stamp', new_stamp, 'before', stamp)
if #refused > 0 or seen[5] then remember_refused(refused) end
clear_mark(wills, id, #envelopes > 0 and heartbeat_ms or nil)
if any_tracked then begin_tracked(tracked, schedule_runs, ids_of(envelopes)) end
ring_for_work(names, lists, paused, true)
if foreign then return { 'FOREIGN', new_stamp, foreign, refused } end
return { 'OK', new_stamp, envelopes, any_attempts and attempts_of(attempts, envelopes) or {}, hold_ms, refused }
