-- The alarm is the generator's bell: something is to be done before its next beat. A hint with at most one token, too: what
-- is to be done stands elsewhere, and every beat looks there.
local SOON_MS = 1000
local function sound(alarm)
  if redis.call('LLEN', alarm) == 0 then redis.call('RPUSH', alarm, '1') end
end
local function sound_if_soon(alarm, due) if due - now < SOON_MS then sound(alarm) end end
