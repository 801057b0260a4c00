#!lua
-- For tests: as if an instance had been heard for so much longer, without a gap: it may judge at once. Not safe to repeat.
--
-- KEYS
--   instance  hash
-- ARGV
--   ms  int
-- REPLY
--   OK watches   1 if it has a will of its own by now; without one it may not judge by will
local instance = KEYS[1]
local ms = tonumber(ARGV[1])

local heard = redis.call('HMGET', instance, 'since', 'will_since')
local watches = tonumber(heard[2] or 0) > 0
if watches then redis.call('HSET', instance, 'since', heard[1] - ms, 'will_since', heard[2] - ms) end
return { 'OK', watches and 1 or 0 }
