"""beat.lua: the last will. Its marks, its grace, and who may judge by it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from soloist.store.link import Link
from soloist.store.server import Server
from tests.store.acting import Instance, Joins
from tests.store.state import term_of


@pytest.fixture
def killed(generator: Instance) -> Instance:
    """A generator that had a will and whose process was killed; nobody has noticed yet."""
    generator.subscribe()
    generator.beat()
    generator.unsubscribe()
    return generator


# The flag.


def test_a_will_counts_only_once_its_subscription_was_seen(joined: Joins) -> None:
    """The flag is set by a beat that sees the subscription count, and not by the caller's word."""
    instance = joined()
    instance.will = 1
    instance.beat()
    assert instance.will_stored[0] == 0

    instance.subscribe()
    instance.beat()

    assert instance.will_stored[0] == 1


def test_one_without_a_will_is_never_marked(generator: Instance, joined: Joins) -> None:
    """Where no subscription was ever seen, its absence says nothing: the lease decides."""
    onlooker = joined()
    onlooker.becomes_witness()

    onlooker.beat()

    assert generator.will_stored[2] == 0


def test_who_beats_while_its_subscription_is_down_has_no_will(killed: Instance) -> None:
    """Its heart beats: what looked like a death was only a lost connection."""
    killed.beat()
    killed.beat()

    assert killed.will_stored[0] == 0


def test_a_beat_that_comes_behind_the_end_of_its_subscription_may_be_the_last_one(
    generator: Instance, joined: Joins
) -> None:
    """Of a process that dies the server may close the subscription first, and carry out its last beat then: it has a will
    still, or its death would be noticed by the lease alone.
    """
    onlooker = joined()
    onlooker.becomes_witness()
    generator.subscribe()
    generator.beat(term=1)
    generator.unsubscribe()

    generator.beat(term=1)
    onlooker.beat()

    assert generator.will_stored[0] == 1
    assert generator.will_stored[2] > 0


# The interval.


def test_a_beat_that_does_not_know_of_a_claim_yet_leaves_the_short_interval(generator: Instance, joined: Joins) -> None:
    """A beat may be on its way while messages are claimed: what is held is what counts, or a death is noticed too late."""
    holder = joined()
    holder.beat(may_generate=False)
    generator.publish(1)
    heartbeat = holder.store.settings.heartbeat_ms
    assert holder.will_stored[1] > heartbeat
    holder.next(want=1)

    heard = holder.beat(may_generate=False, busy=False)

    assert (heard.next_ms, holder.will_stored[1]) == (heartbeat, heartbeat)


# The mark.


def test_the_first_beat_that_sees_no_listener_sets_the_mark(killed: Instance, joined: Joins) -> None:
    """`zero since` is kept in Redis, and stays where it is while nothing changes."""
    onlooker = joined()

    first = onlooker.beat()
    second = onlooker.beat()

    assert killed.will_stored[2] == first.now_ms
    assert second.gone == first.gone == []


def test_a_listener_that_comes_back_clears_the_mark(killed: Instance, joined: Joins) -> None:
    """Any beat keeps the marks, in both directions."""
    onlooker = joined()
    onlooker.beat()
    killed.subscribe()

    onlooker.beat()

    assert killed.will_stored[2] == 0


def test_a_mark_in_the_future_is_set_anew(killed: Instance, joined: Joins) -> None:
    """After a clock went back a mark must not wait for the old time to come again."""
    killed.marked_for(-60_000)

    heard = joined().beat()

    assert killed.will_stored[2] == heard.now_ms


def test_a_busy_or_waiting_one_marks_everybody_an_idle_one_only_whose_part_it_might_take(
    generator: Instance, joined: Joins
) -> None:
    """Idle ones look at holder and line alone."""
    successors, idle, victim = [joined(), joined()], joined(), joined()
    for successor in successors:
        successor.beat()
    victim.subscribe()
    victim.beat(may_generate=False)
    victim.unsubscribe()

    idle.beat(may_generate=False)
    assert victim.will_stored[2] == 0
    heard = idle.beat(may_generate=False, busy=True)

    assert victim.will_stored[2] == heard.now_ms


def beats(instance: Instance) -> None:
    instance.beat()


def publishes(instance: Instance) -> None:
    instance.publish()


def publishes_again(instance: Instance) -> None:
    page = instance.publish()
    instance.marked_for(10)
    instance.send_page(page)


def handles(instance: Instance) -> None:
    instance.next()


def handles_again(instance: Instance) -> None:
    call = instance.turn_call()
    instance.send_turn(call)
    instance.marked_for(10)
    instance.send_turn(call)


@pytest.mark.parametrize("call", [beats, publishes, publishes_again, handles, handles_again])
def test_any_call_of_the_victim_clears_its_mark(
    killed: Instance, joined: Joins, call: Callable[[Instance], None]
) -> None:
    """It lives, only its subscription is down. Without this rule 670 of 1,000 takeovers were needless."""
    joined().beat()
    assert killed.will_stored[2] > 0

    call(killed)

    assert killed.will_stored[2] == 0


@pytest.mark.parametrize("confirms", [False, True])
def test_the_calls_of_a_drainer_clear_its_mark(joined: Joins, confirms: bool) -> None:
    """Drain and confirm are signs of life, too."""
    joined()
    drainer = joined(drains=True)
    drainer.marked_for(10)

    drainer.confirm([]) if confirms else drainer.drain()

    assert drainer.will_stored[2] == 0


# The grace.


def test_a_fresh_mark_is_no_death(killed: Instance, joined: Joins) -> None:
    """Within the grace the victim may still call."""
    onlooker = joined()
    onlooker.becomes_witness()

    heard = onlooker.beat()

    assert (heard.role, heard.gone) == ("handler", [])


def test_a_mark_that_outlived_its_grace_is_a_death(killed: Instance, joined: Joins) -> None:
    """The onlooker is told whom to reclaim, and is elected in the same step, long before the lease ends."""
    onlooker = joined()
    onlooker.becomes_witness()
    killed.marked_for(2 * killed.store.settings.heartbeat_ms)

    heard = onlooker.beat()

    assert (heard.role, heard.gone) == ("elected", [killed.id])
    assert heard.term is not None
    assert heard.term.number == 2


@pytest.mark.parametrize(("interval", "grace"), [(10, 300), (150, 300), (151, 302), (500, 1000)])
def test_one_looks_again_exactly_when_a_grace_ends(killed: Instance, joined: Joins, interval: int, grace: int) -> None:
    """The grace is twice the victim's interval, but at least 300 ms; the beat that sets the mark says when it ends."""
    onlooker, keys = joined(), killed.store.keys
    onlooker.store.link.command("HSET", keys.wills, killed.id, f"1 {interval} 0 {killed.store.settings.claim_lease_ms}")

    assert onlooker.beat().next_ms == grace


def test_a_frozen_process_is_not_judged_by_will(generator: Instance, joined: Joins) -> None:
    """Its subscription still counts: only the lease can tell."""
    generator.subscribe()
    generator.beat()
    generator.marked_for(3_600_000)
    onlooker = joined()
    onlooker.becomes_witness()

    heard = onlooker.beat()

    assert (heard.role, heard.gone, generator.will_stored[2]) == ("handler", [], 0)


# Who may judge by it.


@pytest.fixture
def dead(killed: Instance) -> Instance:
    """A generator whose will was executed."""
    killed.marked_for(3_600_000)
    return killed


def test_an_onlooker_without_a_subscription_may_not_judge_by_will(dead: Instance, joined: Joins) -> None:
    """What it sees may be the fault of the server's channels and not a death."""
    onlooker = joined()
    onlooker.heard_for(1000)
    onlooker.subscribed_for(1000)

    heard = onlooker.beat()

    assert (heard.role, heard.gone) == ("handler", [])
    assert onlooker.fields["will_since"] == "0"


def test_an_onlooker_must_have_been_subscribed_for_a_second(dead: Instance, joined: Joins) -> None:
    """After a restart the first to subscribe would see everybody else dead."""
    onlooker = joined()
    onlooker.subscribe()
    onlooker.heard_for(60_000)

    heard = onlooker.beat()

    assert (heard.role, heard.gone) == ("handler", [])
    assert onlooker.fields["will_since"] == str(heard.now_ms)


def test_an_onlooker_must_have_been_heard_for_a_second(dead: Instance, joined: Joins) -> None:
    """A gap in its beats resets its subscription as well."""
    onlooker = joined()
    onlooker.becomes_witness()
    onlooker.silent_for(onlooker.store.settings.lease_ms // 2 + 1)

    heard = onlooker.beat()

    assert (heard.role, heard.gone) == ("handler", [])
    assert onlooker.fields["will_since"] == str(heard.now_ms)


def test_an_onlooker_whose_subscription_was_interrupted_starts_anew(dead: Instance, joined: Joins) -> None:
    """Another number of the will means that it was not subscribed all the time."""
    onlooker = joined()
    onlooker.becomes_witness()
    onlooker.will += 1

    heard = onlooker.beat()

    assert (heard.role, heard.gone) == ("handler", [])
    assert onlooker.fields["will_since"] == str(heard.now_ms)


def test_an_unbroken_subscription_counts_from_its_first_sight(generator: Instance, joined: Joins) -> None:
    """Beats that name the same subscription leave `will_since` where it was."""
    onlooker = joined()
    onlooker.becomes_witness()
    since = onlooker.fields["will_since"]

    onlooker.beat()

    assert onlooker.fields["will_since"] == since


def test_one_that_may_not_generate_reclaims_but_is_not_elected(dead: Instance, joined: Joins) -> None:
    """The marks are there for all."""
    onlooker = joined()
    onlooker.becomes_witness()

    heard = onlooker.beat(may_generate=False)

    assert (heard.role, heard.gone) == ("handler", [dead.id])
    assert term_of(dead.store)["instance"] == dead.id


def test_where_channels_may_not_be_asked_the_lease_alone_decides(dead: Instance, joined: Joins) -> None:
    """An ACL without PUBSUB: beats work, nobody has a will, nobody is marked or judged by it."""
    onlooker = joined()
    onlooker.becomes_witness()
    store, user = onlooker.store, f"user-{onlooker.id}"
    store.link.command("ACL", "SETUSER", user, "on", ">secret", "~*", "&*", "+@all", "-pubsub")
    privileged, limited = store.link, Link(Server(store.server.url.replace("//", f"//{user}:secret@")), timeout=5)
    try:
        onlooker.store = replace(store, link=limited)

        heard = onlooker.beat()

        assert (heard.role, heard.gone) == ("handler", [])
        assert onlooker.will_stored[0] == 0
    finally:
        onlooker.store = store
        limited.close()
        privileged.command("ACL", "DELUSER", user)
