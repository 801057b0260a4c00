-- The agenda: the hash `schedules`, name -> JSON, and what of it is paused. Whoever changes it says so: the number `agenda`
-- in `meta` grows, and the alarm is rung.
-- Of a schedule that is dropped; not `running`: those runs still end, perhaps when it is there again.
local OF_RUNS = { 'began', 'ended', 'took', 'result', 'failures', 'skipped' }
local function tell_of_change(meta, alarm)
  redis.call('HINCRBY', meta, 'agenda', 1)
  sound(alarm)
end
-- Of what nobody can read (somebody else wrote it), nothing: it must not keep the others from being declared or removed.
local function read_schedule(json)
  local readable, of = pcall(cjson.decode, json or '')
  return readable and type(of) == 'table' and of or {}
end
local function is_of_code(json) return read_schedule(json).origin == 'code' end
local function times_of(json)
  local of = read_schedule(json)
  return tostring(of.cron) .. '|' .. tostring(of.every_ms) .. '|' .. tostring(of.tz)
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
  redis.call('HDEL', term_key, 'tick:schedule:' .. name)
  for _, what in ipairs(OF_RUNS) do redis.call('HDEL', runs, what .. ' ' .. name) end
end
