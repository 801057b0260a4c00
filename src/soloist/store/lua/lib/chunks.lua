-- Variadic calls in chunks: unpack stops below 8,000 values, and a script that raises strands what it has moved.
local function in_chunks(values, call)
  for first = 1, #values, 1000 do
    call(unpack(values, first, math.min(first + 999, #values)))
  end
end
local function reversed(values)
  local turned = {}
  for i = #values, 1, -1 do turned[#turned + 1] = values[i] end
  return turned
end
