-- Parts of `next`: the messages that are done of which there is more to say than that they are completed.
-- The specials of all runs in one row; of those that commit, what they ask for; every envelope whose kind must be given;
-- and what it takes to commit, if any does.
local function specials_of(runs, values, keys, first_key)
  local specials, envelopes, along = {}, {}, nil
  for _, run in ipairs(runs) do
    for _, special in ipairs(run.specials) do
      specials[#specials + 1] = special
      if special.fate ~= 'failed' then envelopes[#envelopes + 1] = special.envelope end
      if special.fate == 'committed' then
        along = along or committing()
        along.read(special, values, keys, first_key)
        for _, followup in ipairs(special.followups) do envelopes[#envelopes + 1] = followup.envelope end
      end
    end
  end
  return specials, envelopes, along
end
-- Message by message: a commit that is refused makes a failure of its message, and of no other. Answers whose.
local function commit_all(along, specials, groups, lists)
  local by_name, followups, refused = {}, {}, {}
  for _, group in ipairs(groups) do by_name[group.name] = group end
  for _, special in ipairs(specials) do
    special.refusal = special.fate == 'committed' and along.write(special.writes) or nil
    if special.refusal then
      local group = by_name[kind_of(special.envelope)]
      group.completed, group.failed = group.completed - 1, group.failed + 1
      refused[#refused + 1] = special.id
    else
      for _, followup in ipairs(special.followups or {}) do followups[#followups + 1] = followup end
    end
  end
  along.hand_on(followups, lists, totals, kinds)
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
