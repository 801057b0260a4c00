-- What goes with a departing instance.
local function strike_out(keys, id)
  redis.call('ZREM', keys.instances, id)
  redis.call('ZREM', keys.drainers, id)
  redis.call('HDEL', keys.wills, id)
  for _, place in ipairs({ '1', '2' }) do
    if string.match(redis.call('HGET', keys.line, place) or '', '^[^ ]*') == id then redis.call('HDEL', keys.line, place) end
  end
  if redis.call('HGET', keys.term, 'instance') == id then redis.call('HSET', keys.term, 'instance', '', 'deadline', 0) end
  local drained = redis.call('HGETALL', keys.drained)
  if #drained > 0 then store_records(keys.errors, keys.errors_by_time, drained) end
  redis.call('DEL', keys.instance, keys.claimed, keys.drained)
end
