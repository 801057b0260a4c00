-- A suspect of poison is claimed alone, so that a death is its own; `only_waiting`: only one that has waited for long. Who
-- holds something is asked to make room for such a one, for half as long as it has waited; nobody else for twice as long
-- after that, so that other work goes on for most of the time, whatever is in somebody's hands.
local SUSPECT_WAITS_MS, LONGEST_HOLD_MS = 10000, 30000
local function take_suspect(lists, groups, holding, only_waiting)
  for _, group in ipairs(groups) do
    local head = group.want > 0 and redis.call('LINDEX', lists[group.name].suspect, 0)
    local of = head and read_attempts(attempts, { id_of(head) })[id_of(head)] -- nothing, if it is somebody else's
    if of and (not only_waiting or now - of.since >= SUSPECT_WAITS_MS) then
      if holding == 0 then
        redis.call('LPOP', lists[group.name].suspect)
        redis.call('HSET', instance, 'alone', id_of(head))
        return head, 0
      elseif of.hold < now then
        local hold_ms = math.min(math.floor((now - of.since) / 2), LONGEST_HOLD_MS)
        of.hold = now + 3 * hold_ms
        write_attempts(attempts, id_of(head), of)
        return nil, hold_ms
      end
    end
  end
  return nil, 0
end
