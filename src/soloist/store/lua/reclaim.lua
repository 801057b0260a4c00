#!lua flags=allow-oom
-- A judge declares an instance or a drainer gone: what it held waits again (one death more), or is a suspect, or goes
-- to the error store; what it drained is an error again; its term is vacant. The judgement is made in here.
-- Safe to repeat, since an id never comes again.
--
-- KEYS
--   instances       zset
--   drainers        zset
--   wills           hash
--   line            hash
--   instance        hash    of the victim
--   claimed         list    of the victim
--   drained         hash    of the victim
--   term            hash
--   attempts        hash
--   errors          hash
--   errors_by_time  zset
--   totals          hash
--   log             stream
--   judge           hash    the instance hash of the one that judges
--   tracked         hash
--   unique          hash
--   runs            hash
--   ...             lists   pending, again, suspect, bell, delayed (zset) of each kind
-- ARGV
--   id            text  the victim
--   judge_id      text
--   lease_ms      int   the judge's lease: a pause of more than half of it is a gap
--   max_attempts  int
--   channel       text  what the channels of the wills begin with
--   ...           text  the kinds
-- REPLY
--   OK messages     reclaimed; so many messages
--   ALIVE           it may not be judged gone (by this judge, now): nothing was changed
--   GONE            it is not there
--   KINDS name ...  it holds messages of kinds that were not given: nothing was changed, repeat with these too
local keys = { instances = KEYS[1], drainers = KEYS[2], wills = KEYS[3], line = KEYS[4], instance = KEYS[5],
  claimed = KEYS[6], drained = KEYS[7], term = KEYS[8], attempts = KEYS[9], errors = KEYS[10],
  errors_by_time = KEYS[11], totals = KEYS[12], log = KEYS[13], judge = KEYS[14],
  tracked = KEYS[15], unique = KEYS[16], runs = KEYS[17] }
local id, judge_id, lease_ms, max_attempts, channel = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local names = { unpack(ARGV, 6) }
-- include: clock
-- include: chunks
-- include: wills
-- include: judge
-- include: kinds
-- include: attempts
-- include: records
-- include: unknown
-- include: farewell
-- include: log
-- include: types
-- include: tracked
local lists = kind_lists(18, names)
meet({ keys.wills, keys.line, keys.instance, keys.drained, keys.term, keys.attempts, keys.errors, keys.totals,
  keys.judge, keys.tracked, keys.unique, keys.runs }, { keys.instances, keys.drainers, keys.errors_by_time }, keys.log, lists)
redis.call('LLEN', keys.claimed)

local deadline = tonumber(redis.call('ZSCORE', keys.instances, id) or redis.call('ZSCORE', keys.drainers, id))
if not deadline then return { 'GONE' } end
local heard, will = read_heard(keys.judge), read_will(redis.call('HGET', keys.wills, id))
if id == judge_id or not will or not heard or has_gap(heard, lease_ms) then return { 'ALIVE' } end
local judges, counts = judge(heard), listeners(channel, { id, judge_id })
local by_will = judges.by_will and executed(will, now) and counts ~= nil and counts[id] == 0 and counts[judge_id] > 0
local by_lease = deadline < now and judges.by_lease(will.lease)
if not by_will and not by_lease then return { 'ALIVE' } end

local envelopes = in_order(redis.call('LRANGE', keys.claimed, 0, -1))
local missing = unknown_kinds(envelopes, lists)
if #missing > 0 then return { 'KINDS', unpack(missing) } end

local ids, tails, failures, poisoned = ids_of(envelopes), {}, {}, {}
local known = read_attempts(keys.attempts, ids)
for i, envelope in ipairs(envelopes) do
  local of, kind = known[ids[i]] or { deaths = 0, retries = 0, since = 0, hold = 0 }, kind_of(envelope)
  local poison = is_suspect(of, max_attempts)
  of.deaths = of.deaths + 1
  if poison then
    local details = cjson.encode({ reason = 'its handler died ' .. of.deaths .. ' times', type = 'Poison', handler = id,
      attempts = of.deaths + of.retries })
    failures[#failures + 1] = ids[i]
    poisoned[ids[i]] = true
    failures[#failures + 1] = new_record(now_us + i, details, envelope)
    redis.call('HDEL', keys.attempts, ids[i])
    redis.call('HINCRBY', keys.totals, 'failed', 1)
    redis.call('HINCRBY', keys.totals, 'failed:' .. kind, 1)
  else
    local suspect = is_suspect(of, max_attempts)
    if suspect then of.since = now end
    local list = suspect and lists[kind].suspect or lists[kind].again
    write_attempts(keys.attempts, ids[i], of)
    tails[list] = tails[list] or {}
    table.insert(tails[list], envelope)
  end
end
for list, waiting in pairs(tails) do in_chunks(waiting, function(...) redis.call('RPUSH', list, ...) end) end
store_records(keys.errors, keys.errors_by_time, failures)
for poison in pairs(poisoned) do end_tracked(keys.tracked, keys.unique, keys.runs, { poison }, poisoned) end
redis.call('HINCRBY', keys.totals, 'reclaimed', #envelopes)
local victim = redis.call('HMGET', keys.instance, 'number', 'beat')
strike_out(keys, id)
for _, of in pairs(lists) do
  if work_in(of) > 0 then ring(of) end
end
note(keys.log, 'event', 'reclaimed', 'number', victim[1] or '0', 'instance', id, 'judge', judge_id, 'messages', #envelopes,
  'because', by_will and 'will' or 'lease', 'heard_ms', math.max(0, now - tonumber(victim[2] or now)))
return { 'OK', #envelopes }
