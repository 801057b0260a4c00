#!lua
-- A producer publishes messages: all of them in one step, or none. Numbered calls, one after another: a call that was applied
-- already is answered the same and changes nothing. Not allowed when memory is full: it is then refused whole.
--
-- KEYS
--   producers  zset   producer -> when it was heard last, server ms
--   submitted  hash   producer -> its last call; then, of those that were not published, place and the id that is there
--   totals     hash
--   kinds      set
--   tracked    hash
--   unique     hash
--   runs       hash
--   alarm      list
--   ...        lists  pending, again, suspect, bell, delayed (zset) of each kind
-- ARGV
--   producer        text
--   call            int   one more than the call before it
--   max_pending     int   of each kind: at or above it nothing is accepted
--   kinds_count     int
--   specials_count  int
--   ...             text  the kinds; how many messages of each; of each special four: its place among the envelopes (from
--                         1), after how many ms it is due (0: at once), at what time of the server it is due (ms, 0: at
--                         once), and who waits for its end: unique KEY, run SCHEDULE or nothing; then the envelopes
-- REPLY
--   OK now_ms others   published (or it was already), but for those whose key waits or is claimed; of these place and the id
--                      of the one that is there, by turns
--   FULL pending       too many wait: nothing was changed, the call number is not used
--   GONE               no such producer, or another call is the next: nothing was changed
local producers, submitted, totals, kinds = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local tracked, unique, runs, alarm = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local producer, call, max_pending = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local kinds_count, specials_count, values, at = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV, 6
-- include: clock
-- include: kinds
-- include: types
-- include: alarm
-- include: tracked
local names, counts = slice(values, at, kinds_count), slice(values, at + kinds_count, kinds_count)
at = at + 2 * kinds_count
local specials, offset = slice(values, at, 4 * specials_count), at + 4 * specials_count - 1
local lists = kind_lists(9, names)
meet({ submitted, totals, tracked, unique, runs }, { producers }, nil, lists)
redis.call('SCARD', kinds)
redis.call('LLEN', alarm)

local stored = redis.call('HGET', submitted, producer)
local applied, others = string.match(stored or '', '^(%d+)(.*)$')
if call == tonumber(applied) then
  redis.call('HSET', submitted, producer, stored) -- something to WAIT for on a new connection
  local answer = {}
  for word in string.gmatch(others, '[^ ]+') do answer[#answer + 1] = word end
  return { 'OK', now, answer }
end
if call ~= (tonumber(applied) or call) + 1 then return { 'GONE' } end
for _, name in ipairs(names) do
  local waiting = pending_in(lists[name])
  if waiting >= max_pending then return { 'FULL', waiting } end
end

local special, refused = {}, {}
for i = 1, #specials, 4 do
  special[tonumber(specials[i])] = { due = math.max(now + specials[i + 1], tonumber(specials[i + 2])), waits = specials[i + 3] }
end
-- Whether it is to be published: a message of a key that is there is not.
local function is_new(place, envelope, name)
  local waits = special[place].waits
  local key = string.match(waits, '^unique (.*)$')
  local there = key and redis.call('HGET', unique, name .. ' ' .. key)
  if there then refused[#refused + 1], refused[#refused + 2] = place, there end
  if there then return false end
  if key then
    redis.call('HSET', unique, name .. ' ' .. key, id_of(envelope))
    redis.call('HSET', tracked, id_of(envelope), 'unique ' .. name .. ' ' .. key)
  elseif waits ~= '' then
    track_runs(tracked, runs, { id_of(envelope) }, string.match(waits, '^run (.*)$'))
  end
  return true
end
local published, first = 0, offset + 1
for kind, name in ipairs(names) do
  local waiting, many, last = {}, 0, first + counts[kind] - 1
  local function flush()
    if #waiting > 0 then redis.call('RPUSH', lists[name].pending, unpack(waiting)) end
    waiting = {}
  end
  for i = first, last do
    local of = special[i - offset]
    if not of or is_new(i - offset, values[i], name) then
      many = many + 1
      if of and of.due > now then
        redis.call('ZADD', lists[name].delayed, of.due, values[i])
        sound_if_soon(alarm, of.due)
      else
        waiting[#waiting + 1] = values[i]
      end
      if #waiting == 1000 then flush() end
    end
  end
  flush()
  first, published = last + 1, published + many
  redis.call('SADD', kinds, name)
  if many > 0 then redis.call('HINCRBY', totals, 'published:' .. name, many) end
  if work_in(lists[name]) > 0 then ring(lists[name]) end
end
if published > 0 then redis.call('HINCRBY', totals, 'published', published) end
redis.call('HSET', submitted, producer, text_us(call) .. (#refused > 0 and ' ' or '') .. table.concat(refused, ' '))
redis.call('ZADD', producers, now, producer)
return { 'OK', now, refused }
