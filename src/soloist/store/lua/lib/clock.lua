-- The server's clock. 16 digits do not survive Lua's own conversion (it keeps 14), hence text_us.
local clock = redis.call('TIME')
local now_us = clock[1] * 1000000 + clock[2]
local now = math.floor(now_us / 1000)
local function text_us(number) return string.format('%.0f', number) end
