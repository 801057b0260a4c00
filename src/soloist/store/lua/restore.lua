#!lua
-- Writes some lines of an import, in their order; with the last of them the namespace is complete. Safe to repeat, and a late
-- copy does nothing: lines that are there already are passed over as a whole. Not allowed when memory is full: it is then
-- refused whole.
--
-- KEYS
--   meta  hash
--   ...   keys that are written, each of the type that is said
-- ARGV
--   import   text  what is imported, as it was said to prepare
--   first    int   the number of the first line
--   lines    int   how many
--   is_last  int   1: there are no more
--   ...      text  for each key behind the first: list, zset, hash or set, how many values follow, and these
-- REPLY
--   OK lines   written, or they were; so many lines are there now
--   GONE       no such import is under way, or other lines are the next: nothing was changed
local meta, keys = KEYS[1], { unpack(KEYS, 2) }
local import, first, lines, is_last = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1'
local values, at = ARGV, 5
-- include: types

local LENGTH = {
  list = function(key) redis.call('LLEN', key) end,
  zset = function(key) redis.call('ZCARD', key) end,
  hash = function(key) redis.call('HLEN', key) end,
  set = function(key) redis.call('SCARD', key) end,
}
local PUT = {
  list = function(key, ...) redis.call('RPUSH', key, ...) end,
  zset = function(key, ...) redis.call('ZADD', key, ...) end,
  hash = function(key, ...) redis.call('HSET', key, ...) end,
  set = function(key, ...) redis.call('SADD', key, ...) end,
}
meet({ meta }, {})
local there = redis.call('HMGET', meta, 'import', 'lines', 'imported')
if there[3] == import then return { 'OK', first + lines - 1 } end
local done = tonumber(there[2])
if there[1] ~= import or first > done + 1 then return { 'GONE' } end
if first <= done then return { 'OK', done } end

local parts = {}
for i, key in ipairs(keys) do
  local many = tonumber(values[at + 1])
  LENGTH[values[at]](key)
  parts[i] = { put = PUT[values[at]], first = at + 2, last = at + 1 + many }
  at = at + 2 + many
end
for i, key in ipairs(keys) do
  for from = parts[i].first, parts[i].last, 1000 do
    parts[i].put(key, unpack(values, from, math.min(from + 999, parts[i].last)))
  end
end
if is_last then redis.call('HDEL', meta, 'import', 'lines') else redis.call('HSET', meta, 'lines', first + lines - 1) end
return { 'OK', first + lines - 1 }
