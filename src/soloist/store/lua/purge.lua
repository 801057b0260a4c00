#!lua flags=allow-oom
-- Removes a namespace, all at once, so that nobody sees half of it. Safe to repeat.
--
-- KEYS
--   ...   every key of the namespace
-- ARGV
-- REPLY
--   OK removed   how many keys
local keys = KEYS
-- include: chunks

local removed = 0
in_chunks(keys, function(...) removed = removed + redis.call('UNLINK', ...) end)
return { 'OK', removed }
