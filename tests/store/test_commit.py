"""next.lua: what is written along with a message, if and only if it completes."""

import pytest

from soloist.errors import Defect
from soloist.store.messages import CommittedMessage, Run, Tally, TurnCall, Write
from tests.servers import Store
from tests.store.acting import DEPARTURES, DETAILS, Departure, Instance, Joins, dies, ids
from tests.store.committing import commits, followup, key, reasons
from tests.store.state import attempts_of, check_equation, full_memory, nothing_changes, refused, total
from tests.turns import Done


def test_what_is_written_along_is_written_in_the_step_that_completes(store: Store, generator: Instance) -> None:
    """All commands of a message, in their order; nothing says that it failed."""
    generator.publish(1)

    claimed = commits(
        generator,
        [
            Write("set", key(store), (5,)),
            Write("incrby", key(store), (37,)),
            Write("hset", key(store, "other"), ("field", b"\x00\xff")),
        ],
    )

    assert store.link.command("GET", key(store)) == b"42"
    assert store.link.command("HGET", key(store, "other"), "field") == b"\x00\xff"
    assert (total(store, "completed"), total(store, "failed"), claimed.refused) == (1, 0, [])


def test_the_commits_of_many_messages_are_written_in_their_order(store: Store, generator: Instance) -> None:
    """One call, a thousand messages, each with its own."""
    generator.publish(1000)
    held = ids(generator.next(want=1000))

    done = Done(committed=[(each, [Write("rpush", key(store), (each,))], []) for each in held])
    generator.next_of({"default": done})

    assert store.link.command("LRANGE", key(store), 0, -1) == held
    assert total(store, "completed") == 1000


def test_one_that_would_be_refused_fails_alone(store: Store, generator: Instance) -> None:
    """Nothing of it is written, nothing published; its neighbours complete, and what they wrote stands."""
    generator.publish(5)
    first, second, third, fourth, fifth = ids(generator.next(want=5))
    store.link.command("RPUSH", key(store, "list"), "x")
    one = Write("incrby", key(store), (1,))
    wrong = Write("hset", key(store, "list"), ("a", 1))

    claimed = generator.next_of(
        {
            "default": Done(
                completed=[third],
                failed=[(fourth, DETAILS)],
                committed=[
                    (first, [one], []),
                    (second, [one, Write("set", key(store, "never"), (1,)), wrong], [followup("default", "1-never")]),
                    (fifth, [one], []),
                ],
            )
        }
    )

    assert claimed.refused == [second]
    assert store.link.command("GET", key(store)) == b"2"
    assert store.link.command("EXISTS", key(store, "never")) == 0
    assert (total(store, "completed"), total(store, "failed"), total(store, "published")) == (3, 2, 5)
    assert (generator.fields["completed"], generator.fields["failed"]) == ("3", "2")
    assert list(reasons(store)) == [second.decode(), fourth.decode()]
    assert reasons(store)[second.decode()] == {
        "reason": f"hset on {key(store, 'list')}: what is there is a list, not a hash",
        "type": "CommitRefused",
        "handler": generator.id,
        "attempts": 1,
    }


def test_a_message_is_checked_against_what_those_before_it_have_written(store: Store, generator: Instance) -> None:
    """They are written before it is looked at: the first makes a hash, which the second cannot add to."""
    generator.publish(2)
    first, second = ids(generator.next(want=2))

    claimed = generator.next_of(
        {
            "default": Done(
                committed=[
                    (first, [Write("hset", key(store), ("a", 1))], []),
                    (second, [Write("incrby", key(store), (1,))], []),
                ]
            )
        }
    )

    assert claimed.refused == [second]
    assert store.link.command("HGETALL", key(store)) == [b"a", b"1"]


def test_deaths_and_retries_count_in_what_is_said_of_a_refused_one(
    store: Store, generator: Instance, joined: Joins
) -> None:
    """One attempt more than it has deaths and retries; they go with the message."""
    generator.publish(1)
    victim = joined()
    victim.next(want=1)
    dies(victim, generator)
    (ident,) = ids(generator.next(want=1))

    generator.next_of({"default": Done(committed=[(ident, [Write("expire", key(store), (0,))], [])])})

    assert reasons(store)[ident.decode()]["attempts"] == 2
    assert attempts_of(store, ident.decode()) is None


# Repeats, late copies, callers that are over.


def test_a_repeat_writes_nothing_and_is_answered_the_same(store: Store, generator: Instance) -> None:
    """Its answer was lost: it is told again which were refused, until its next call."""
    generator.publish(3)
    first, second = ids(generator.next(want=2))
    call = generator.turn_call_of(
        {
            "default": Done(
                1,
                committed=[
                    (first, [Write("incrby", key(store), (1,))], [followup("default", "1-on")]),
                    (second, [Write("expire", key(store), (-1,))], []),
                ],
            )
        }
    )
    applied = generator.send_turn(call)

    with nothing_changes(store):
        again = generator.send_turn(call)

    assert (again.again, again.refused, again.envelopes) == (True, [second], applied.envelopes)
    assert generator.next(want=0).refused == []
    assert "refused" not in generator.fields
    assert store.link.command("GET", key(store)) == b"1"


@pytest.mark.parametrize("departs", DEPARTURES)
def test_a_caller_that_is_gone_writes_nothing(
    store: Store, generator: Instance, joined: Joins, departs: Departure
) -> None:
    """Whatever it had in mind, its message is another's by now."""
    generator.publish(1)
    handler = joined()
    (ident,) = ids(handler.next(want=1))
    asked = (ident, [Write("incrby", key(store), (1,))], [followup("default", "1-on")])
    call = handler.turn_call_of({"default": Done(committed=[asked])})
    departs(handler, generator)

    with refused(store, "next"):
        handler.send_turn(call)

    assert store.link.command("EXISTS", key(store)) == 0


@pytest.mark.parametrize(
    ("special", "tally"),
    [
        (CommittedMessage(1, b"2-tag"), Tally(0, 2, 1)),  # counted as failed
        (CommittedMessage(1, b"2-tag"), Tally(0, 1)),  # counted short
        (CommittedMessage(1, b"9-tag"), Tally(0, 2)),
        (CommittedMessage(2, b"3-tag"), Tally(0, 2)),  # behind its run
    ],
)
def test_a_commit_that_does_not_fit_is_refused_whole(
    store: Store, generator: Instance, special: CommittedMessage, tally: Tally
) -> None:
    """Fencing is the same as for failures."""
    generator.publish(3)
    generator.next(want=3)
    special = special._replace(writes=[Write("incrby", key(store), (1,))])

    with refused(store, "next"):
        generator.send_turn(
            TurnCall(generator.turn + 1, generator.stamp, {"default": tally}, [Run(0, 2, b"1-tag", [special])])
        )

    assert store.link.command("EXISTS", key(store)) == 0


def test_the_kind_of_a_message_that_commits_must_be_given(store: Store, generator: Instance) -> None:
    """It may have to be counted as failed; so the script must know its kind before it writes anything."""
    generator.publish({"mail": 1})
    (ident,) = ids(generator.next(want=1, kind="mail"))
    asked = CommittedMessage(0, ident, [Write("incrby", key(store), (1,))])
    call = TurnCall(generator.turn + 1, generator.stamp, {"order": Tally(0, 1)}, [Run(0, 1, ident, [asked])])

    with nothing_changes(store), pytest.raises(Defect, match="KINDS"):
        generator.send_turn(call)


@pytest.mark.parametrize("wrong", [CommittedMessage(5, b"7-tag"), CommittedMessage(24, b"25-tag")])
def test_among_many_commits_each_is_compared(store: Store, generator: Instance, wrong: CommittedMessage) -> None:
    """They are read at once where there are many of them: under another id, or behind the run, none is written."""
    generator.publish(30)
    generator.next(want=30)
    one = [Write("incrby", key(store), (1,))]
    specials = [
        CommittedMessage(place, f"{place + 1}-tag".encode(), one) for place in range(20) if place != wrong.place
    ]
    specials = sorted([*specials, wrong._replace(writes=one)])

    with refused(store, "next"):
        generator.send_turn(
            TurnCall(generator.turn + 1, generator.stamp, {"default": Tally(0, 20)}, [Run(0, 20, b"1-tag", specials)])
        )

    assert store.link.command("EXISTS", key(store)) == 0


# Servers that are not at their best.


def test_commits_are_written_when_memory_is_full(store: Store, generator: Instance) -> None:
    """As all that ends a message: what is done must be recorded, or nothing would ever make room."""
    generator.publish(1)
    (ident,) = ids(generator.next(want=1))
    asked = (ident, [Write("rpush", key(store), ("x" * 1000,))], [followup("default", "1-on")])
    call = generator.turn_call_of({"default": Done(committed=[asked])})

    with full_memory(store):
        generator.send_turn(call)

    assert store.link.command("LLEN", key(store)) == 1
    assert check_equation(store).kinds[0].waiting == 1


def test_what_the_acl_forbids_fails_its_message_alone(store: Store, generator: Instance) -> None:
    """Asked before the first write: refused in mid-script it would leave what was written before it."""
    generator.publish(2)
    first, second = ids(generator.next(want=2))
    call = generator.turn_call_of(
        {
            "default": Done(
                committed=[
                    (first, [Write("incrby", key(store), (1,)), Write("pfadd", key(store, "other"), ("a",))], []),
                    (second, [Write("incrby", key(store), (1,))], []),
                ]
            )
        }
    )
    store.link.command("ACL", "SETUSER", "default", "-pfadd")
    try:
        claimed = generator.send_turn(call)
    finally:
        store.link.command("ACL", "SETUSER", "default", "+@all")

    assert claimed.refused == [first]
    assert "ACL" in str(reasons(store)[first.decode()]["reason"])
    assert store.link.command("GET", key(store)) == b"1"
