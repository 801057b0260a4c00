-- Parts of `next`: what became of the messages that are done.
-- The specials of all runs in one row; of those that commit, what they ask for; and every envelope whose kind must be given.
local function specials_of(runs, values, keys, first_key)
  local specials, envelopes = {}, {}
  for _, run in ipairs(runs) do
    for _, special in ipairs(run.specials) do
      specials[#specials + 1] = special
      if special.fate ~= 'failed' then envelopes[#envelopes + 1] = special.envelope end
      if special.fate == 'committed' then
        read_commit(special, values, keys, first_key)
        for _, followup in ipairs(special.followups) do envelopes[#envelopes + 1] = followup.envelope end
      end
    end
  end
  return specials, envelopes
end
-- Message by message: a commit that is refused makes a failure of its message, and of no other. Answers whose.
local function commit_all(specials, groups, lists)
  local by_name, followups, refused = {}, {}, {}
  for _, group in ipairs(groups) do by_name[group.name] = group end
  for _, special in ipairs(specials) do
    special.refusal = special.fate == 'committed' and write_along(special.writes) or nil
    if special.refusal then
      local group = by_name[kind_of(special.envelope)]
      group.completed, group.failed = group.completed - 1, group.failed + 1
      refused[#refused + 1] = special.id
    else
      for _, followup in ipairs(special.followups or {}) do followups[#followups + 1] = followup end
    end
  end
  hand_on(followups, lists, totals, kinds)
  return refused
end
-- Kept for a repeat of the call, which must be answered the same.
local function remember_refused(refused)
  if #refused > 0 then redis.call('HSET', instance, 'refused', table.concat(refused, ' ')) end
  if #refused == 0 then redis.call('HDEL', instance, 'refused') end
end
local function words_in(text)
  local words = {}
  for word in string.gmatch(text or '', '[^ ]+') do words[#words + 1] = word end
  return words
end
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
      write_attempts(attempts, special.id, { deaths = of.deaths, retries = of.retries + 1, since = 0, hold = 0 })
    end
  end
end
local function records_of(specials, known, values)
  local records = {}
  for _, special in ipairs(specials) do
    local of, details = attempts_before(known, special.id), special.fate == 'failed' and values[special.at]
    if special.refusal then
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
