-- Parts of `next`: whether a write would be refused by the server, and what it would make of its key (see commands.lua).
local FORESEE = {
  set = function(of, arguments) is_text(of, arguments[1]) end,
  setnx = function(of, arguments)
    if of.thinned then return 'something was taken out of it before, and whether it is still there cannot be foreseen' end
    if of.type == 'none' then is_text(of, arguments[1]) end
  end,
  append = function(of, arguments)
    of.text = string.sub(text_in(of) .. arguments[1], 1, 24)
    of.length = (of.length or redis.call('STRLEN', of.key)) + #arguments[1]
    of.counter = false
    if of.length > MOST_LENGTH then return 'it would be longer than 512 MB' end
  end,
  incrby = function(of, arguments) return adds(of, arguments[1], 1) end,
  decrby = function(of, arguments) return adds(of, arguments[1], -1) end,
  del = is_gone,
  expire = function(of, arguments)
    if (whole(arguments[1]) or 0) < 1 then return 'the seconds are no whole number from 1 on' end
  end,
  persist = changes_nothing,
  hset = function(of, arguments)
    for i = 1, #arguments, 2 do of.fields[arguments[i]] = arguments[i + 1] end
  end,
  hsetnx = function(of, arguments)
    if not field_in(of, arguments[1]) then of.fields[arguments[1]] = arguments[2] end
  end,
  hdel = function(of, arguments)
    for _, field in ipairs(arguments) do of.fields[field] = false end
  end,
  hincrby = function(of, arguments)
    local number, why = sum(field_in(of, arguments[1]) or '0', arguments[2], 1)
    of.fields[arguments[1]] = number
    return why
  end,
  sadd = changes_nothing, srem = changes_nothing, zrem = changes_nothing, rpush = changes_nothing, lpush = changes_nothing,
  zadd = function(_, arguments)
    for i = 1, #arguments, 2 do
      if not is_finite(arguments[i]) then return 'a score is no finite number' end
    end
  end,
  zincrby = function(_, arguments) return not is_finite(arguments[1]) and 'the amount is no finite number' or nil end,
  pfadd = function(of, _, command)
    local is_none = of.type == 'none' or of.counter
    -- Without elements it changes nothing of what is there, but tells whether it could.
    local other = not is_none and (of.text or type(redis.pcall(command, of.key)) == 'table')
    if other then return 'what is there was not made by pfadd' end
    of.text, of.counter = 'HYLL', true
  end,
}
local REMOVES = { hdel = true, srem = true, zrem = true }
local may = {} -- what the ACL says, asked once for each command and key
local function foresee(seen, write)
  local command, key, allowed = write.command, write.key, COMMANDS[write.command]
  if not allowed then return 'is not among the commands that may be written with a message' end
  if not takes(allowed[2], #write.arguments) then return 'takes another number of arguments' end
  local may_here = may[key] or {}
  may[key] = may_here
  if may_here[command] == nil then may_here[command] = redis.acl_check_cmd(command, key) end
  if not may_here[command] then return "the server's ACL forbids it" end
  local of, needed = seen[key], allowed[1]
  if not of then
    of = { key = key, type = redis.call('TYPE', key).ok, fields = {} }
    seen[key] = of
  end
  if needed ~= 'any' and of.type ~= 'none' and of.type ~= needed then
    return 'what is there is a ' .. of.type .. ', not a ' .. needed
  end
  local why = FORESEE[command](of, write.arguments, command)
  if REMOVES[command] then
    of.thinned = of.type ~= 'none'
  elseif needed ~= 'any' then
    of.type, of.thinned = needed, false
  end
  return why
end
