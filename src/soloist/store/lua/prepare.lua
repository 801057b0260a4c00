#!lua
-- Begins an import into an empty namespace, or finds out how far it came. Until it is complete the namespace speaks a protocol
-- that nobody knows, so that nobody joins it or publishes to it. Safe to repeat.
--
-- KEYS
--   meta    hash
--   totals  hash  those of calls that were refused after a purge may be left
--   ...     keys of the namespace that must not be there
-- ARGV
--   import  text  what is imported: a digest of the file
-- REPLY
--   OK lines           begun; so many lines of it are there already
--   DONE               all of it was imported, and the namespace is at work
--   OTHER              an import of something else is under way
--   TAKEN              the namespace is not empty; nothing was changed
--   FOREIGN key        this key is there, though there is no such namespace: somebody else's; nothing was changed
--   FORBIDDEN command  the ACL forbids a command that our scripts use; nothing was changed
local meta, totals = KEYS[1], KEYS[2]
local others, import = { unpack(KEYS, 3) }, ARGV[1]
-- include: types
-- include: permissions

local forbidden = first_forbidden(meta)
if forbidden then return { 'FORBIDDEN', forbidden } end
meet({ meta, totals }, {})
local there = redis.call('HMGET', meta, 'protocol', 'import', 'lines', 'imported')
if there[2] == import then return { 'OK', tonumber(there[3]) } end
if there[2] then return { 'OTHER' } end
if there[4] == import then return { 'DONE' } end
if there[1] then return { 'TAKEN' } end
for _, key in ipairs({ meta, unpack(others) }) do
  if redis.call('EXISTS', key) == 1 then return { 'FOREIGN', key } end
end

redis.call('DEL', totals)
redis.call('HSET', meta, 'protocol', 'importing', 'import', import, 'lines', 0)
return { 'OK', 0 }
