-- Parts of `next`: what leaves the caller's hands, told by its places in `claimed`.
-- A run is what lies side by side there: `first` and `last` are places, from 0; `id` is that of its first message.
local function read_runs(values, at, many)
  local runs = {}
  for i = 1, many do
    local what, first, length, id, failed = unpack(values, at, at + 4)
    local run = { what = what, first = tonumber(first), last = first + length - 1, id = id, failed = {} }
    at = at + 5
    for j = 1, tonumber(failed) do
      run.failed[j] = { place = tonumber(values[at]), id = values[at + 1], details = values[at + 2] }
      at = at + 3
    end
    runs[i] = run
  end
  return runs
end
local function envelope_at(claimed, place, id)
  local envelope = redis.call('LINDEX', claimed, place)
  return envelope and id_of(envelope) == id and envelope or nil
end
-- Whether all of it stands where the caller says, nothing is named twice, and as many are named as are counted.
local function fit(runs, claimed, groups)
  local free, held, done, failed = 0, redis.call('LLEN', claimed), 0, 0
  for _, run in ipairs(runs) do
    if run.first < free or run.last < run.first or run.last >= held then return false end
    if not envelope_at(claimed, run.first, run.id) then return false end
    if run.what ~= 'done' and (run.what ~= 'back' or #run.failed > 0) then return false end
    local open = run.first
    for _, failure in ipairs(run.failed) do
      failure.envelope = envelope_at(claimed, failure.place, failure.id)
      if not failure.envelope or failure.place < open or failure.place > run.last then return false end
      open = failure.place + 1
    end
    if run.what == 'done' then done = done + run.last - run.first + 1 end
    free, failed = run.last + 1, failed + #run.failed
  end
  for _, group in ipairs(groups) do
    if group.completed < 0 or group.failed < 0 then return false end
    done, failed = done - group.completed - group.failed, failed - group.failed
  end
  return done == 0 and failed == 0
end
local function envelopes_in(runs, what, claimed)
  local envelopes = {}
  for _, run in ipairs(runs) do
    if run.what == what then
      for _, envelope in ipairs(redis.call('LRANGE', claimed, run.first, run.last)) do envelopes[#envelopes + 1] = envelope end
    end
  end
  return envelopes
end
-- From the head and from the end in one step; what lies between is made empty, which no envelope is, and taken out.
local function remove(runs, claimed)
  local from, to, held, holes = 0, -1, redis.call('LLEN', claimed), false
  for _, run in ipairs(runs) do
    if run.first == from then
      from = run.last + 1
    elseif run.last == held - 1 then
      to = run.first - 1
    else
      for place = run.first, run.last do redis.call('LSET', claimed, place, '') end
      holes = true
    end
  end
  redis.call('LTRIM', claimed, from, to)
  if holes then redis.call('LREM', claimed, 0, '') end
end
