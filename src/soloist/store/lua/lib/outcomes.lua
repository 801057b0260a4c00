-- Parts of `next`: what became of the messages that are done.
local function attempts_behind(specials)
  local ids = {}
  for i, special in ipairs(specials) do ids[i] = special.id end
  return read_attempts(attempts, ids)
end
local function attempts_before(known, message_id)
  return known[message_id] or { deaths = 0, retries = 0, since = 0, hold = 0 }
end
local function delay(specials, lists, known, values)
  for _, special in ipairs(specials) do
    if special.fate == 'retried' then
      local of = attempts_before(known, special.id)
      redis.call('ZADD', lists[kind_of(special.envelope)].delayed, now + values[special.at], special.envelope)
      sound_if_soon(alarm, now + values[special.at])
      write_attempts(attempts, special.id, { deaths = of.deaths, retries = of.retries + 1, since = 0, hold = 0 })
    end
  end
end
local function records_of(specials, known, values)
  local records = {}
  for _, special in ipairs(specials) do
    local details = special.fate == 'failed' and values[special.at]
    if special.refusal then
      local of = attempts_before(known, special.id)
      details = cjson.encode({ reason = special.refusal, type = 'CommitRefused', handler = id,
        attempts = 1 + of.deaths + of.retries })
    end
    if details then
      local after = #records / 2 + 1
      records[2 * after - 1] = special.id
      records[2 * after] = new_record(now_us + after, details, special.envelope)
    end
  end
  return records
end
-- Of what is done, what is over: all but what is tried again. And which of it failed: id -> true.
local function ended(done, specials)
  local again, failed, over = {}, {}, {}
  for _, special in ipairs(specials) do
    again[special.id] = special.fate == 'retried'
    failed[special.id] = special.fate == 'failed' or special.refusal ~= nil
  end
  for _, message_id in ipairs(done) do
    if not again[message_id] then over[#over + 1] = message_id end
  end
  return over, failed
end
local function count(totals_key, instance_key, of_groups)
  for _, group in ipairs(of_groups) do
    for _, what in ipairs({ 'completed', 'failed', 'retried' }) do
      if group[what] ~= 0 then
        redis.call('HINCRBY', totals_key, what, group[what])
        redis.call('HINCRBY', totals_key, what .. ':' .. group.name, group[what])
        redis.call('HINCRBY', instance_key, what, group[what])
      end
    end
  end
end
