-- What is delayed waits in a zset, envelope -> due (server ms), until a beat of one that handles its kind finds it due: then
-- to the tail of `again` (`suspect`, if it is one) if it was attempted before, else of `pending`. Never early.
-- The one who generates looks when the next one is due, but not more often than every STEP_MS; others with their heartbeats,
-- for what it does not handle, and while nobody generates: many that looked at the same moment would be in each other's way.
local MOST_DUE, STEP_MS = 1000, 20
local function wait_for_due(due, generates, heartbeat_ms)
  if due <= 0 then return 1 end -- more than could be moved at once
  return math.max(due, generates and STEP_MS or heartbeat_ms)
end
local function move_due(names, lists, attempts, max_attempts)
  local wake = math.huge
  for _, name in ipairs(names) do
    local of, tails = lists[name], {}
    local first = redis.call('ZRANGE', of.delayed, 0, 0, 'WITHSCORES')
    if first[2] and tonumber(first[2]) <= now then
      local due = redis.call('ZRANGE', of.delayed, '-inf', now, 'BYSCORE', 'LIMIT', 0, MOST_DUE)
      local ids = ids_of(due)
      local known = read_attempts(attempts, ids)
      for i, envelope in ipairs(due) do
        local entry, list = known[ids[i]], of.pending
        if is_suspect(entry, max_attempts) then
          list, entry.since = of.suspect, now
          write_attempts(attempts, ids[i], entry)
        elseif entry then
          list = of.again
        end
        tails[list] = tails[list] or {}
        table.insert(tails[list], envelope)
      end
      for list, waiting in pairs(tails) do in_chunks(waiting, function(...) redis.call('RPUSH', list, ...) end) end
      in_chunks(due, function(...) redis.call('ZREM', of.delayed, ...) end)
      first = redis.call('ZRANGE', of.delayed, 0, 0, 'WITHSCORES')
    end
    if first[2] then wake = math.min(wake, tonumber(first[2]) - now) end
  end
  return wake -- in how many ms the next one is due
end
