#!lua flags=allow-oom
-- A drainer takes the oldest error records into its own hands; they are deleted only when it confirms that they were
-- printed. Safe to repeat: as long as it holds any, it is answered with those.
--
-- KEYS
--   drainers        zset
--   wills           hash
--   errors          hash   message id -> record
--   errors_by_time  zset   message id -> time of failure, server us
--   drained         hash   the caller's own: message id -> record
-- ARGV
--   id     text
--   limit  int   how many at most
-- REPLY
--   OK id record ...   what it holds now
--   WAIT silent        none rests in the store, but so many other drainers are silent and may hold some
--   EMPTY              none rests in the store
--   SUPERSEDED         its presence is gone: be reborn
local drainers, wills, errors, errors_by_time, drained = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, limit = ARGV[1], tonumber(ARGV[2])
-- include: clock
-- include: chunks
-- include: wills
-- include: types
local MOST_BYTES = 1048576
meet({ wills, errors, drained }, { drainers, errors_by_time })

if not redis.call('ZSCORE', drainers, id) then return { 'SUPERSEDED' } end
clear_mark(wills, id)
local holding = redis.call('HGETALL', drained)
if #holding > 0 then return { 'OK', unpack(holding) } end

if limit < 1 then return { 'OK' } end
local ids, taken, bytes = redis.call('ZRANGE', errors_by_time, 0, math.min(limit, 500) - 1), {}, 0
for _, message_id in ipairs(ids) do
  local record = redis.call('HGET', errors, message_id)
  if record then
    bytes = bytes + #record
    if bytes > MOST_BYTES and #taken > 0 then break end
    taken[#taken + 1] = message_id
    taken[#taken + 1] = record
  end
end
if #taken > 0 then
  in_chunks(taken, function(...) redis.call('HSET', drained, ...) end)
  for i = 1, #taken, 2 do
    redis.call('HDEL', errors, taken[i])
    redis.call('ZREM', errors_by_time, taken[i])
  end
  return { 'OK', unpack(taken) }
end
local others, silent = redis.call('ZRANGE', drainers, 0, -1, 'WITHSCORES'), 0
for i = 1, #others, 2 do
  local will = others[i] ~= id and read_will(redis.call('HGET', wills, others[i]))
  local silence = will and now - (tonumber(others[i + 1]) - will.lease)
  if will and (will.zero > 0 or silence > 4 * will.interval) then silent = silent + 1 end
end
if silent > 0 then return { 'WAIT', silent } end
return { 'EMPTY' }
