#!lua
-- Puts error records back: their messages wait again, at the tail, as if they had not failed. Safe to repeat, and a late
-- copy does nothing: what is no longer in the error store, or has failed again since, is passed over. Not allowed when
-- memory is full: it is then refused whole.
--
-- KEYS
--   errors          hash   message id -> record
--   errors_by_time  zset
--   totals          hash
--   log             stream
--   ...             lists  pending, again, suspect, bell, delayed (zset) of each kind
-- ARGV
--   ids_count  int   how many records
--   ...        text  of each the message id and the time of its failure, server us; then the kinds
-- REPLY
--   OK requeued     so many messages wait again
--   KINDS name ...  messages of kinds that were not given: nothing was changed, repeat with these too
local errors, errors_by_time, totals, log = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local ids_count = tonumber(ARGV[1])
local values = { unpack(ARGV, 2) }
-- include: clock
-- include: chunks
-- include: kinds
-- include: records
-- include: unknown
-- include: log
-- include: types
local named, names = slice(values, 1, 2 * ids_count), slice(values, 2 * ids_count + 1, #values - 2 * ids_count)
local lists = kind_lists(5, names)
meet({ errors, totals }, { errors_by_time }, log, lists)

local found, envelopes, tails = {}, {}, {}
for i = 1, #named, 2 do
  local record = record_of(errors, named[i], named[i + 1])
  if record then
    found[#found + 1] = named[i]
    envelopes[#envelopes + 1] = envelope_in(record)
  end
end
local missing = unknown_kinds(envelopes, lists)
if #missing > 0 then return { 'KINDS', unpack(missing) } end

for _, envelope in ipairs(in_order(envelopes)) do
  local kind = kind_of(envelope)
  tails[kind] = tails[kind] or {}
  table.insert(tails[kind], envelope)
end
for kind, waiting in pairs(tails) do
  in_chunks(waiting, function(...) redis.call('RPUSH', lists[kind].pending, ...) end)
  redis.call('HINCRBY', totals, 'failed', -#waiting)
  redis.call('HINCRBY', totals, 'failed:' .. kind, -#waiting)
  ring(lists[kind])
end
in_chunks(found, function(...)
  redis.call('HDEL', errors, ...)
  redis.call('ZREM', errors_by_time, ...)
end)
if #found > 0 then note(log, 'event', 'requeued', 'messages', #found) end
return { 'OK', #found }
