-- Under the name of a key of ours may stand somebody else's, of another type. Lua has no rollback, so a script meets every
-- key that it may write to before it writes any: one of another type, asked for its length, ends it with WRONGTYPE.
local function meet(hashes, zsets, stream, lists)
  for _, key in ipairs(hashes) do redis.call('HLEN', key) end
  for _, key in ipairs(zsets) do redis.call('ZCARD', key) end
  if stream then redis.call('XLEN', stream) end
  for _, of in pairs(lists or {}) do
    redis.call('LLEN', of.pending)
    redis.call('LLEN', of.again)
    redis.call('LLEN', of.suspect)
    redis.call('LLEN', of.bell)
    redis.call('ZCARD', of.delayed)
  end
end
