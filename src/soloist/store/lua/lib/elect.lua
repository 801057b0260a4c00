-- Begins the next term for an instance: numbers go on, calls begin anew.
local function begin_term(term_key, log, term, id, number, tag, lease_ms)
  local takeover_ms = term.renewed > 0 and math.max(0, now - term.renewed) or 0
  redis.call('HSET', term_key, 'term', term.number + 1, 'instance', id, 'deadline', now + lease_ms, 'lease', lease_ms,
    'call', 0, 'tag', tag, 'since', now, 'renewed', now, 'takeover_ms', takeover_ms, 'asked', 0)
  redis.call('HSETNX', term_key, 'seq', 0)
  note(log, 'event', 'elected', 'number', number, 'instance', id, 'term', term.number + 1, 'takeover_ms', takeover_ms)
end
