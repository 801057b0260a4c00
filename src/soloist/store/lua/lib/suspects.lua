-- A suspect of poison is claimed alone, so that a death is its own; `waiting` only one that has waited for long.
local SUSPECT_WAITS_MS = 10000
local function take_suspect(lists, groups, holding, only_waiting)
  for _, group in ipairs(groups) do
    local head = group.want > 0 and redis.call('LINDEX', lists[group.name].suspect, 0)
    local of = head and read_attempts(attempts, { id_of(head) })[id_of(head)] -- nothing, if it is somebody else's
    if of and (not only_waiting or now - of.since >= SUSPECT_WAITS_MS) then
      if holding == 0 then
        redis.call('LPOP', lists[group.name].suspect)
        redis.call('HSET', instance, 'alone', id_of(head))
        return head, false
      elseif of.hold < now then
        of.hold = now + SUSPECT_WAITS_MS
        write_attempts(attempts, id_of(head), of)
        return nil, true
      end
    end
  end
  return nil, false
end
