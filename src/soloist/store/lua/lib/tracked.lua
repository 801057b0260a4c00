-- Messages whose end somebody waits for: the hash `tracked`, message id -> "unique KIND KEY" or "run BEGAN SINCE NAME", as long
-- as it is pending or claimed. `unique`: "KIND KEY" -> the id of the one that there is. `runs`, of each schedule, "WHAT NAME":
-- running (published and not ended), began, ended (server ms), took (ms), result (completed | failed), failures (in a row),
-- skipped (ticks that were not made up for), tick (the last one that was published).
local function tracked_among(tracked, ids)
  local found = {}
  for first = 1, #ids, 1000 do
    for i, entry in ipairs(redis.call('HMGET', tracked, unpack(ids, first, math.min(first + 999, #ids)))) do
      if entry then found[#found + 1] = { id = ids[first + i - 1], entry = entry } end
    end
  end
  return found
end
local function running(runs, schedule) return tonumber(redis.call('HGET', runs, 'running ' .. schedule) or 0) end
-- SINCE names one life of a schedule: runs of one that was removed since, or of another kind, are not its runs any more.
local function track_runs(tracked, runs, ids, schedule)
  local since = redis.call('HGET', runs, 'since ' .. schedule) or '0'
  for _, id in ipairs(ids) do redis.call('HSET', tracked, id, 'run 0 ' .. since .. ' ' .. schedule) end
  if #ids > 0 then redis.call('HINCRBY', runs, 'running ' .. schedule, #ids) end
end
local function is_its_run(runs, schedule, since) return (redis.call('HGET', runs, 'since ' .. schedule) or '0') == since end
-- They were claimed: a run that was claimed before begins anew.
local function begin_tracked(tracked, runs, ids)
  for _, of in ipairs(tracked_among(tracked, ids)) do
    local since, schedule = string.match(of.entry, '^run %d+ (%d+) (.*)$')
    if schedule then
      redis.call('HSET', tracked, of.id, string.format('run %.0f %s %s', now, since, schedule))
      if is_its_run(runs, schedule, since) then redis.call('HSET', runs, 'began ' .. schedule, now) end
    end
  end
end
local function end_run(runs, schedule, began, has_failed)
  if redis.call('HINCRBY', runs, 'running ' .. schedule, -1) <= 0 then redis.call('HDEL', runs, 'running ' .. schedule) end
  redis.call('HSET', runs, 'ended ' .. schedule, now, 'took ' .. schedule, math.max(0, now - (began > 0 and began or now)),
    'result ' .. schedule, has_failed and 'failed' or 'completed')
  if has_failed then
    redis.call('HINCRBY', runs, 'failures ' .. schedule, 1)
  else
    redis.call('HDEL', runs, 'failures ' .. schedule)
  end
end
-- They are completed or failed. `failed`: id -> true.
local function end_tracked(tracked, unique, runs, ids, failed)
  for _, of in ipairs(tracked_among(tracked, ids)) do
    redis.call('HDEL', tracked, of.id)
    local key = string.match(of.entry, '^unique (.*)$')
    local began, since, schedule = string.match(of.entry, '^run (%d+) (%d+) (.*)$')
    if key and redis.call('HGET', unique, key) == of.id then redis.call('HDEL', unique, key) end
    if schedule and is_its_run(runs, schedule, since) then end_run(runs, schedule, tonumber(began), failed[of.id]) end
  end
end
