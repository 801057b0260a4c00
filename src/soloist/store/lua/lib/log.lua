-- The common log of the whole system, capped.
local function note(log, ...)
  redis.call('XADD', log, 'MAXLEN', '~', 1000, '*', ...)
end
