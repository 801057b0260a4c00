#!lua flags=allow-oom
-- An instance or a drainer goes in order: everything that it holds is given back in the same step, no death is
-- counted, its term is vacant. Safe to repeat, since an id never comes again.
--
-- KEYS
--   instances       zset
--   drainers        zset
--   wills           hash
--   line            hash
--   instance        hash    of the one that leaves
--   claimed         list    of the one that leaves
--   drained         hash    of the one that leaves
--   term            hash
--   attempts        hash
--   errors          hash
--   errors_by_time  zset
--   log             stream
--   ...             lists   pending, again, suspect, bell, delayed (zset) of each kind
-- ARGV
--   id            text
--   max_attempts  int
--   ...           text  the kinds
-- REPLY
--   OK messages     gone; so many messages were given back
--   GONE            it was not there
--   KINDS name ...  it holds messages of kinds that were not given: nothing was changed, repeat with these too
local keys = { instances = KEYS[1], drainers = KEYS[2], wills = KEYS[3], line = KEYS[4], instance = KEYS[5],
  claimed = KEYS[6], drained = KEYS[7], term = KEYS[8], attempts = KEYS[9], errors = KEYS[10],
  errors_by_time = KEYS[11], log = KEYS[12] }
local id, max_attempts = ARGV[1], tonumber(ARGV[2])
local names = { unpack(ARGV, 3) }
-- include: clock
-- include: chunks
-- include: kinds
-- include: attempts
-- include: records
-- include: unknown
-- include: farewell
-- include: log
-- include: types
local lists = kind_lists(13, names)
meet({ keys.wills, keys.line, keys.instance, keys.drained, keys.term, keys.attempts, keys.errors },
  { keys.instances, keys.drainers, keys.errors_by_time }, keys.log, lists)
redis.call('LLEN', keys.claimed)

if not redis.call('ZSCORE', keys.instances, id) and not redis.call('ZSCORE', keys.drainers, id) then
  redis.call('DEL', keys.instance, keys.claimed, keys.drained) -- of one that came while the namespace was purged
  return { 'GONE' }
end
local envelopes = in_order(redis.call('LRANGE', keys.claimed, 0, -1))
local missing = unknown_kinds(envelopes, lists)
if #missing > 0 then return { 'KINDS', unpack(missing) } end

local number = redis.call('HGET', keys.instance, 'number')
give_back(lists, keys.attempts, envelopes, max_attempts)
strike_out(keys, id)
for _, of in pairs(lists) do
  if #envelopes > 0 and work_in(of) > 0 then ring(of) end
end
if number and tonumber(number) > 0 then note(keys.log, 'event', 'left', 'number', number, 'instance', id, 'messages', #envelopes) end
return { 'OK', #envelopes }
