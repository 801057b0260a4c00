#!lua flags=allow-oom
-- Removes error records without printing them. Their messages stay counted as failed. Safe to repeat, and a late copy does
-- nothing to a message that has failed again since.
--
-- KEYS
--   errors          hash
--   errors_by_time  zset
--   totals          hash
--   log             stream
-- ARGV
--   ...  text  of each record the message id and the time of its failure, server us
-- REPLY
--   OK removed
local errors, errors_by_time, totals, log = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local named = { unpack(ARGV, 1) }
-- include: clock
-- include: chunks
-- include: records
-- include: types
-- include: log
meet({ errors, totals }, { errors_by_time }, log)

local found = {}
for i = 1, #named, 2 do
  if record_of(errors, named[i], named[i + 1]) then found[#found + 1] = named[i] end
end
if #found == 0 then return { 'OK', 0 } end
in_chunks(found, function(...)
  redis.call('HDEL', errors, ...)
  redis.call('ZREM', errors_by_time, ...)
end)
redis.call('HINCRBY', totals, 'discarded', #found)
note(log, 'event', 'discarded', 'messages', #found)
return { 'OK', #found }
