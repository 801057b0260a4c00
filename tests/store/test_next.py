"""next.lua: what a handler claims, in which order, and how much of it."""

import pytest

from tests.servers import Store
from tests.store.acting import Instance, Joins, claimed_numbers, dies, ids
from tests.store.state import full_memory, numbers, pause, silence, tokens, waiting
from tests.turns import Done

MEGABYTE = 1_048_576


def test_messages_are_claimed_first_in_first_out(store: Store, generator: Instance) -> None:
    """What was published first is claimed first, and is then in the hands of the caller alone."""
    generator.publish(5)

    assert claimed_numbers(generator.next(want=2)) == [1, 2]
    assert claimed_numbers(generator.next(want=2)) == [3, 4]
    assert generator.claimed == ["1-tag", "2-tag", "3-tag", "4-tag"]
    assert numbers(waiting(store, "pending")) == [5]


def test_the_envelope_comes_as_it_was_published(store: Store, generator: Instance) -> None:
    """Byte for byte, whatever is in it; without attempts, as nobody has died of it."""
    page = generator.publish(2, size=300)

    claimed = generator.next(want=2)

    assert claimed.envelopes == page.envelopes["default"]
    assert (claimed.attempts, claimed.hold_ms, claimed.again) == ({}, 0, False)


def test_nothing_is_claimed_where_nothing_waits(store: Store, generator: Instance) -> None:
    """The answer is empty, and the turn is used all the same."""
    claimed = generator.next(want=10)

    assert claimed.envelopes == []
    assert generator.fields["turn"] == "1"
    assert generator.fields["stamp"] == claimed.stamp


def test_who_wants_nothing_gets_nothing(store: Store, generator: Instance) -> None:
    """A call that only completes does not claim."""
    generator.publish(3)

    assert generator.next(want=0).envelopes == []
    assert len(waiting(store, "pending")) == 3


def test_only_kinds_that_are_named_are_claimed(store: Store, generator: Instance, joined: Joins) -> None:
    """A kind without a handler waits."""
    generator.publish({"mail": 2, "order": 2})
    handler = joined(("order",))

    assert claimed_numbers(handler.next(want=2, kind="order")) == [3]
    assert numbers(waiting(store, "pending", "mail")) == [1, 2]


def test_several_kinds_are_claimed_in_one_call(store: Store, generator: Instance) -> None:
    """Each kind has its own want."""
    generator.publish({"mail": 5, "order": 5, "other": 5})

    claimed = generator.next_of({"mail": Done(want=2), "order": Done(want=0), "other": Done(want=3)})

    assert claimed_numbers(claimed) == [1, 2, 11, 12, 13]


@pytest.mark.parametrize("count", [250, 251, 1_001, 8_001])
def test_many_messages_are_claimed_in_one_call(store: Store, generator: Instance, count: int) -> None:
    """In chunks inside, in one order outside."""
    generator.publish(count + 5)

    assert claimed_numbers(generator.next(want=count)) == list(range(1, count + 1))
    assert len(waiting(store, "pending")) == 5


# What waits again goes first.


def test_reclaimed_messages_are_claimed_before_pending_ones(store: Store, generator: Instance, joined: Joins) -> None:
    """What somebody else abandoned has waited for longest. Its deaths are told with it."""
    generator.publish(6)
    victim = joined()
    victim.next(want=2)
    dies(victim, generator)

    claimed = generator.next(want=4)

    assert claimed_numbers(claimed) == [1, 2, 3, 4]
    assert claimed.attempts == {b"1-tag": (1, 0), b"2-tag": (1, 0)}


def test_reclaimed_messages_count_against_what_is_wanted(store: Store, generator: Instance, joined: Joins) -> None:
    """No more than wanted, from wherever it comes."""
    generator.publish(6)
    victim = joined()
    victim.next(want=3)
    dies(victim, generator)

    assert claimed_numbers(generator.next(want=2)) == [1, 2]
    assert numbers(waiting(store, "again")) == [3]


def test_reclaimed_messages_are_not_shared_out(store: Store, generator: Instance, joined: Joins) -> None:
    """The fair share is of pending alone."""
    generator.publish(8)
    victim = joined()
    victim.next(want=4)
    dies(victim, generator)
    joined()

    assert claimed_numbers(generator.next(want=7)) == [1, 2, 3, 4, 5, 6]


# Fair share.


def test_nobody_claims_more_than_its_share(store: Store, generator: Instance, joined: Joins) -> None:
    """The share is pending divided by instances, rounded up; drainers do not count."""
    handlers = [generator, joined(), joined()]
    joined(drains=True)
    generator.publish(10)

    assert [len(handler.next(want=4).envelopes) for handler in handlers] == [4, 2, 2]


def test_half_of_what_is_wanted_is_claimed_in_any_case(store: Store, generator: Instance, joined: Joins) -> None:
    """Who wants many is quick with them: crumbs would cost more than they are worth."""
    handlers = [generator, joined(), joined(), joined()]
    generator.publish(12)

    assert [len(handler.next(want=9).envelopes) for handler in handlers] == [5, 5, 2, 0]


def test_who_wants_very_many_shares_nothing(store: Store, generator: Instance, joined: Joins) -> None:
    """Two halves of a page would cost two calls, and a page is done in a moment."""
    handlers = [generator, joined(), joined()]
    generator.publish(70)
    assert [len(handler.next(want=64).envelopes) for handler in handlers] == [64, 6, 0]

    generator.publish(70)
    assert [len(handler.next(want=63).envelopes) for handler in handlers[1:]] == [32, 32]


def test_the_share_is_at_least_one(store: Store, generator: Instance, joined: Joins) -> None:
    """One message among three instances goes to whoever asks first."""
    joined()
    joined()
    generator.publish(1)

    assert claimed_numbers(generator.next(want=5)) == [1]


# One megabyte.


def test_no_more_than_a_megabyte_is_claimed(store: Store, generator: Instance) -> None:
    """An answer has to come within the client's time-out. What is too much stays where it was, in its order."""
    generator.publish(6, size=300_000)

    assert claimed_numbers(generator.next(want=6)) == [1, 2, 3]
    assert numbers(waiting(store, "pending")) == [4, 5, 6]
    assert claimed_numbers(generator.next(want=6)) == [4, 5, 6]


def test_a_message_larger_than_a_megabyte_is_claimed_alone(store: Store, generator: Instance) -> None:
    """However large it is, it does not wait for ever."""
    generator.publish(2, size=2 * MEGABYTE)

    assert claimed_numbers(generator.next(want=2)) == [1]
    assert claimed_numbers(generator.next(want=2)) == [2]


def test_the_megabyte_is_for_all_kinds_and_lists(store: Store, generator: Instance, joined: Joins) -> None:
    """Reclaimed and pending ones of all kinds count together."""
    generator.publish({"mail": 4, "order": 4}, size=300_000)
    victim = joined(("mail",))
    victim.next(want=2, kind="mail")
    dies(victim, generator, ("mail",))

    claimed = generator.next_of({"mail": Done(want=3), "order": Done(want=9)})

    assert claimed_numbers(claimed) == [1, 2, 3]
    assert numbers(waiting(store, "pending", "mail")) == [4]
    assert numbers(waiting(store, "pending", "order")) == [5, 6, 7, 8]


# Pauses and bells.


def test_nothing_of_a_paused_kind_is_claimed(store: Store, generator: Instance, joined: Joins) -> None:
    """Neither pending nor reclaimed messages; other kinds go on."""
    generator.publish({"mail": 3, "order": 1})
    victim = joined(("mail",))
    victim.next(want=1, kind="mail")
    dies(victim, generator, ("mail",))
    pause(store, "mail")

    assert claimed_numbers(generator.next_of({"mail": Done(want=5), "order": Done(want=5)})) == [4]
    assert numbers(waiting(store, "again", "mail") + waiting(store, "pending", "mail")) == [1, 2, 3]


def test_a_message_of_a_paused_kind_can_be_completed_and_given_back(store: Store, generator: Instance) -> None:
    """A pause stops claims and nothing else."""
    generator.publish(3)
    first, second = ids(generator.next(want=2))
    pause(store)

    generator.next(want=5, completed=[first], back=[second])

    assert numbers(waiting(store, "pending")) == [2, 3]


def test_next_rings_where_work_remains(store: Store, generator: Instance) -> None:
    """The next idle handler is woken by the one before it; there are never two tokens."""
    generator.publish({"mail": 2, "order": 1})
    silence(store, "mail")
    silence(store, "order")

    generator.next_of({"mail": Done(want=1), "order": Done(want=1)})
    assert (tokens(store, "mail"), tokens(store, "order")) == (1, 0)
    generator.next_of({"mail": Done(want=0), "order": Done(want=0)})

    assert (tokens(store, "mail"), tokens(store, "order")) == (1, 0)


def test_next_does_not_ring_when_it_finds_nothing(store: Store, generator: Instance) -> None:
    """Or it would spin."""
    generator.next(want=5)

    assert tokens(store) == 0


def test_next_does_not_ring_for_a_paused_kind(store: Store, generator: Instance) -> None:
    """Paused kinds are no work."""
    generator.publish(2)
    silence(store)
    pause(store)

    generator.next(want=5)

    assert tokens(store) == 0


# Signs of life, and full memory.


def test_who_claims_is_expected_to_beat_every_heartbeat(store: Store, generator: Instance, joined: Joins) -> None:
    """The interval in `wills` is set by a next that claims, so that the grace of its will is short at once."""
    for _ in range(2):
        joined().beat()
    idle = joined()
    idle.beat()
    assert idle.will_stored[1] == store.settings.lease_ms // 3

    idle.next(want=1)
    assert idle.will_stored[1] == store.settings.lease_ms // 3, "nothing was claimed"
    generator.publish()
    idle.next(want=1)

    assert idle.will_stored[1] == store.settings.heartbeat_ms


def test_next_does_not_extend_presence(store: Store, generator: Instance) -> None:
    """Only a beat does: the heart speaks for all threads."""
    before = generator.deadline
    generator.next()

    assert generator.deadline == before


def test_messages_are_handled_when_memory_is_full(store: Store, generator: Instance) -> None:
    """This is how memory gets free: claiming, completing, failing and giving back must work."""
    generator.publish(6)

    with full_memory(store):
        first, second, third = ids(generator.next(want=3))
        claimed = generator.next(want=1, completed=[first], failed=[second], back=[third])

    assert claimed_numbers(claimed) == [3]
