#!lua flags=allow-oom
-- An instance says of itself what nobody else can see: what it works on and for how long, a source that fails, a heart
-- that came late. Sent only when it changes. Numbered: safe to repeat, and a late copy of an older one does nothing.
--
-- KEYS
--   instances  zset
--   instance   hash  the caller's own
-- ARGV
--   id      text
--   number  int   one more than the report before it
--   report  text  JSON; empty: all is well
-- REPLY
--   OK     written, or a newer one was
--   GONE   its presence is gone; nothing was changed
local instances, instance = KEYS[1], KEYS[2]
local id, number, report = ARGV[1], tonumber(ARGV[2]), ARGV[3]
-- include: types
meet({ instance }, { instances })

if not redis.call('ZSCORE', instances, id) then return { 'GONE' } end
if number < tonumber(redis.call('HGET', instance, 'reports') or 0) then return { 'OK' } end
redis.call('HSET', instance, 'reports', number)
if report == '' then
  redis.call('HDEL', instance, 'report')
else
  redis.call('HSET', instance, 'report', report)
end
return { 'OK' }
