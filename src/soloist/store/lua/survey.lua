#!lua flags=no-writes
-- Of which type is what stands under these names: whoever looks, or asks for something without joining, is told when it
-- is not ours.
--
-- KEYS
--   ...   keys of the namespace
-- ARGV
-- REPLY
--   OK types   of each key: a type of the server's, or none
local keys = KEYS

local types = {}
for i, key in ipairs(keys) do types[i] = redis.call('TYPE', key).ok end
return { 'OK', types }
