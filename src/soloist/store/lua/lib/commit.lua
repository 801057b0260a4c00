-- Parts of `next`: what a message that is completed asked to be written and published along with it.
local function read_commit(special, values, keys, first_key)
  local at = special.at
  special.writes, special.followups = {}, {}
  for i = 1, tonumber(values[at]) do
    local command, key, many = unpack(values, at + 1, at + 3)
    special.writes[i] = { command = command, key = assert(keys[first_key + key]), arguments = slice(values, at + 4, many + 0) }
    at = at + 3 + many
  end
  at = at + 1
  for i = 1, tonumber(values[at]) do
    special.followups[i] = { delay_ms = tonumber(values[at + 1]), envelope = values[at + 2] }
    at = at + 2
  end
end
-- All of a message's writes, or none of them: each is foreseen in the light of those before it, and only then are they
-- made. Answers why not, if not. (That the server refuses what was foreseen otherwise would be a mistake of ours; it must
-- not end the script all the same, since what was written before would be written again when the call is repeated.)
local function write_along(writes)
  local seen = {}
  for _, write in ipairs(writes) do
    local why = foresee(seen, write)
    if why then return write.command .. ' on ' .. write.key .. ': ' .. why end
  end
  for i, write in ipairs(writes) do
    local answer = redis.pcall(write.command, write.key, unpack(write.arguments))
    if type(answer) == 'table' and answer.err then
      return write.command .. ' on ' .. write.key .. ' was refused though it had been foreseen otherwise, and ' .. (i - 1) ..
        ' writes before it stand: ' .. answer.err
    end
  end
  return nil
end
-- What messages that are completed hand on to others. No limit applies: refusing it would hold up what makes room.
local function hand_on(followups, lists, totals, kinds)
  local published, tails = {}, {}
  for _, followup in ipairs(followups) do
    local envelope = followup.envelope
    local kind = kind_of(envelope)
    published[kind], tails[kind] = (published[kind] or 0) + 1, tails[kind] or {}
    if followup.delay_ms > 0 then
      redis.call('ZADD', lists[kind].delayed, now + followup.delay_ms, envelope)
      sound_if_soon(alarm, now + followup.delay_ms)
    else
      table.insert(tails[kind], envelope)
    end
  end
  for kind, many in pairs(published) do
    in_chunks(tails[kind], function(...) redis.call('RPUSH', lists[kind].pending, ...) end)
    redis.call('SADD', kinds, kind)
    redis.call('HINCRBY', totals, 'published', many)
    redis.call('HINCRBY', totals, 'published:' .. kind, many)
  end
end
local along = { read = read_commit, write = write_along, hand_on = hand_on }
