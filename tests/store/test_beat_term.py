"""beat.lua: election, renewal, resignation, and the loss of a term."""

import pytest

from soloist.store.presence import Term
from tests.servers import Store
from tests.store.acting import DEPARTURES, Departure, Instance, Joins
from tests.store.state import full_memory, logged, term_ended, term_of, total


def test_the_first_to_beat_is_elected(store: Store, joined: Joins) -> None:
    """A vacant term needs no judge: even one that has just joined takes it, and is told where to begin."""
    first = joined()

    heard = first.beat(tag="abc")

    assert heard.role == "elected"
    assert heard.term == Term(number=1, call=0, seq=0, tag="abc", takeover_ms=0)
    stored = term_of(store)
    assert (stored["instance"], stored["since"]) == (first.id, str(heard.now_ms))
    assert stored["deadline"] == str(heard.now_ms + store.settings.lease_ms)
    assert logged(store, "elected") == [
        {"event": "elected", "number": "1", "instance": first.id, "term": "1", "takeover_ms": "0"}
    ]


def test_the_second_is_not_elected(store: Store, generator: Instance, joined: Joins) -> None:
    """One generator."""
    before = term_of(store)

    heard = joined().beat()

    assert (heard.role, heard.term) == ("handler", None)
    assert term_of(store) == before


def test_one_that_may_not_generate_is_not_elected(store: Store, joined: Joins) -> None:
    """An instance that only handles leaves the term vacant."""
    assert joined().beat(may_generate=False).role == "handler"
    assert term_of(store) == {}


def test_a_beat_that_names_its_term_renews_it(store: Store, generator: Instance) -> None:
    """The term lasts for one lease from the last beat of its holder that names it."""
    store.link.command("HSET", store.keys.term, "deadline", int(term_of(store)["deadline"]) - 10_000)

    heard = generator.beat()

    assert (heard.role, heard.term) == ("generator", None)
    assert term_of(store)["deadline"] == str(heard.now_ms + store.settings.lease_ms)
    assert term_of(store)["renewed"] == str(heard.now_ms)


def test_an_unchallenged_holder_may_renew_late(store: Store, generator: Instance, joined: Joins) -> None:
    """A lease only permits a takeover."""
    joined().beat()
    term_ended(store)

    assert generator.beat().role == "generator"


def test_a_holder_that_does_not_name_its_term_is_told_it_again(store: Store, generator: Instance) -> None:
    """The answer that elected it was lost: it learns term, call, seq and tag, and the term is neither renewed nor changed."""
    generator.publish(3)
    before = term_of(store)

    heard = generator.beat(term=0, tag="other")

    assert heard.role == "elected"
    assert heard.term == Term(number=1, call=1, seq=3, tag="tag", takeover_ms=0)
    assert term_of(store) == before
    assert len(logged(store, "elected")) == 1


def test_who_lost_its_term_keeps_its_presence_and_its_claims(store: Store, generator: Instance, joined: Joins) -> None:
    """Losing the term is not losing presence: it is told, counted, and goes on as a handler with what it holds."""
    generator.publish(2)
    generator.next(want=1)
    successor = joined()
    successor.heard_for(store.settings.lease_ms)
    term_ended(store)
    assert successor.beat().role == "elected"
    before = term_of(store)

    heard = generator.beat()

    assert (heard.role, heard.term, heard.place) == ("superseded", None, 1)
    assert generator.deadline == heard.now_ms + store.settings.claim_lease_ms
    assert generator.claimed == ["1-tag"]
    assert term_of(store) == before
    assert total(store, "superseded:beat") == 1
    assert logged(store, "superseded") == [
        {"event": "superseded", "what": "beat", "number": "1", "instance": generator.id, "term": "1"}
    ]


def test_a_late_copy_of_the_holders_beat_does_not_renew_the_next_term(store: Store, generator: Instance) -> None:
    """A beat extends the term only if it is the one named, even if the same instance holds a later one."""
    generator.beat(may_generate=False)
    assert generator.beat(term=0).role == "elected"
    before = term_of(store)
    assert before["term"] == "2"

    assert generator.beat(term=1).role == "elected"

    assert term_of(store) == before


# Resigning.


def test_a_holder_that_may_generate_no_more_resigns(store: Store, generator: Instance, joined: Joins) -> None:
    """`may generate = no` from the holder vacates the term; whoever beats next begins the next one, at call 0."""
    generator.publish(3)

    assert generator.beat(may_generate=False).role == "handler"
    assert (term_of(store)["instance"], term_of(store)["deadline"]) == ("", "0")
    assert logged(store, "resigned") == [{"event": "resigned", "number": "1", "instance": generator.id, "term": "1"}]
    heard = joined().beat(tag="next")

    assert heard.role == "elected"
    assert heard.term is not None
    assert (heard.term.number, heard.term.call, heard.term.seq, heard.term.tag) == (2, 0, 3, "next")


def test_resigning_works_without_naming_the_term(store: Store, generator: Instance) -> None:
    """An instance that stops before it learnt of its election must not keep a term that nobody plays."""
    generator.beat(term=0, may_generate=False)

    assert term_of(store)["instance"] == ""


def test_the_repeat_of_a_resignation_changes_no_term(store: Store, generator: Instance, joined: Joins) -> None:
    """Its answer was lost and it is sent again: by then another may hold the term."""
    generator.beat(may_generate=False)
    joined().beat()
    before = term_of(store)

    assert generator.beat(may_generate=False).role == "superseded"

    assert term_of(store) == before


@pytest.mark.parametrize("departs", DEPARTURES)
def test_a_departed_holder_leaves_a_vacant_term(
    store: Store, generator: Instance, joined: Joins, departs: Departure
) -> None:
    """Losing presence vacates the term; a vacant term needs no judge."""
    other = joined(("default",))
    other.beat()
    departs(generator, other)

    heard = joined().beat()

    assert heard.role == "elected"
    assert term_of(store)["term"] == "2"


# Taking over a term whose lease is over.


def test_an_expired_term_is_taken_by_a_judge(store: Store, generator: Instance, joined: Joins) -> None:
    """One that was itself heard without a gap for a lease may judge the term."""
    successor = joined()
    term_ended(store)
    successor.heard_for(store.settings.lease_ms)

    heard = successor.beat()

    assert heard.role == "elected"
    assert heard.term is not None
    assert heard.term.number == 2
    assert generator.deadline is not None, "the presence of the one before is judged by its own lease"


def test_a_fresh_joiner_may_not_judge_the_term(store: Store, generator: Instance, joined: Joins) -> None:
    """After a stall or restart the first to be heard would depose everybody."""
    successor = joined()
    term_ended(store)
    successor.heard_for(store.settings.lease_ms - 60_000)

    assert successor.beat().role == "handler"


def test_a_gap_ends_being_a_judge_of_the_term(store: Store, generator: Instance, joined: Joins) -> None:
    """Who was silent for more than half a lease starts to be heard anew."""
    successor = joined()
    term_ended(store)
    successor.silent_for(store.settings.lease_ms // 2 + 1)

    assert successor.beat().role == "handler"


def test_a_term_whose_lease_runs_is_not_taken(store: Store, generator: Instance, joined: Joins) -> None:
    """However long a judge was heard."""
    successor = joined()
    successor.becomes_judge()

    assert successor.beat().role == "handler"


def test_the_lease_of_the_holder_counts_not_that_of_the_judge(store: Store, generator: Instance, joined: Joins) -> None:
    """Settings may differ: the term says how long one must have been heard to judge it."""
    store.link.command("HSET", store.keys.term, "lease", 5 * store.settings.lease_ms)
    successor = joined()
    term_ended(store)
    successor.heard_for(5 * store.settings.lease_ms - 60_000)
    assert successor.beat().role == "handler"

    successor.heard_for(5 * store.settings.lease_ms)
    assert successor.beat().role == "elected"


def test_a_successor_is_told_where_to_go_on(store: Store, generator: Instance, joined: Joins) -> None:
    """Sequence, cursors and last ticks go from term to term; calls begin anew; how long it took is measured."""
    generator.send_page(generator.page(2, cursor="row 7", tick=1234))
    store.link.command("HSET", store.keys.term, "renewed", int(term_of(store)["renewed"]) - 40_000)
    successor = joined()
    successor.heard_for(store.settings.lease_ms)
    term_ended(store)

    told = successor.beat(tag="next").term

    assert told is not None
    assert (told.number, told.call, told.seq, told.tag) == (2, 0, 2, "next")
    assert (told.cursors, told.ticks) == ({"generator": "row 7"}, {"generator": 1234})
    assert told.takeover_ms >= 40_000


def test_a_late_copy_of_a_beat_of_an_old_term_elects_nobody(store: Store, generator: Instance, joined: Joins) -> None:
    """One that names a lost term is told so, and does not take the vacant term with the same call."""
    generator.beat(may_generate=False)
    before = term_of(store)

    assert generator.beat(term=1).role == "superseded"

    assert term_of(store) == before


def test_election_works_when_memory_is_full(store: Store, joined: Joins) -> None:
    """Somebody must be there to wait for room."""
    instance = joined()

    with full_memory(store):
        assert instance.beat().role == "elected"


def test_a_beat_that_changes_no_role_writes_no_log(store: Store, generator: Instance, joined: Joins) -> None:
    """One log event per transition, not per heartbeat."""
    handler = joined()
    handler.beat()
    length = store.link.command("XLEN", store.keys.log)

    handler.beat()
    generator.beat()

    assert store.link.command("XLEN", store.keys.log) == length
