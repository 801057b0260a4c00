-- The error store: id -> "FAILED_US LENGTH DETAILS" and the envelope, and the ids by time. LENGTH is that of DETAILS
-- (JSON by the handler), so that a script finds the envelope without reading JSON.
local function new_record(failed_us, details, envelope)
  return text_us(failed_us) .. ' ' .. #details .. ' ' .. details .. envelope
end
-- The record of `id`, if it is of that failure: a late copy of a call must not touch one that failed again since.
local function record_of(errors, id, failed_us)
  local record = redis.call('HGET', errors, id)
  return record and string.match(record, '^%d+') == failed_us and record or nil
end
local function envelope_in(record)
  local _, after, length = string.find(record, '^%d+ (%d+) ')
  return string.sub(record, after + 1 + tonumber(length))
end
local function store_records(errors, errors_by_time, pairs_of_records)
  local times = {}
  for i = 1, #pairs_of_records, 2 do
    times[#times + 1] = string.match(pairs_of_records[i + 1], '^(%d+) ') or '0' -- somebody else's goes back as it came
    times[#times + 1] = pairs_of_records[i]
  end
  in_chunks(pairs_of_records, function(...) redis.call('HSET', errors, ...) end)
  in_chunks(times, function(...) redis.call('ZADD', errors_by_time, ...) end)
end
