-- The agenda: the hash `schedules`, name -> JSON, and what of it is paused. Whoever changes it says so: the number `agenda`
-- in `meta` is another, and the alarm is rung.
local OF_RUNS = { 'running', 'began', 'ended', 'took', 'result', 'failures', 'skipped', 'tick', 'since', 'waits', 'dropped' }
local KEPT_MS = 3600000
local function tell_of_change(meta, alarm)
  local before = tonumber(redis.call('HGET', meta, 'agenda') or 0)
  redis.call('HSET', meta, 'agenda', text_us(math.max(now_us, before + 1))) -- a count could be the same again after a roll-back
  sound(alarm)
end
-- Of what nobody can read (somebody else wrote it), nothing: it must not keep the others from being declared or removed.
local function read_schedule(json)
  local readable, of = pcall(cjson.decode, json or '')
  return readable and type(of) == 'table' and of or {}
end
local function is_of_code(json) return read_schedule(json).origin == 'code' end
local function kind_in(json) return tostring(read_schedule(json).kind) end
local function times_of(json)
  local of = read_schedule(json)
  return tostring(of.cron) .. '|' .. tostring(of.every_ms) .. '|' .. tostring(of.tz)
end
-- After a pause: ticks at a distance keep their grid, others are found from any moment.
local function tick_to_go_on_with(schedules, term_key, name)
  local every = tonumber(read_schedule(redis.call('HGET', schedules, name)).every_ms or 0) or 0
  local last = tonumber(redis.call('HGET', term_key, 'tick:schedule:' .. name) or 0)
  if every <= 0 or last <= 0 or last >= now then return now end
  return last + math.floor((now - last) / every) * every
end
local function forget_runs(runs, name)
  redis.call('HDEL', runs, 'running ' .. name, 'waits ' .. name)
  redis.call('HSET', runs, 'since ' .. name, text_us(now_us))
end
local function drop_schedule(schedules, term_key, runs, name)
  redis.call('HDEL', schedules, name)
  redis.call('HDEL', term_key, 'tick:schedule:' .. name, 'cursor:schedule:' .. name)
  for _, what in ipairs(OF_RUNS) do redis.call('HDEL', runs, what .. ' ' .. name) end
end
-- What this version of the code does not have, another one may, which generates again in a moment: while a new version is
-- rolled out the part goes to and fro. So ticks and runs are kept for a while.
local function set_aside(schedules, runs, name)
  redis.call('HDEL', schedules, name)
  redis.call('HSET', runs, 'dropped ' .. name, now)
end
local function is_kept(runs, name) return now - tonumber(redis.call('HGET', runs, 'dropped ' .. name) or 0) < KEPT_MS end
local function drop_what_was_kept(schedules, term_key, runs)
  for _, field in ipairs(redis.call('HKEYS', runs)) do
    local name = string.match(field, '^dropped (.*)$')
    if name and not is_kept(runs, name) then drop_schedule(schedules, term_key, runs, name) end
  end
end
-- Answers whether that is news. Of a schedule that is new, or has other times, the first tick is the first from now on; runs
-- of one that was of another kind are not its runs any more: perhaps nobody handles that kind.
local function put_schedule(schedules, term_key, runs, name, json)
  local before = redis.call('HGET', schedules, name)
  if before == json then return false end
  local is_new = not before and not is_kept(runs, name)
  redis.call('HSET', schedules, name, json)
  redis.call('HDEL', runs, 'dropped ' .. name)
  if is_new or (before and times_of(before) ~= times_of(json)) then redis.call('HSET', term_key, 'tick:schedule:' .. name, now) end
  if is_new or (before and kind_in(before) ~= kind_in(json)) then forget_runs(runs, name) end
  return true
end
