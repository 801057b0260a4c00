-- Parts of `next`: what was done, and what is counted.
local function all_claimed(of, ids)
  for first = 1, #ids, 1000 do
    local last = math.min(first + 999, #ids)
    local found = redis.call('HMGET', of, unpack(ids, first, last))
    for i = 1, last - first + 1 do
      if not found[i] then return false end
    end
  end
  return true
end
local function attempts_of(hash, envelopes)
  if #envelopes == 0 or redis.call('EXISTS', hash) == 0 then return {} end
  local ids, flat = {}, {}
  for i, envelope in ipairs(envelopes) do ids[i] = id_of(envelope) end
  for message_id, of in pairs(read_attempts(hash, ids)) do
    flat[#flat + 1] = message_id
    flat[#flat + 1] = of.deaths
    flat[#flat + 1] = of.retries
  end
  return flat
end
local function count(totals_key, instance_key, of_groups)
  for _, group in ipairs(of_groups) do
    for _, what in ipairs({ 'completed', 'failed' }) do
      if group[what] > 0 then
        redis.call('HINCRBY', totals_key, what, group[what])
        redis.call('HINCRBY', totals_key, what .. ':' .. group.name, group[what])
        redis.call('HINCRBY', instance_key, what, group[what])
      end
    end
  end
end
