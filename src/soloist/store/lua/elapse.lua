#!lua
-- For tests: as if so much time had gone by for what is delayed, it is due by so much sooner. Not safe to repeat.
--
-- KEYS
--   kinds  set
--   ...    per kind: pending, again, suspect, bell, delayed (zset)
-- ARGV
--   ms   int
--   ...  text  the kinds
-- REPLY
--   OK   the heart that moves what is due finds it with its next beat
local kinds = KEYS[1]
local ms, names = tonumber(ARGV[1]), { unpack(ARGV, 2) }
-- include: kinds
-- include: types
local lists = kind_lists(2, names)
meet({}, {}, nil, lists)
redis.call('SCARD', kinds)

for _, name in ipairs(names) do
  local delayed = redis.call('ZRANGE', lists[name].delayed, 0, -1, 'WITHSCORES')
  for i = 1, #delayed, 2 do redis.call('ZADD', lists[name].delayed, delayed[i + 1] - ms, delayed[i]) end
end
return { 'OK' }
