-- Who may judge (docs/protocol.md): only one that was itself heard without a gap, or the first to be heard after a
-- stall or a restart would declare everybody else dead.
local WITNESS_MS = 1000
local function judge(heard)
  local for_ms = now - heard.since
  local will_for_ms = heard.will_since > 0 and now - heard.will_since or 0
  return {
    by_lease = function(lease) return for_ms >= lease end,
    by_will = for_ms >= WITNESS_MS and will_for_ms >= WITNESS_MS,
  }
end
local function read_heard(instance_key)
  local fields = redis.call('HMGET', instance_key, 'beat', 'since', 'will', 'will_since', 'number',
    'turn', 'stamp')
  if not fields[1] then return nil end
  return { beat = tonumber(fields[1]), since = tonumber(fields[2]), will = fields[3], will_since = tonumber(fields[4]),
    number = fields[5], turn = tonumber(fields[6]), stamp = fields[7] }
end
-- Whether a `next` that was answered is not known here: the server went back to an older state. What it holds for the
-- caller is then not what the caller knows of, and would rest under a beating heart until the caller has something to say.
local function has_forgotten(heard, turn, stamp)
  return turn > 0 and (heard.turn < turn or (heard.turn == turn and heard.stamp ~= stamp))
end
local function has_gap(heard, lease) return now < heard.beat or now - heard.beat > lease / 2 end
