#!lua flags=allow-oom
-- A sign of life, and with it everything that follows from who is alive: extends the caller's presence and the term
-- that it names, keeps the marks of the last wills and the line of successors, elects, and says whom to reclaim.
-- What was delayed and is due waits like the others from now on. Safe to repeat: nothing is counted but the loss of a term.
--
-- KEYS
--   instances  zset    id -> deadline, server ms
--   drainers   zset    the same, of those that only look or drain
--   wills      hash    id -> will
--   line       hash    place 1 and 2 -> "id last_beat_ms idle_judge"
--   instance   hash    the caller's own
--   term       hash    term, instance, deadline, lease, call, seq, tag, since, renewed, takeover_ms, asked, cursors, ticks;
--                      and what sample.lua has noted
--   totals     hash
--   paused     hash    kind:NAME -> 1
--   log        stream
--   attempts   hash
--   meta       hash
--   claimed    list    the caller's own: who holds a message beats fast, whatever it knows of it
--   ...        lists   pending, again, suspect, bell, delayed (zset) of each kind
-- ARGV
--   id              text
--   role            text  instance | drainer
--   term            int   the term that the caller plays, 0 for none
--   may_generate    int   0: not willing; from the holder: it resigns
--   busy            int   1: it works on a message now
--   will            int   which subscription of its will this is; another number: it was interrupted
--   heartbeat_ms    int
--   lease_ms        int
--   claim_lease_ms  int
--   channel         text  what the channels of the wills begin with
--   tag             text  tag of the term, should it be elected now
--   max_attempts    int
--   turn            int   the last `next` of which it has the answer, 0 for none
--   stamp           text  that answer's stamp
--   ...             text  the kinds that it handles
-- REPLY
--   OK now_ms role place next_ms instances gone term agenda
--        role: handler | generator (the named term was extended) | asked (the same, and it shall hand over)
--              | elected (it holds a term that it did not name) | superseded (the term that it named is over);
--        gone: whom to reclaim; term: all fields, if elected; agenda: its version
--   SUPERSEDED   its presence is gone, or a `next` that was answered is forgotten (a roll-back): be reborn
local instances, drainers, wills, line, instance = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local term_key, totals, paused, log, attempts, meta, claimed = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local id, role, named, may_generate, busy = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1', ARGV[5] == '1'
local will_number, heartbeat_ms, lease_ms = ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])
local claim_lease_ms, channel, tag, max_attempts = tonumber(ARGV[9]), ARGV[10], ARGV[11], tonumber(ARGV[12])
local turn, stamp, names = tonumber(ARGV[13]), ARGV[14], { unpack(ARGV, 15) }
-- include: clock
-- include: wills
-- include: judge
-- include: chunks
-- include: kinds
-- include: types
-- include: log
-- include: elect
-- include: line
-- include: look
-- include: attempts
-- include: delayed
local lists = kind_lists(13, names)
meet({ totals, paused, attempts, meta }, { drainers }, log, lists) -- the others are read below, before the first write

local presence = role == 'drainer' and drainers or instances
local heard = read_heard(instance)
if not heard or not redis.call('ZSCORE', presence, id) or has_forgotten(heard, turn, stamp) then return { 'SUPERSEDED' } end

local held = redis.call('HMGET', term_key, 'term', 'instance', 'deadline', 'lease', 'renewed', 'asked')
local term = { number = tonumber(held[1] or 0), holder = held[2] or '', deadline = tonumber(held[3] or 0),
  lease = tonumber(held[4] or lease_ms), renewed = tonumber(held[5] or 0) }
local places = read_line(line)
local in_line = places[1].id == id or places[2].id == id
local at_work = busy or redis.call('LLEN', claimed) > 0
local fast = at_work or in_line or term.holder == id or role == 'drainer'

-- While somebody generates (and so looks at everybody), idle ones look only at those whose part they might take.
local watched = (fast or term.deadline < now) and redis.call('HKEYS', wills) or { id, term.holder, places[1].id, places[2].id }
local counts = listeners(channel, watched)
local subscribed = counts ~= nil and (counts[id] or 0) > 0
local was_subscribed = counts ~= nil and heard.will_since > 0 -- the last beat of the dying may come behind its subscription
if has_gap(heard, lease_ms) then heard.since = now end
if not subscribed then heard.will_since = 0
elseif heard.will ~= will_number or heard.will_since == 0 or heard.since == now then heard.will_since = now end
local judges = judge(heard)

local others, gone, wake = look_at(watched, id, counts, judges, { instances = instances, drainers = drainers, wills = wills })
wake = math.min(wake, claim_lease_ms)

local answer, elected = 'handler', {}
if term.deadline > now + term.lease then
  term.deadline = now + term.lease
  redis.call('HSET', term_key, 'deadline', term.deadline)
end
if term.holder == id and not may_generate and (named == 0 or named == term.number) then
  redis.call('HSET', term_key, 'instance', '', 'deadline', 0)
  note(log, 'event', 'resigned', 'number', heard.number, 'instance', id, 'term', term.number)
elseif term.holder == id and named == term.number then
  answer = held[6] == held[1] and 'asked' or 'generator'
  redis.call('HSET', term_key, 'deadline', now + lease_ms, 'lease', lease_ms, 'renewed', now)
elseif term.holder == id then
  answer = 'elected'
elseif named > 0 then
  answer = 'superseded'
  redis.call('HINCRBY', totals, 'superseded:beat', 1)
  note(log, 'event', 'superseded', 'what', 'beat', 'number', heard.number, 'instance', id, 'term', named)
elseif may_generate and role == 'instance' then
  local holder_known = others[term.holder] ~= nil
  local open = not holder_known or (term.deadline < now and judges.by_lease(term.lease)) or others[term.holder].dead_by_will
  if open and not (busy and idle_judge_in_line(places, id, others, heartbeat_ms)) then
    answer = 'elected'
    begin_term(term_key, log, term, id, heard.number, tag, lease_ms)
  elseif holder_known and term.deadline >= now then
    wake = math.min(wake, term.deadline - now + 1)
  end
end
if answer == 'elected' then elected = redis.call('HGETALL', term_key) end

local waits = may_generate and (answer == 'handler' or answer == 'superseded') and role == 'instance'
local idle_judge = not busy and (judges.by_will or judges.by_lease(lease_ms))
local place = take_place(line, places, waits and id, others, term.holder, idle_judge, heartbeat_ms, id)
local generates = answer == 'generator' or answer == 'asked' or answer == 'elected'
fast = at_work or place > 0 or generates or role == 'drainer'
local interval = fast and heartbeat_ms or math.max(heartbeat_ms, math.floor(lease_ms / 3))

redis.call('ZADD', presence, now + claim_lease_ms, id)
redis.call('HSET', instance, 'beat', now, 'since', heard.since, 'will', will_number, 'will_since', heard.will_since)
write_will(wills, id, { has = subscribed or was_subscribed, interval = interval, zero = 0, lease = claim_lease_ms })
local due = move_due(names, lists, attempts, max_attempts)
ring_for_work(names, lists, paused)
wake = math.min(wake, wait_for_due(due, generates, heartbeat_ms))
if place == 2 then wake = math.min(wake, midway(places[1], heartbeat_ms)) end
return { 'OK', now, answer, place, math.max(1, math.min(interval, wake)), redis.call('ZCARD', instances), gone, elected,
  redis.call('HGET', meta, 'agenda') or 0 }
