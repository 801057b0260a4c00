-- Parts of `next`: what leaves the caller's hands, told by its places in `claimed`.
-- A run is what lies side by side there: `first` and `last` are places, from 0; `id` is that of its first message. Its
-- specials are those of which there is more to say than that they are completed; `at` is where that begins in `values`.
local function read_runs(values, at, many)
  local runs = {}
  for i = 1, many do
    local what, first, length, id, specials = unpack(values, at, at + 4)
    local run = { what = what, first = tonumber(first), last = first + length - 1, id = id, specials = {} }
    at = at + 5
    for j = 1, tonumber(specials) do
      local place, special_id, fate, told = unpack(values, at, at + 3)
      run.specials[j] = { place = tonumber(place), id = special_id, fate = fate, at = at + 4 }
      at = at + 4 + told
    end
    runs[i] = run
  end
  return runs
end
local MANY = 4
-- `run`: if one of MANY or more of it is special, all of it was read at once: one by one, far from the ends, costs more.
local function envelope_at(claimed, place, id, run)
  local envelope = run and run.envelopes and run.envelopes[place - run.first + 1]
  if not envelope then envelope = redis.call('LINDEX', claimed, place) end
  return envelope and id_of(envelope) == id and envelope or nil
end
-- Whether all of it stands where the caller says, nothing is named twice, and as many are named as are counted.
local function fit(runs, claimed, groups)
  local free, held, done, fates = 0, redis.call('LLEN', claimed), 0, { failed = 0, retried = 0, committed = 0 }
  for _, run in ipairs(runs) do
    if run.first < free or run.last < run.first or run.last >= held then return false end
    if not envelope_at(claimed, run.first, run.id) then return false end
    if run.what ~= 'done' and (run.what ~= 'back' or #run.specials > 0) then return false end
    local open = run.first
    if MANY * #run.specials > run.last - run.first then
      run.envelopes = redis.call('LRANGE', claimed, run.first, run.last)
    end
    for _, special in ipairs(run.specials) do
      special.envelope = envelope_at(claimed, special.place, special.id, run)
      if not special.envelope or special.place < open or special.place > run.last then return false end
      if not fates[special.fate] then return false end
      open, fates[special.fate] = special.place + 1, fates[special.fate] + 1
    end
    if run.what == 'done' then done = done + run.last - run.first + 1 end
    free = run.last + 1
  end
  for _, group in ipairs(groups) do
    if group.completed < 0 or group.failed < 0 or group.retried < 0 then return false end
    done = done - group.completed - group.failed - group.retried
    fates.failed, fates.retried = fates.failed - group.failed, fates.retried - group.retried
  end
  return done == 0 and fates.failed == 0 and fates.retried == 0
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
