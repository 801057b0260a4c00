#!lua flags=no-writes
-- One page of the messages that wait in one place, with all that is known of each. About 1 MB of them at most, but always one.
--
-- KEYS
--   messages  list  pending, again or suspect of a kind; or its delayed (zset)
--   attempts  hash
--   tracked   hash
-- ARGV
--   delayed  int  1: it is the delayed
--   first    int  place of the first, from 0
--   limit    int  how many at most
-- REPLY
--   OK found   of each: envelope, when it is due (server ms, 0: at once), its entry in attempts, its entry in tracked
local messages, attempts, tracked = KEYS[1], KEYS[2], KEYS[3]
local delayed, first, limit = ARGV[1] == '1', tonumber(ARGV[2]), tonumber(ARGV[3])
local MOST_BYTES, MOST_AT_ONCE = 1048576, 250
-- include: kinds

local any_attempts, any_tracked = redis.call('HLEN', attempts) > 0, redis.call('HLEN', tracked) > 0
local found, many, bytes, step = {}, 0, 0, 1
local function known_of(id, hash, is_any) return is_any and redis.call('HGET', hash, id) or '' end
local function part_from(at, last)
  if delayed then return redis.call('ZRANGE', messages, at, last, 'WITHSCORES') end
  return redis.call('LRANGE', messages, at, last)
end
while many < limit do
  local part, width = part_from(first + many, first + math.min(many + step, limit) - 1), delayed and 2 or 1
  if #part == 0 then break end
  for i = 1, #part, width do
    bytes = bytes + #part[i]
    if bytes > MOST_BYTES and many > 0 then return { 'OK', found } end
    local id = id_of(part[i])
    for _, value in ipairs({ part[i], delayed and part[i + 1] or '0', known_of(id, attempts, any_attempts),
      known_of(id, tracked, any_tracked) }) do
      found[#found + 1] = value
    end
    many = many + 1
  end
  -- Small steps until the size of the messages is known.
  step = math.max(1, math.min(4 * step, MOST_AT_ONCE, math.floor((MOST_BYTES - bytes) / (bytes / many))))
end
return { 'OK', found }
