#!lua flags=allow-oom
-- An instance (or a drainer) takes its place in the namespace. Never repeated: an unknown answer means a new id, so a
-- late copy makes at most a presence that nobody extends, which its lease ends.
-- It is the first to come, so it meets every key of the namespace, also those that it does not write to.
--
-- KEYS
--   meta            hash    protocol, app, numbers given so far
--   presence        zset    `instances` or `drainers`: id -> deadline, server ms
--   wills           hash    id -> will
--   instance        hash    the caller's own
--   kinds           set     kinds known
--   log             stream  the common log
--   instances       zset
--   drainers        zset
--   line            hash
--   term            hash
--   paused          hash
--   attempts        hash
--   totals          hash
--   errors          hash
--   errors_by_time  zset
--   history         stream
--   tracked         hash
--   unique          hash
--   runs            hash
--   schedules       hash
--   alarm           list
--   producers       zset
--   submitted       hash
--   ...             lists   pending, again, suspect, bell, delayed (zset) of each kind that it handles
-- ARGV
--   id              text  the new id
--   number          int   the number to keep (a rebirth), 0 for a new one, -1 for none (a drainer)
--   app             text  the App's name; empty: whatever is there (a drainer)
--   protocol        int   the version of the protocol that the caller speaks
--   host            text
--   pid             int
--   claim_lease_ms  int
--   interval_ms     int   its beat interval to begin with
--   ...             text  the kinds that it handles
-- REPLY
--   OK number stamp now_ms
--   PROTOCOL version   the namespace speaks another version; nothing was changed
--   APP name           the namespace belongs to another App; nothing was changed
--   FOREIGN key        this key is there, though there is no such namespace: somebody else's; nothing was changed
--   FORBIDDEN command  the ACL forbids a command that our scripts use; nothing was changed
--   EMPTY              there is no such namespace, and the caller names no App
--   TAKEN              this id is present already: a late copy; nothing was changed
local meta, presence, wills, instance, kinds, log = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local instances, drainers, line, term_key, paused = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local attempts, totals, errors, errors_by_time, history = KEYS[12], KEYS[13], KEYS[14], KEYS[15], KEYS[16]
local tracked, unique, runs, schedules = KEYS[17], KEYS[18], KEYS[19], KEYS[20]
local alarm, producers, submitted = KEYS[21], KEYS[22], KEYS[23]
local id, number, app, protocol, host, pid = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local claim_lease_ms, interval_ms = tonumber(ARGV[7]), tonumber(ARGV[8])
local names = { unpack(ARGV, 9) }
-- include: clock
-- include: kinds
-- include: wills
-- include: log
-- include: types
-- include: permissions
local lists = kind_lists(24, names)

local forbidden = first_forbidden(meta)
if forbidden then return { 'FORBIDDEN', forbidden } end
meet({ meta, wills, instance, line, term_key, paused, attempts, totals, errors, tracked, unique, runs, schedules,
  submitted }, { instances, drainers, errors_by_time, producers }, log, lists)
redis.call('LLEN', alarm)
redis.call('SCARD', kinds)
redis.call('XLEN', history)
local there = redis.call('HMGET', meta, 'protocol', 'app')
-- Without `meta` none of these can be ours. (Others can: a call that is refused after a purge is counted and logged.)
local function first_foreign()
  for _, key in ipairs({ meta, kinds, instances, drainers, wills, line, term_key, attempts, errors, errors_by_time,
    history, tracked, unique, runs, schedules, alarm, producers, submitted }) do
    if redis.call('EXISTS', key) == 1 then return key end
  end
  for _, of in pairs(lists) do
    for _, key in pairs(of) do
      if redis.call('EXISTS', key) == 1 then return key end
    end
  end
  return nil
end
local foreign = not there[1] and first_foreign()
if foreign then return { 'FOREIGN', foreign } end
if not there[1] and app == '' then return { 'EMPTY' } end
if there[1] and there[1] ~= protocol then return { 'PROTOCOL', there[1] } end
if there[2] and app ~= '' and there[2] ~= app then return { 'APP', there[2] } end
if redis.call('ZSCORE', presence, id) or redis.call('EXISTS', instance) == 1 then return { 'TAKEN' } end

if not there[1] then redis.call('HSET', meta, 'protocol', protocol, 'app', app) end
if number == 0 then
  number = redis.call('HINCRBY', meta, 'numbers', 1)
elseif number > tonumber(redis.call('HGET', meta, 'numbers') or 0) then
  redis.call('HSET', meta, 'numbers', number) -- reborn into an emptied namespace: nobody else shall get its number
end
local stamp = text_us(now_us)
redis.call('ZADD', presence, now + claim_lease_ms, id)
redis.call('HSET', instance, 'number', number, 'host', host, 'pid', pid, 'kinds', table.concat(names, ' '), 'started', now,
  'turn', 0, 'stamp', stamp, 'before', '', 'beat', now, 'since', now, 'will', 0, 'will_since', 0, 'generated', 0,
  'completed', 0, 'failed', 0)
write_will(wills, id, { has = false, interval = interval_ms, zero = 0, lease = claim_lease_ms })
for _, name in ipairs(names) do redis.call('SADD', kinds, name) end
if number > 0 then note(log, 'event', 'joined', 'number', number, 'instance', id, 'host', host, 'pid', pid) end
return { 'OK', number, stamp, now }
