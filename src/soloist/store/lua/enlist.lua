#!lua
-- A process that is no instance introduces itself as a producer: it wants to publish. Producers that were not heard for long
-- are forgotten: a late copy of a call of theirs is refused, since only this script makes them known. Safe to repeat; a late
-- copy makes at most a producer that publishes nothing.
--
-- KEYS
--   meta       hash
--   producers  zset   producer -> when it was heard last, server ms
--   submitted  hash   producer -> its last call and what that was answered
-- ARGV
--   producer  text  a new id
--   app       text  the App's name; empty: whatever is there
--   protocol  int   the version of the protocol that the caller speaks
-- REPLY
--   OK now_ms
--   PROTOCOL version   the namespace speaks another version; nothing was changed
--   APP name           the namespace belongs to another App; nothing was changed
--   FORBIDDEN command  the ACL forbids a command that our scripts use; nothing was changed
--   EMPTY              there is no such namespace, and the caller names no App
local meta, producers, submitted = KEYS[1], KEYS[2], KEYS[3]
local producer, app, protocol = ARGV[1], ARGV[2], ARGV[3]
local FORGOTTEN_AFTER_MS, MOST_FORGOTTEN = 3600000, 100
-- include: clock
-- include: types
-- include: permissions

local forbidden = first_forbidden(meta)
if forbidden then return { 'FORBIDDEN', forbidden } end
meet({ meta, submitted }, { producers })
local there = redis.call('HMGET', meta, 'protocol', 'app')
if not there[1] and app == '' then return { 'EMPTY' } end
if there[1] and there[1] ~= protocol then return { 'PROTOCOL', there[1] } end
if there[2] and app ~= '' and there[2] ~= app then return { 'APP', there[2] } end

if not there[1] then redis.call('HSET', meta, 'protocol', protocol, 'app', app) end
local old = redis.call('ZRANGE', producers, '-inf', now - FORGOTTEN_AFTER_MS, 'BYSCORE', 'LIMIT', 0, MOST_FORGOTTEN)
if #old > 0 then
  redis.call('ZREM', producers, unpack(old))
  redis.call('HDEL', submitted, unpack(old))
end
redis.call('HSETNX', submitted, producer, '0')
redis.call('ZADD', producers, now, producer)
return { 'OK', now }
