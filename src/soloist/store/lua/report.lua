#!lua flags=allow-oom
-- An instance says of itself what nobody else can see: what it works on and for how long, a source that fails, a heart
-- that came late. Sent only when it changes. Safe to repeat; a late copy is set right by the next report.
--
-- KEYS
--   instances  zset
--   instance   hash  the caller's own
-- ARGV
--   id      text
--   report  text  JSON; empty: all is well
-- REPLY
--   OK
--   GONE   its presence is gone; nothing was changed
local instances, instance = KEYS[1], KEYS[2]
local id, report = ARGV[1], ARGV[2]
-- include: types
meet({ instance }, { instances })

if not redis.call('ZSCORE', instances, id) then return { 'GONE' } end
if report == '' then
  redis.call('HDEL', instance, 'report')
else
  redis.call('HSET', instance, 'report', report)
end
return { 'OK' }
