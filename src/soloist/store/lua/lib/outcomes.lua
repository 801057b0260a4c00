-- Parts of `next`: what became of the messages that are done.
local function records_of(runs)
  local records = {}
  for _, run in ipairs(runs) do
    for _, failure in ipairs(run.failed) do
      local after = #records / 2 + 1
      records[2 * after - 1] = failure.id
      records[2 * after] = new_record(now_us + after, failure.details, failure.envelope)
    end
  end
  return records
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
