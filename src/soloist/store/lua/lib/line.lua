-- The line of successors: two places, each "ID LAST IDLE_JUDGE", so that who succeeds is known beforehand.
local function read_line(line)
  local places = {}
  for i, entry in ipairs(redis.call('HMGET', line, '1', '2')) do
    local id, last, idle = string.match(entry or '', '^([^ ]+) (%d+) (%d)$')
    places[i] = { id = id or '', last = tonumber(last or 0), idle_judge = idle == '1' }
  end
  return places
end
local function idle_judge_in_line(places, id, others, heartbeat_ms)
  for _, place in ipairs(places) do
    local other = others[place.id]
    local heard = now >= place.last and now - place.last <= 2 * heartbeat_ms
    if place.id ~= id and place.idle_judge and other and not other.marked and heard then return true end
  end
  return false
end
local function is_free(place, others, holder, heartbeat_ms)
  local other = others[place.id]
  return not other or other.marked or place.id == holder or now < place.last or now - place.last > 3 * heartbeat_ms
end
-- The second in line beats midway between two beats of the first, so that one of them looks twice per heartbeat: a death
-- is then marked within half of one.
local function midway(first, heartbeat_ms)
  local wait = first.last + 1.5 * heartbeat_ms - now
  if first.id == '' or wait <= 0 or wait > 1.5 * heartbeat_ms then return heartbeat_ms end
  if wait > heartbeat_ms then wait = wait - heartbeat_ms end
  return math.floor(wait)
end
-- Puts `waiting` (nil: nobody) into a place and answers which; strikes the caller from the places that it gives up.
local function take_place(line, places, waiting, others, holder, idle_judge, heartbeat_ms, caller)
  local mine = 0
  for i, place in ipairs(places) do
    if place.id == caller then
      if waiting and mine == 0 then mine = i else redis.call('HDEL', line, tostring(i)) end
    end
  end
  if waiting and mine == 0 then
    for i, place in ipairs(places) do
      if mine == 0 and place.id ~= caller and is_free(place, others, holder, heartbeat_ms) then mine = i end
    end
    for i, place in ipairs(places) do
      if mine == 0 and idle_judge and not place.idle_judge then mine = i end
    end
  end
  if mine > 0 then
    redis.call('HSET', line, tostring(mine), string.format('%s %.0f %d', waiting, now, idle_judge and 1 or 0))
  end
  return mine
end
