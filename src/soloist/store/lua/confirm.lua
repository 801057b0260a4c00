#!lua flags=allow-oom
-- A drainer has printed and flushed these records: now they are gone. Safe to repeat.
--
-- KEYS
--   drainers  zset
--   wills     hash
--   drained   hash   the caller's own
--   totals    hash
-- ARGV
--   id   text
--   ...  text  the message ids
-- REPLY
--   OK removed
--   SUPERSEDED   its presence is gone, and with it what it held: others may print it again
local drainers, wills, drained, totals = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id = ARGV[1]
local ids = { unpack(ARGV, 2) }
-- include: clock
-- include: chunks
-- include: wills
-- include: types
meet({ wills, drained, totals }, { drainers })

if not redis.call('ZSCORE', drainers, id) then return { 'SUPERSEDED' } end
clear_mark(wills, id)
local removed = 0
in_chunks(ids, function(...) removed = removed + redis.call('HDEL', drained, ...) end)
redis.call('HINCRBY', totals, 'drained', removed)
return { 'OK', removed }
