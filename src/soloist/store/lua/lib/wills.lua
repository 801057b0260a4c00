-- The last will (docs/protocol.md). An entry of the hash `wills` is "HAS INTERVAL ZERO LEASE": is there a will, the
-- beat interval, since when its channel counts 0 (0: it does not), the claim lease; all in ms.
local GRACE_MS = 300
local function read_will(entry)
  local has, interval, zero, lease = string.match(entry or '', '^(%d) (%d+) (%d+) (%d+)$')
  if not has then return nil end
  return { has = has == '1', interval = tonumber(interval), zero = tonumber(zero), lease = tonumber(lease) }
end
local function write_will(wills, id, will)
  redis.call('HSET', wills, id, string.format('%d %.0f %.0f %.0f', will.has and 1 or 0, will.interval, will.zero, will.lease))
end
-- Any call of an instance shows that it lives: only its subscription is down. An interval given is set as well.
local function clear_mark(wills, id, interval)
  local will = read_will(redis.call('HGET', wills, id))
  if will and (will.zero > 0 or (interval and interval < will.interval)) then
    will.zero = 0
    will.interval = math.min(will.interval, interval or will.interval)
    write_will(wills, id, will)
  end
end
local function grace_of(will) return math.max(GRACE_MS, 2 * will.interval) end
local function executed(will, at) return will.zero > 0 and will.zero <= at and at - will.zero >= grace_of(will) end
-- How many listen on each channel; nothing at all where the server or the ACL has no sharded channels.
local function listeners(channel, ids)
  local counts = {}
  for first = 1, #ids, 500 do
    local names = {}
    for i = first, math.min(first + 499, #ids) do names[#names + 1] = channel .. ids[i] end
    local answer = redis.pcall('PUBSUB', 'SHARDNUMSUB', unpack(names))
    if answer.err then return nil end
    for i = 1, #names do counts[ids[first + i - 1]] = answer[2 * i] end
  end
  return counts
end
