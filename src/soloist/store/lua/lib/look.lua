-- Looks at others: sets and clears the marks of their wills, cuts deadlines that a clock gone back has left too far
-- ahead, and answers what is known of each, who is gone, and in how many ms the first grace ends.
local function of_each(ids, ask)
  local answers = {}
  for first = 1, #ids, 500 do
    for i, answer in ipairs(ask(unpack(ids, first, math.min(first + 499, #ids)))) do answers[first + i - 1] = answer end
  end
  return answers
end
local function look_at(watched, id, counts, judges, keys)
  local others, gone, wake = {}, {}, math.huge
  local wills = of_each(watched, function(...) return redis.call('HMGET', keys.wills, ...) end)
  local deadlines = of_each(watched, function(...) return redis.call('ZMSCORE', keys.instances, ...) end)
  for i, other in ipairs(watched) do
    local will = other ~= id and read_will(wills[i] or nil)
    local presence, deadline = keys.instances, will and deadlines[i]
    if will and not deadline then
      presence = keys.drainers
      deadline = redis.call('ZSCORE', presence, other)
    end
    if deadline then
      if will.has and counts then
        local zero = counts[other] > 0 and 0 or ((will.zero == 0 or will.zero > now) and now or will.zero)
        if zero ~= will.zero then
          will.zero = zero
          write_will(keys.wills, other, will)
        end
      end
      deadline = tonumber(deadline)
      if deadline > now + will.lease then
        deadline = now + will.lease
        redis.call('ZADD', presence, deadline, other)
      end
      local dead_by_will = judges.by_will and executed(will, now)
      others[other] = { marked = will.zero > 0, dead_by_will = dead_by_will }
      if dead_by_will or (deadline < now and judges.by_lease(will.lease)) then gone[#gone + 1] = other end
      if will.zero > 0 and not executed(will, now) then wake = math.min(wake, will.zero + grace_of(will) - now) end
    end
  end
  return others, gone, wake
end
