-- Parts of `next`: what may be written along with a message. A closed list, command -> the type of its key and how many
-- arguments it takes behind the key: of these it can be foreseen whether the server would refuse them. (A contract test
-- compares it with commit.py.) A write is foreseen in the light of those before it: `of` is what its key would be by then.
--   type, text: text is the beginning of a string, nil: not known yet; length: of a string, nil: as it is stored
--   fields: of a hash, as far as they were asked for; fresh: nothing of what is stored counts any more
--   thinned: something was taken out of it, so it may be gone; counter: made by pfadd
local COMMANDS = {
  set = { 'any', 'one' }, setnx = { 'any', 'one' }, append = { 'string', 'one' }, incrby = { 'string', 'one' },
  decrby = { 'string', 'one' }, del = { 'any', 'none' }, expire = { 'any', 'one' }, persist = { 'any', 'none' },
  hset = { 'hash', 'pairs' }, hsetnx = { 'hash', 'two' }, hdel = { 'hash', 'many' }, hincrby = { 'hash', 'two' },
  sadd = { 'set', 'many' }, srem = { 'set', 'many' }, zadd = { 'zset', 'pairs' }, zrem = { 'zset', 'many' },
  zincrby = { 'zset', 'two' }, rpush = { 'list', 'many' }, lpush = { 'list', 'many' }, pfadd = { 'string', 'many' } }
local MOST, MOST_ARGUMENTS, MOST_LENGTH = 9007199254740992, 1000, 536870912 -- 2^53, beyond which Lua is not exact; 512 MB
local NO_WHOLE, BEYOND = 'what is there is no whole number within 2^53', 'the sum would be beyond 2^53'
local EXACTLY = { none = 0, one = 1, two = 2 }
local function takes(how, many)
  if EXACTLY[how] then return many == EXACTLY[how] end
  return many > 0 and many <= MOST_ARGUMENTS and (how == 'many' or many % 2 == 0)
end
-- A whole number as the server reads one, if Lua can tell it exactly.
local function whole(text)
  local number = (text == '0' or string.find(text, '^%-?[1-9]%d*$')) and tonumber(text)
  if not number or #text < 16 then return number or nil end -- short ones are exact
  return math.abs(number) <= MOST and string.format('%.0f', number) == text and number or nil
end
local function is_finite(text)
  local mantissa = string.match(text, '^(.-)[eE][+-]?%d+$') or text
  if not string.find(mantissa, '^%-?%d+$') and not string.find(mantissa, '^%-?%d+%.%d+$') then return false end
  local number = tonumber(text)
  return math.abs(number) < math.huge and (number ~= 0 or not string.find(mantissa, '[1-9]'))
end
local function sum(text, amount, sign)
  local number, more = whole(text), whole(amount)
  if not more then return nil, 'the amount is no whole number within 2^53' end
  more = sign * more
  if not number then return nil, NO_WHOLE end
  if (more >= 0 and number > MOST - more) or (more < 0 and number < -MOST - more) then return nil, BEYOND end
  return string.format('%.0f', number + more)
end
local function text_in(of)
  if not of.text then of.text = of.fresh and '' or redis.call('GETRANGE', of.key, 0, 23) end
  return of.text
end
local function field_in(of, field)
  if of.fields[field] == nil then of.fields[field] = not of.fresh and redis.call('HGET', of.key, field) end
  return of.fields[field]
end
local function is_gone(of)
  of.type, of.fresh, of.text, of.length, of.fields, of.thinned, of.counter = 'none', true, nil, 0, {}, false, false
end
local function is_text(of, text)
  is_gone(of)
  of.type, of.text, of.length = 'string', string.sub(text, 1, 24), #text
end
local function adds(of, amount, sign)
  local number, why = sum(of.type == 'none' and '0' or text_in(of), amount, sign)
  if why then return why end
  of.text, of.length, of.counter = number, #number, false
end
local function changes_nothing() end
