-- Parts of `next`: what is counted, and what is claimed.
local MOST_BYTES, SUSPECT_WAITS_MS = 1048576, 10000
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
-- A suspect of poison is claimed alone, so that a death is its own; `waiting` only one that has waited for long.
local function take_suspect(lists, groups, holding, only_waiting)
  for _, group in ipairs(groups) do
    local head = group.want > 0 and redis.call('LINDEX', lists[group.name].suspect, 0)
    local of = head and read_attempts(attempts, { id_of(head) })[id_of(head)] -- nothing, if it is somebody else's
    if of and (not only_waiting or now - of.since >= SUSPECT_WAITS_MS) then
      if holding == 0 then
        redis.call('LPOP', lists[group.name].suspect)
        redis.call('HSET', instance, 'alone', id_of(head))
        return head, false
      elseif of.hold < now then
        of.hold = now + SUSPECT_WAITS_MS
        write_attempts(attempts, id_of(head), of)
        return nil, true
      end
    end
  end
  return nil, false
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
