-- The agenda: the hash `schedules`, name -> JSON, and what of it is paused. Whoever changes it says so: the number `agenda`
-- in `meta` grows, and the alarm is rung.
local OF_RUNS = { 'running', 'began', 'ended', 'took', 'result', 'failures', 'skipped', 'tick' }
local function tell_of_change(meta, alarm)
  redis.call('HINCRBY', meta, 'agenda', 1)
  sound(alarm)
end
local function is_of_code(json) return json and cjson.decode(json).origin == 'code' end
local function times_of(json)
  local of = cjson.decode(json)
  return (of.cron or '') .. '|' .. (of.every_ms or 0) .. '|' .. (of.tz or '')
end
-- Answers whether that is news. Of a schedule that is new, or has other times, the first tick is the first from now on.
local function put_schedule(schedules, term_key, name, json)
  local before = redis.call('HGET', schedules, name)
  if before == json then return false end
  redis.call('HSET', schedules, name, json)
  if not before or times_of(before) ~= times_of(json) then redis.call('HSET', term_key, 'tick:schedule:' .. name, now) end
  return true
end
local function drop_schedule(schedules, term_key, runs, name)
  redis.call('HDEL', schedules, name)
  redis.call('HDEL', term_key, 'tick:schedule:' .. name, 'cursor:schedule:' .. name)
  for _, what in ipairs(OF_RUNS) do redis.call('HDEL', runs, what .. ' ' .. name) end
end
