-- The keys of each kind, from the tail of KEYS: pending, again, suspect, bell, delayed of each, in the order of the names.
local function kind_lists(first_key, names)
  local lists = {}
  for i, name in ipairs(names) do
    local at = first_key + 5 * (i - 1)
    lists[name] = { pending = KEYS[at], again = KEYS[at + 1], suspect = KEYS[at + 2], bell = KEYS[at + 3],
      delayed = KEYS[at + 4] }
  end
  return lists
end
local function slice(values, first, count)
  local part = {}
  for i = first, first + count - 1 do part[#part + 1] = values[i] end
  return part
end
local function id_of(envelope) return string.sub(envelope, 1, (string.find(envelope, ' ', 1, true) or 1) - 1) end
local function ids_of(envelopes)
  local ids = {}
  for i, envelope in ipairs(envelopes) do ids[i] = id_of(envelope) end
  return ids
end
local function kind_of(envelope) return string.match(envelope, '^[^ ]+ ([^ ]+) ') end
-- By number; what handlers have published has numbers of its own, so where two are the same the order stays.
local function in_order(envelopes)
  local numbers, places = {}, {}
  for i, envelope in ipairs(envelopes) do
    numbers[envelope], places[envelope] = tonumber(string.match(envelope, '^(%d+)')) or 0, i
  end
  table.sort(envelopes, function(one, other)
    if numbers[one] == numbers[other] then return places[one] < places[other] end
    return numbers[one] < numbers[other]
  end)
  return envelopes
end
local function plain_work_in(of) return redis.call('LLEN', of.pending) + redis.call('LLEN', of.again) end
local function work_in(of) return plain_work_in(of) + redis.call('LLEN', of.suspect) end
-- What is delayed is pending, too, but no work yet.
local function pending_in(of) return work_in(of) + redis.call('ZCARD', of.delayed) end
local function head_of(of) return redis.call('LINDEX', of.again, 0) or redis.call('LINDEX', of.pending, 0) or '' end
-- The bell is a hint with at most one token: the claim is the truth.
local function ring(of)
  if redis.call('LLEN', of.bell) == 0 then redis.call('RPUSH', of.bell, '1') end
end
-- `plain`: not for suspects of poison alone. Who may not have them now, since it holds something else, would ring for
-- itself again and again; the beats ring for them.
local function ring_for_work(names, lists, paused, plain)
  for _, name in ipairs(names) do
    local of = lists[name]
    local work = plain and plain_work_in or work_in
    if redis.call('LLEN', of.bell) == 0 and work(of) > 0 and redis.call('HEXISTS', paused, 'kind:' .. name) == 0 then
      redis.call('RPUSH', of.bell, '1')
    end
  end
end
