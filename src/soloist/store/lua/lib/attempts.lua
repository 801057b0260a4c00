-- The hash `attempts`: message id -> "DEATHS RETRIES SINCE HOLD", only of messages that have any. SINCE: suspect since,
-- HOLD: somebody was asked to make room for it until then; both server ms, 0 for none.
local function read_attempts(attempts, ids)
  local found = {}
  if redis.call('EXISTS', attempts) == 0 then return found end
  for first = 1, #ids, 1000 do
    local entries = redis.call('HMGET', attempts, unpack(ids, first, math.min(first + 999, #ids)))
    for i, entry in ipairs(entries) do
      if entry then
        local deaths, retries, since, hold = string.match(entry, '^(%d+) (%d+) (%d+) (%d+)$')
        found[ids[first + i - 1]] = {
          deaths = tonumber(deaths), retries = tonumber(retries), since = tonumber(since), hold = tonumber(hold) }
      end
    end
  end
  return found
end
local function write_attempts(attempts, id, of)
  redis.call('HSET', attempts, id, string.format('%.0f %.0f %.0f %.0f', of.deaths, of.retries, of.since, of.hold))
end
local function is_suspect(of, max_attempts) return of ~= nil and of.deaths >= max_attempts - 1 end
-- Given back: to the head of the list it came from, in the old order, deaths and retries unchanged.
local function give_back(lists, attempts, envelopes, max_attempts)
  local ids, heads = ids_of(envelopes), {}
  local known = read_attempts(attempts, ids)
  for i, envelope in ipairs(envelopes) do
    local of, entry = lists[kind_of(envelope)], known[ids[i]]
    local list = of.pending
    if is_suspect(entry, max_attempts) then list = of.suspect elseif entry then list = of.again end
    heads[list] = heads[list] or {}
    table.insert(heads[list], envelope)
  end
  for list, waiting in pairs(heads) do
    in_chunks(reversed(waiting), function(...) redis.call('LPUSH', list, ...) end)
  end
end
