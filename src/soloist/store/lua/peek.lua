#!lua flags=no-writes
-- One page of the error records of a time, without removing them. About 1 MB of them at most, but always one, so that neither
-- the caller nor the server needs memory for many large ones.
--
-- KEYS
--   errors          hash
--   errors_by_time  zset
-- ARGV
--   first   text  failed at this time or later, server us; -inf: whenever
--   last    text  failed at this time or before; +inf: whenever
--   newest  int   1: the newest first, 0: the oldest first
--   limit   int   how many at most
--   bodies  int   0: of each record only what tells why it failed, and the beginning of its message
--   ...     text  ids to be passed over: several may have failed at the moment at which the page before this one ended
-- REPLY
--   OK found   of each id, time of its failure, record (empty if there is none)
local errors, errors_by_time = KEYS[1], KEYS[2]
local first, last, newest, limit, bodies = ARGV[1], ARGV[2], ARGV[3] == '1', tonumber(ARGV[4]), ARGV[5] == '1'
local passed_over = { unpack(ARGV, 6) }
local MOST_BYTES, BEGINNING = 1048576, 400

local function without_body(record)
  local _, after, length = string.find(record, '^%d+ (%d+) ')
  return after and string.sub(record, 1, after + tonumber(length) + BEGINNING) or record
end
local passed, most, ids = {}, limit + #passed_over, nil
for _, id in ipairs(passed_over) do passed[id] = true end
if newest then
  ids = redis.call('ZRANGE', errors_by_time, last, first, 'BYSCORE', 'REV', 'LIMIT', 0, most, 'WITHSCORES')
else
  ids = redis.call('ZRANGE', errors_by_time, first, last, 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')
end
local found, bytes = {}, 0
for i = 1, #ids, 2 do
  if not passed[ids[i]] then
    local record = redis.call('HGET', errors, ids[i]) or ''
    bytes = bytes + #record
    if bytes > MOST_BYTES and #found > 0 then break end
    found[#found + 1] = ids[i]
    found[#found + 1] = ids[i + 1]
    found[#found + 1] = bodies and record or without_body(record)
  end
end
return { 'OK', found }
