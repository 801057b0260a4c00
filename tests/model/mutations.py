"""Scripts that lack one of their checks, or one of their writes. Each of them must break a rule of the model.

Not here, since another check makes up for it, so that no history can tell the difference:

- next without the turn alone (a stamp never comes again), and a repeat that is known by its turn or its stamp alone;
- next and beat that ask for the presence alone, or for the hash alone: one goes with the other;
- a judge by will without "heard for 1 s" (its subscription counts from its last gap at the earliest), and one that
  judges itself (with no gap its own lease cannot be over);
- a busy one that would stand back for itself, a generator in line, a term or a place of one that is gone: what departs
  takes its place and its term along, and whoever is elected its place;
- publish without the first number alone: the numbers of one sender follow its calls;
- next that takes what it trims at the end of `claimed` for a hole: the same is left, only slower.

Nor what no history has: messages of a megabyte, another version or ACL, somebody else's writes under our keys.
"""

from dataclasses import dataclass

from soloist.store.control import HANDOVER, PAUSE
from soloist.store.messages import NEXT, PUBLISH
from soloist.store.presence import BEAT, JOIN, LEAVE, RECLAIM
from soloist.store.records import CONFIRM, DISCARD, DRAIN, REQUEUE
from soloist.store.script import Script
from soloist.store.snapshot import SNAPSHOT


@dataclass(frozen=True)
class Mutation:
    """What is replaced, each time in the text of one script, its includes in place."""

    name: str
    replaced: tuple[tuple[Script, str, str], ...]


def lacking(name: str, script: Script, old: str, new: str = "", *others: Script) -> Mutation:
    """One replacement, in one script or in the same part of several."""
    return Mutation(name, tuple((each, old, new) for each in (script, *others)))


TERM = "if held[1] ~= named or held[2] ~= id then"
SEQUENCE = "if call ~= applied + 1 or first ~= seq + 1 then"
TURN = "if turn ~= tonumber(seen[1]) + 1 or stamp ~= seen[2] then"
ABSENT = "if not redis.call('ZSCORE', instances, id) then return superseded() end"
NO_DRAINER = "if not redis.call('ZSCORE', drainers, id) then return { 'SUPERSEDED' } end"
VACATE = "if redis.call('HGET', keys.term, 'instance') == id then"
ELECTION = "(term.deadline < now and judges.by_lease(term.lease))"
LEASE = "local by_lease = deadline < now and judges.by_lease(will.lease)"
PUT_ASIDE = "in_chunks(taken, function(...) redis.call('HSET', drained, ...) end)"
GRACE = "local function grace_of(will) return math.max(GRACE_MS, 2 * will.interval) end"
GAP = "local function has_gap(heard, lease) return now < heard.beat or now - heard.beat > lease / 2 end"
WITNESS = "by_will = for_ms >= WITNESS_MS and will_for_ms >= WITNESS_MS,"
THAT_FAILURE = "string.match(record, '^%d+') == failed_us and record or nil"
SHARE = "math.min(want, math.max(math.ceil(pending / sharers), least))"
FIRST_ID = "if not envelope_at(claimed, run.first, run.id) then return false end"
SPECIAL_ID = "special.envelope = envelope_at(claimed, special.place, special.id, run)"
COUNTED = "return done == 0 and fates.failed == 0 and fates.retried == 0"
DUE = "redis.call('ZRANGE', of.delayed, '-inf', now, 'BYSCORE', 'LIMIT', 0, MOST_DUE)"
FORESEEN = "    if why then return write.command .. ' on ' .. write.key .. ': ' .. why end\n"
TO_THE_HEAD = "in_chunks(reversed(waiting), function(...) redis.call('LPUSH', list, ...) end)"

AGAIN = "  local envelopes = redis.call('LRANGE', claimed, 0, -1)\n  redis.call('HSET', instance, 'turn', turn)"
ALL_FIRST = """
  local early = read_runs(values, at, runs_count)
  for _, run in ipairs(early) do
    for _, special in ipairs(run.specials) do
      if special.fate == 'committed' then
        committing().read(special, values, keys, first_written)
        committing().write(special.writes)
      end
    end
  end
"""
COMMITS_AGAIN = ALL_FIRST + AGAIN
COMMITS_FIRST = TURN.replace("then", "then" + ALL_FIRST)
ALL_THE_SAME = ABSENT.replace("then", "then" + ALL_FIRST + "  count(totals, instance, groups)\n ")
RETRIES_FIRST = TURN.replace(
    "then",
    """then
  for _, run in ipairs(read_runs(values, at, runs_count)) do
    for _, special in ipairs(run.specials) do
      special.envelope = envelope_at(claimed, special.place, special.id)
      if special.fate == 'retried' and special.envelope and #run.specials == run.last - run.first + 1 then
        delay({ special }, lists, {}, values)
        redis.call('LREM', claimed, 1, special.envelope)
      end
    end
  end
""",
)
PLAIN_WRITE = "    local answer = redis.pcall(write.command, write.key, unpack(write.arguments))"
CHECKED_LATE = (FORESEEN, FORESEEN + "    redis.pcall(write.command, write.key, unpack(write.arguments))\n")
WRITTEN_ALL_THE_SAME = (
    "    special.refusal = special.fate == 'committed' and along.write(special.writes) or nil\n",
    """    special.refusal = special.fate == 'committed' and along.write(special.writes) or nil
    for _, write in ipairs(special.refusal and special.writes or {}) do
      if write.command ~= 'expire' then redis.call(write.command, write.key, unpack(write.arguments)) end
    end
""",
)
HANDED_ON_ALL_THE_SAME = (
    "      refused[#refused + 1] = special.id\n    else\n      for",
    "      refused[#refused + 1] = special.id\n    end\n    do\n      for",
)
REFUSED_AND_COMPLETED = (
    "    special.refusal = special.fate == 'committed' and along.write(special.writes) or nil\n",
    "    if special.fate == 'committed' then along.write(special.writes) end\n",
)

PUBLISHING = (
    lacking("publish without the term check", PUBLISH, TERM, "if false then"),
    lacking("publish without comparing the holder", PUBLISH, TERM, "if held[1] ~= named then"),
    lacking("publish without the sequence check", PUBLISH, SEQUENCE, "if false then"),
    Mutation(
        "publish without presence, and a departure that keeps the term",
        ((PUBLISH, ABSENT, ""), (RECLAIM, VACATE, "if false then"), (LEAVE, VACATE, "if false then")),
    ),
    lacking("publish that is applied twice", PUBLISH, "if call == applied then", "if false then"),
    lacking("publish beyond the limit", PUBLISH, "if waiting >= max_pending then", "if false then"),
    lacking("publish that leaves the mark of its caller", PUBLISH, "clear_mark(wills, id)"),
)

HANDLING = (
    lacking("next without the turn check", NEXT, TURN, "if false then"),
    lacking("a completion of one whose claim is gone", NEXT, ABSENT, ALL_THE_SAME),
    lacking("next without the stamp check", NEXT, TURN, "if turn ~= tonumber(seen[1]) + 1 then"),
    lacking("next that forgets its stamp", NEXT, "'turn', turn, 'stamp', new_stamp, ", "'turn', turn, "),
    lacking(
        "next that leaves the mark of its caller", NEXT, "clear_mark(wills, id, #envelopes > 0 and heartbeat_ms or nil)"
    ),
    lacking(
        "a paused kind is claimed all the same",
        NEXT,
        "redis.call('HEXISTS', paused, 'kind:' .. group.name) == 0",
        "true",
    ),
    lacking("more than a share is claimed", NEXT, SHARE, "math.min(want, pending)"),
    lacking("what is given back goes to the tail", NEXT, TO_THE_HEAD, TO_THE_HEAD.replace("LPUSH", "RPUSH"), LEAVE),
    lacking("a suspect is claimed among others", NEXT, "      if holding == 0 then", "      if true then"),
    lacking("a suspect is held along with others", NEXT, "alone and envelope_at(claimed, 0, alone)", "false"),
    lacking(
        "nobody is told that a suspect is held", NEXT, "then return {}, SUSPECT_WAITS_MS end", "then return {}, 0 end"
    ),
    lacking("a suspect that has waited does not go first", NEXT, "now - of.since >= SUSPECT_WAITS_MS", "false"),
    lacking("everybody is asked to hold", NEXT, "elseif of.hold < now then", "else"),
    lacking("a hold that is asked for again as soon as it ends", NEXT, "now + 3 * hold_ms", "now + hold_ms"),
    lacking("a hold as long as the suspect has waited", NEXT, "(now - of.since) / 2", "now - of.since"),
    lacking(
        "next that rings for suspects",
        NEXT,
        "ring_for_work(names, lists, paused, true)",
        "ring_for_work(names, lists, paused)",
    ),
)

PLACES = (
    lacking("a run whose first id is not compared", NEXT, FIRST_ID),
    lacking(
        "a special whose id is not compared",
        NEXT,
        SPECIAL_ID,
        SPECIAL_ID.replace("special.id", "id_of(redis.call('LINDEX', claimed, special.place) or '')"),
    ),
    lacking("runs that overlap", NEXT, "run.first < free or "),
    lacking("a run of nothing", NEXT, "run.last < run.first or "),
    lacking("a run beyond the end", NEXT, " or run.last >= held"),
    lacking(
        "specials in a run that is given back", NEXT, "(run.what ~= 'back' or #run.specials > 0)", "run.what ~= 'back'"
    ),
    lacking("a special before its run, or for the second time", NEXT, "special.place < open or "),
    lacking("a special behind its run", NEXT, " or special.place > run.last"),
    lacking("a run that is not counted against the tallies", NEXT, COUNTED, "return true"),
    lacking("only specials are counted against the tallies", NEXT, COUNTED, COUNTED.replace("done == 0 and ", "")),
    lacking(
        "failures are not counted against the tallies", NEXT, COUNTED, COUNTED.replace("fates.failed == 0 and ", "")
    ),
    lacking(
        "retries are not counted against the tallies", NEXT, COUNTED, COUNTED.replace(" and fates.retried == 0", "")
    ),
    lacking("next that does not take out the head", NEXT, "      from = run.last + 1\n", ""),
    lacking("next that takes out one more at the head", NEXT, "from = run.last + 1\n", "from = run.last + 2\n"),
    lacking("next that does not take out the end", NEXT, "to = run.first - 1"),
    lacking("next that takes out one more at the end", NEXT, "to = run.first - 1", "to = run.first - 2"),
    lacking("next that leaves holes", NEXT, "if holes then redis.call('LREM', claimed, 0, '') end"),
    lacking("next that fills one hole only", NEXT, "'LREM', claimed, 0, ''", "'LREM', claimed, 1, ''"),
    lacking(
        "next that trims before it makes holes",
        NEXT,
        "for place = run.first, run.last do redis.call('LSET'",
        "for place = run.first - from, run.last - from do redis.call('LSET'",
    ),
    lacking("next that takes nothing out", NEXT, "if #runs > 0 then remove(runs, claimed) end"),
    lacking("claimed in another order", NEXT, "redis.call('RPUSH', claimed, ...)", "redis.call('LPUSH', claimed, ...)"),
    lacking("attempts that outlive their message", NEXT, "ids_of(envelopes_in(runs, 'done', claimed))", "{}"),
    lacking(
        "what is given back is looked for elsewhere",
        NEXT,
        "local returned = envelopes_in(runs, 'back', claimed)",
        "local returned = envelopes_in(runs, 'done', claimed)",
    ),
    lacking(
        "records in another order", NEXT, "new_record(now_us + after, details", "new_record(now_us - after, details"
    ),
    lacking("kinds that were not given, given back", NEXT, "if #missing > 0 then return { 'KINDS', missing[1] } end"),
    lacking(
        "a repeat that tells what it holds by number",
        NEXT,
        "local envelopes = redis.call('LRANGE', claimed, 0, -1)",
        "local envelopes = in_order(redis.call('LRANGE', claimed, 0, -1))",
    ),
)

JUDGING = (
    lacking("reclaim without the lease check", RECLAIM, LEASE, "local by_lease = judges.by_lease(will.lease)"),
    lacking("reclaim by anybody", RECLAIM, LEASE, "local by_lease = deadline < now"),
    lacking("reclaim by a judge with a gap", RECLAIM, GAP, "local function has_gap() return false end"),
    lacking("reclaim that counts no death", RECLAIM, "of.deaths = of.deaths + 1"),
    lacking("reclaim that spares the poison", RECLAIM, "  if poison then", "  if false then"),
    lacking(
        "reclaim that forgets what was drained",
        RECLAIM,
        "if #drained > 0 then store_records",
        "if false then store_records",
    ),
    lacking(
        "leave that forgets what was drained",
        LEAVE,
        "if #drained > 0 then store_records",
        "if false then store_records",
    ),
    lacking("leave of one that is gone", LEAVE, "if not redis.call('ZSCORE', keys.instances, id) and", "if false and"),
    lacking("join under an id that is taken", JOIN, "then return { 'TAKEN' } end", "then end"),
)

WILLS = (
    lacking("a last will without grace", BEAT, GRACE, "local function grace_of() return 0 end", RECLAIM),
    lacking("reclaim by will without grace", RECLAIM, "executed(will, now) and", "will.zero > 0 and"),
    lacking(
        "election by will without grace", BEAT, "or others[term.holder].dead_by_will", "or others[term.holder].marked"
    ),
    lacking("a will judged by a newcomer", BEAT, WITNESS, "by_will = true,", RECLAIM),
    lacking("a will judged by one whose subscription was renewed", BEAT, "heard.will ~= will_number or "),
    lacking("a will judged by one without a subscription", RECLAIM, " and counts[judge_id] > 0"),
    lacking("a will judged though the subscription is back", RECLAIM, " and counts[id] == 0"),
    lacking(
        "a will without a subscription that was seen", BEAT, "{ has = subscribed or was_subscribed, ", "{ has = true, "
    ),
    lacking("a will that ends with the last beat", BEAT, "subscribed or was_subscribed, ", "subscribed, "),
    lacking("a mark that stays though the channel counts again", BEAT, "counts[other] > 0 and 0 or (", "("),
    lacking(
        "a beat that leaves the mark of its caller",
        BEAT,
        "interval = interval, zero = 0,",
        "interval = interval, zero = (read_will(redis.call('HGET', wills, id)) or {}).zero or 0,",
    ),
)

GENERATING = (
    lacking("election without the lease check", BEAT, ELECTION, "judges.by_lease(term.lease)"),
    lacking("election by anybody", BEAT, ELECTION, "term.deadline < now"),
    lacking("election by a judge with a gap", BEAT, GAP, "local function has_gap() return false end"),
    lacking(
        "election that keeps the number of the term",
        BEAT,
        "'term', term.number + 1, 'instance'",
        "'term', math.max(1, term.number), 'instance'",
    ),
    lacking(
        "election of a drainer", BEAT, "elseif may_generate and role == 'instance' then", "elseif may_generate then"
    ),
    lacking(
        "election of a busy one before an idle judge",
        BEAT,
        "if open and not (busy and idle_judge_in_line(places, id, others, heartbeat_ms)) then",
        "if open then",
    ),
    lacking(
        "a term renewed by another",
        BEAT,
        "elseif term.holder == id and named == term.number then",
        "elseif named == term.number then",
    ),
    lacking(
        "a resignation that keeps the term",
        BEAT,
        "redis.call('HSET', term_key, 'instance', '', 'deadline', 0)\n  note",
        "note",
    ),
    lacking(
        "a clock that went back keeps a term for ever",
        BEAT,
        "if term.deadline > now + term.lease then",
        "if false then",
    ),
    lacking(
        "a clock that went back keeps a presence for ever", BEAT, "if deadline > now + will.lease then", "if false then"
    ),
    lacking("a beat of one whose turns are forgotten", BEAT, " or has_forgotten(heard, turn, stamp)"),
    lacking(
        "a beat of one whose last turn came in another way", BEAT, " or (heard.turn == turn and heard.stamp ~= stamp)"
    ),
    lacking(
        "a beat of one that is gone",
        BEAT,
        "then return { 'SUPERSEDED' } end",
        "then heard = heard or { beat = now, since = now, will = '0', will_since = 0 } end",
    ),
)

ASKING = (
    lacking("handover of a term that is over", HANDOVER, "if named > 0 and named ~= term then", "if false then"),
    lacking("handover without a successor", HANDOVER, "if not someone then return { 'NOBODY' } end"),
    lacking(
        "handover that ends the term itself",
        HANDOVER,
        "redis.call('HSET', term_key, 'asked', term)",
        "redis.call('HSET', term_key, 'instance', '')",
    ),
    lacking("handover that nobody is told of", BEAT, "held[6] == held[1] and 'asked' or 'generator'", "'generator'"),
    lacking("requeue that does not take the record out", REQUEUE, "  redis.call('HDEL', errors, ...)\n"),
    lacking("requeue of one that has failed again since", REQUEUE, THAT_FAILURE, "record or nil"),
    lacking("requeue that is counted as failed still", REQUEUE, "redis.call('HINCRBY', totals, 'failed', -#waiting)"),
    lacking(
        "requeue that loses the message",
        REQUEUE,
        "in_chunks(waiting, function(...) redis.call('RPUSH', lists[kind].pending, ...) end)",
    ),
    lacking("discard of one that has failed again since", DISCARD, THAT_FAILURE, "record or nil"),
    lacking("discard that is not counted", DISCARD, "redis.call('HINCRBY', totals, 'discarded', #found)"),
    lacking("drain that deletes at once", DRAIN, PUT_ASIDE),
    lacking("drain by one that is gone", DRAIN, NO_DRAINER),
    lacking("confirm by one that is gone", CONFIRM, NO_DRAINER),
    lacking(
        "confirm of what is not held",
        CONFIRM,
        "removed = removed + redis.call('HDEL', drained, ...)",
        "removed = removed + #ids",
    ),
    lacking(
        "a kind that is resumed in silence", PAUSE, "if not pause and work_in(lists[name]) > 0 then", "if false then"
    ),
)

COMMITTING = (
    lacking("a commit that is refused and written all the same", NEXT, *WRITTEN_ALL_THE_SAME),
    lacking("a commit that is checked while it is written", NEXT, *CHECKED_LATE),
    lacking("a commit that is refused and hands on all the same", NEXT, *HANDED_ON_ALL_THE_SAME),
    lacking("a commit that is refused and completed", NEXT, *REFUSED_AND_COMPLETED),
    lacking("a refusal that nobody is told of", NEXT, "hold_ms, refused }", "hold_ms, {} }"),
    lacking(
        "a refusal that a repeat is not told of",
        NEXT,
        "if #refused > 0 then redis.call('HSET', instance, 'refused'",
        "if false then redis.call('HSET', instance, 'refused'",
    ),
    lacking(
        "a refusal that is told for ever", NEXT, "if #refused == 0 then redis.call('HDEL', instance, 'refused') end"
    ),
    lacking("a repeat that commits once more", NEXT, AGAIN, COMMITS_AGAIN),
    lacking("a commit of one that is superseded", NEXT, TURN, COMMITS_FIRST),
    lacking("a sum that is written twice", NEXT, PLAIN_WRITE, PLAIN_WRITE + "\n" + PLAIN_WRITE),
    lacking(
        "a set that is not seen by what follows it",
        NEXT,
        "set = function(of, arguments) is_text(of, arguments[1]) end",
        "set = function(of) is_text(of, 'x') end",
    ),
    lacking("what is handed on is not counted", NEXT, "redis.call('HINCRBY', totals, 'published', many)"),
    lacking(
        "what is handed on is not counted by its kind",
        NEXT,
        "redis.call('HINCRBY', totals, 'published:' .. kind, many)",
    ),
    lacking(
        "what is handed on goes first",
        NEXT,
        "redis.call('RPUSH', lists[kind].pending, ...)",
        "redis.call('LPUSH', lists[kind].pending, ...)",
    ),
    lacking("what is handed on is not delayed", NEXT, "if followup.delay_ms > 0 then", "if false then"),
    lacking(
        "kinds that were not given, committed or delayed",
        NEXT,
        "unknown_kinds(returned, lists, unknown_kinds(named, lists))",
        "unknown_kinds(returned, lists)",
    ),
)

DELAYING = (
    lacking("what is retried is completed", NEXT, "\ndelay(specials, lists, known, values)"),
    lacking("a retry that is not counted", NEXT, "{ 'completed', 'failed', 'retried' }", "{ 'completed', 'failed' }"),
    lacking("a retry that is not an attempt", NEXT, "retries = of.retries + 1,", "retries = of.retries,"),
    lacking(
        "a retry that forgives deaths",
        NEXT,
        "write_attempts(attempts, special.id, { deaths = of.deaths,",
        "write_attempts(attempts, special.id, { deaths = 0,",
    ),
    lacking(
        "a retry at once", NEXT, "delayed, now + values[special.at], special.envelope", "delayed, now, special.envelope"
    ),
    lacking("a retry that is fenced by its id alone", NEXT, TURN, RETRIES_FIRST),
    lacking("what is delayed is moved early", BEAT, DUE, DUE.replace("now,", "now + 1000000,")),
    lacking(
        "what is due stays delayed as well",
        BEAT,
        "in_chunks(due, function(...) redis.call('ZREM', of.delayed, ...) end)",
    ),
    lacking(
        "what is due is lost",
        BEAT,
        "for list, waiting in pairs(tails) do in_chunks(waiting, function(...) redis.call('RPUSH', list, ...) end) end\n      in_chunks(due",
        "in_chunks(due",
    ),
    lacking(
        "what is due and was attempted goes to the end",
        BEAT,
        "          list = of.again\n",
        "          list = of.pending\n",
    ),
    lacking(
        "a suspect that is due waits among the others",
        BEAT,
        "if is_suspect(entry, max_attempts) then\n          list",
        "if false then\n          list",
    ),
    lacking(
        "a suspect that is due has waited for long", BEAT, "list, entry.since = of.suspect, now", "list = of.suspect"
    ),
    lacking(
        "nobody beats earlier for what is delayed",
        BEAT,
        "wake = math.min(wake, wait_for_due(due, generates, heartbeat_ms))",
    ),
    lacking(
        "all beat at once for what is delayed", BEAT, "math.max(due, generates and STEP_MS or heartbeat_ms)", "due"
    ),
    lacking(
        "what is delayed is not pending",
        SNAPSHOT,
        "return work_in(of) + redis.call('ZCARD', of.delayed)",
        "return work_in(of)",
    ),
    lacking(
        "what is delayed does not hold the generator up",
        PUBLISH,
        " + redis.call('ZCARD', of.delayed)\n  if waiting",
        "\n  if waiting",
    ),
    lacking(
        "what was retried is given back to the end",
        NEXT,
        "elseif entry then list = of.again end",
        "elseif entry and entry.deaths > 0 then list = of.again end",
        LEAVE,
    ),
    lacking(
        "what was retried is judged by its deaths alone", NEXT, "flat[#flat + 1] = of.retries", "flat[#flat + 1] = 0"
    ),
    lacking(
        "messages of the same number change places",
        LEAVE,
        "return places[one] < places[other]",
        "return places[one] > places[other]",
    ),
)

MUTATIONS = (*PUBLISHING, *HANDLING, *PLACES, *COMMITTING, *DELAYING, *JUDGING, *WILLS, *GENERATING, *ASKING)
