-- Parts of `next`: what is claimed.
local MOST_BYTES = 1048576
local QUICK = 64
-- Up to `most` from the head of a list, and no more than MOST_BYTES in all (but always one): what is too much goes back.
-- So does what is no envelope of this kind, and all behind it: somebody else put it there.
-- The first pops are small, until the size of the messages is known: popping 250 of 5 MB takes seconds.
local function take(list, name, most, taken)
  local envelopes, step, behind_id, find = taken.envelopes, 1, ' ' .. name .. ' ', string.find
  local many = #envelopes
  while most > 0 and taken.bytes < MOST_BYTES do
    local batch = redis.call('LPOP', list, math.min(most, step))
    if not batch then return most end
    for i = 1, #batch do
      local envelope = batch[i]
      local id_ends = find(envelope, ' ', 1, true) or #envelope + 1
      local is_ours = find(envelope, behind_id, id_ends, true) == id_ends
      taken.bytes = taken.bytes + #envelope
      if not is_ours or (taken.bytes > MOST_BYTES and many > 0) then
        if not is_ours then taken.foreign = list end
        in_chunks(reversed({ unpack(batch, i) }), function(...) redis.call('LPUSH', list, ...) end)
        return 0
      end
      many = many + 1
      envelopes[many] = envelope
    end
    most = most - #batch
    local fitting = math.floor((MOST_BYTES - taken.bytes) / (taken.bytes / many))
    step = math.max(1, math.min(4 * step, 250, fitting))
  end
  return most
end
local function attempts_of(hash, envelopes)
  if #envelopes == 0 or redis.call('EXISTS', hash) == 0 then return {} end
  local ids, flat = ids_of(envelopes), {}
  for message_id, of in pairs(read_attempts(hash, ids)) do
    flat[#flat + 1] = message_id
    flat[#flat + 1] = of.deaths
    flat[#flat + 1] = of.retries
  end
  return flat
end
-- A share of what is pending, so that all have something to do; but half of what is wanted, which is little work, in any
-- case: crumbs cost more than they are worth. Who wants QUICK messages or more does them in a moment, and shares nothing.
local function claim(lists, groups, claimed, alone)
  local open, holding, taken = {}, redis.call('LLEN', claimed), { bytes = 0, envelopes = {} }
  for _, group in ipairs(groups) do
    if group.want > 0 and redis.call('HEXISTS', paused, 'kind:' .. group.name) == 0 then open[#open + 1] = group end
  end
  if #open == 0 then return {}, 0 end
  if alone and envelope_at(claimed, 0, alone) then return {}, SUSPECT_WAITS_MS end
  local suspect, hold_ms = take_suspect(lists, open, holding, true)
  if hold_ms > 0 then return {}, hold_ms end
  local envelopes = taken.envelopes
  if not suspect then
    local sharers = math.max(1, redis.call('ZCARD', instances))
    for _, group in ipairs(open) do
      local want = take(lists[group.name].again, group.name, group.want, taken)
      local pending = want > 0 and redis.call('LLEN', lists[group.name].pending) or 0
      local least = want < QUICK and math.ceil(want / 2) or want
      local share = math.min(want, math.max(math.ceil(pending / sharers), least))
      if pending > 0 then take(lists[group.name].pending, group.name, share, taken) end
    end
    if #envelopes == 0 and holding == 0 then suspect = take_suspect(lists, open, holding, false) end
  end
  if suspect then envelopes[1] = suspect end
  in_chunks(envelopes, function(...) redis.call('RPUSH', claimed, ...) end)
  return envelopes, 0, #envelopes == 0 and taken.foreign
end
