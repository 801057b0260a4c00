-- Parts of `next`: what is claimed.
local MOST_BYTES = 1048576
-- Up to `most` from the head of a list, and no more than MOST_BYTES in all (but always one): what is too much goes back.
-- So does what is no envelope of this kind, and all behind it: somebody else put it there.
-- The first pops are small, until the size of the messages is known: popping 250 of 5 MB takes seconds.
local function take(list, name, most, taken)
  local step, count, behind_id, find, sub = 1, #taken, ' ' .. name .. ' ', string.find, string.sub
  while most > 0 and taken.bytes < MOST_BYTES do
    local batch = redis.call('LPOP', list, math.min(most, step))
    if not batch then return most end
    for i, envelope in ipairs(batch) do
      local id_ends = find(envelope, ' ', 1, true) or #envelope + 1
      local is_ours = find(envelope, behind_id, id_ends, true) == id_ends
      taken.bytes = taken.bytes + #envelope
      if not is_ours or (taken.bytes > MOST_BYTES and count > 0) then
        if not is_ours then taken.foreign = list end
        in_chunks(reversed({ unpack(batch, i) }), function(...) redis.call('LPUSH', list, ...) end)
        return 0
      end
      count = count + 1
      taken[count], taken.ids[count] = envelope, sub(envelope, 1, id_ends - 1)
    end
    most = most - #batch
    local fitting = math.floor((MOST_BYTES - taken.bytes) / (taken.bytes / count))
    step = math.max(1, math.min(4 * step, 250, fitting))
  end
  return most
end
local function claim(lists, groups, holding, alone)
  local open, taken = {}, { bytes = 0, ids = {} }
  for _, group in ipairs(groups) do
    if group.want > 0 and redis.call('HEXISTS', paused, 'kind:' .. group.name) == 0 then open[#open + 1] = group end
  end
  if #open == 0 or (alone and redis.call('HEXISTS', claimed, alone) == 1) then return {}, false end
  local suspect, hold = take_suspect(lists, open, holding, true)
  if hold then return {}, true end
  if not suspect then
    local sharers = math.max(1, redis.call('ZCARD', instances))
    for _, group in ipairs(open) do
      local want = take(lists[group.name].again, group.name, group.want, taken)
      local pending = want > 0 and redis.call('LLEN', lists[group.name].pending) or 0
      local share = math.min(want, math.ceil(pending / sharers))
      if pending > 0 then take(lists[group.name].pending, group.name, share, taken) end
    end
    if #taken == 0 and holding == 0 then suspect = take_suspect(lists, open, holding, false) end
  end
  if suspect then
    taken[#taken + 1] = suspect
    taken.ids[#taken] = id_of(suspect)
  end
  local fields, envelopes = {}, {}
  for i, envelope in ipairs(taken) do
    envelopes[i] = envelope
    fields[2 * i - 1] = taken.ids[i]
    fields[2 * i] = envelope
  end
  in_chunks(fields, function(...) redis.call('HSET', claimed, ...) end)
  return envelopes, false, #taken == 0 and taken.foreign
end
