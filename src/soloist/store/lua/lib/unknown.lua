-- Kinds of messages whose lists were not given, behind those `missing` already: the caller is told, and repeats with them.
local function unknown_kinds(envelopes, lists, missing)
  local seen = {}
  missing = missing or {}
  for _, envelope in ipairs(envelopes) do
    local kind = kind_of(envelope)
    if not lists[kind] and not seen[kind] then
      seen[kind] = true
      missing[#missing + 1] = kind
    end
  end
  return missing
end
