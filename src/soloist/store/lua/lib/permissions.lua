-- Every command that our scripts use on keys. Refused in mid-script, one would leave what was written before it; so join
-- asks for all of them first. (A contract test compares this list with the scripts.)
local NEEDED = {
  'DEL', 'EXISTS', 'GETRANGE', 'HDEL', 'HEXISTS', 'HGET', 'HGETALL', 'HINCRBY', 'HKEYS', 'HLEN', 'HMGET', 'HSET', 'HSETNX',
  'LINDEX', 'LLEN', 'LPOP', 'LPUSH', 'LRANGE', 'LREM', 'LSET', 'LTRIM', 'RPUSH', 'SADD', 'SCARD', 'SMEMBERS',
  'STRLEN', 'TYPE', 'UNLINK', 'XADD', 'XLEN', 'XREVRANGE', 'ZADD', 'ZCARD', 'ZMSCORE', 'ZRANGE', 'ZREM', 'ZSCORE' }
local function first_forbidden(key)
  for _, command in ipairs(NEEDED) do
    if not redis.acl_check_cmd(command, key) then return command end
  end
  return nil
end
