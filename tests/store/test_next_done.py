"""next.lua: completing, failing and giving back."""

import pytest

from soloist.errors import Defect
from tests.servers import Store
from tests.store.acting import DETAILS, Instance, Joins, claimed_numbers, dies, ids
from tests.store.state import attempts_of, check_equation, nothing_changes, numbers, total, waiting
from tests.turns import Done


def test_one_call_completes_fails_gives_back_and_claims(store: Store, generator: Instance) -> None:
    """All in one step, counted in all, per kind and for the instance."""
    generator.publish(8)
    first, second, third, fourth, fifth = ids(generator.next(want=5))

    claimed = generator.next(want=1, completed=[first, second], failed=[third], back=[fourth])

    assert claimed_numbers(claimed) == [4]
    assert generator.claimed == [fifth.decode(), "4-tag"]
    assert numbers(waiting(store, "pending")) == [6, 7, 8]
    assert [total(store, name) for name in ("completed", "completed:default")] == [2, 2]
    assert [total(store, name) for name in ("failed", "failed:default")] == [1, 1]
    assert (generator.fields["completed"], generator.fields["failed"]) == ("2", "1")
    assert check_equation(store).errors == 1


def test_several_kinds_are_finished_in_one_call(store: Store, generator: Instance) -> None:
    """Each kind is counted for itself."""
    generator.publish({"mail": 3, "order": 3})
    held = ids(generator.next_of({"mail": Done(want=3), "order": Done(want=3)}))

    generator.next_of(
        {
            "mail": Done(completed=held[:2], back=held[2:3]),
            "order": Done(completed=held[3:4], failed=[(held[4], DETAILS)], back=held[5:]),
        }
    )

    names = ("completed", "completed:mail", "completed:order", "failed", "failed:mail", "failed:order")
    assert [total(store, name) for name in names] == [3, 2, 1, 1, 0, 1]
    assert numbers(waiting(store, "pending", "mail")) == [3]
    assert numbers(waiting(store, "pending", "order")) == [6]
    assert generator.claimed == []


@pytest.mark.parametrize("count", [1_001, 8_001])
def test_many_are_finished_in_one_call(store: Store, generator: Instance, count: int) -> None:
    """In chunks: unpack stops below 8,000."""
    generator.publish(3 * count)
    held = ids(generator.next(want=3 * count))

    generator.next(completed=held[:count], failed=held[count : 2 * count], back=held[2 * count :])

    assert (total(store, "completed"), total(store, "failed")) == (count, count)
    assert numbers(waiting(store, "pending")) == list(range(2 * count + 1, 3 * count + 1))


# Failing.


def test_what_failed_rests_in_the_error_store(store: Store, generator: Instance, joined: Joins) -> None:
    """With the handler's details and the whole envelope, byte for byte, whatever is in them; in the order of claiming."""
    generator.publish(2)
    claimed = generator.next(want=2)
    one, other = ids(claimed)
    details = ['{"reason": "ü 12 34 \\n"}'.encode(), b"\x00\xff 7 "]

    generator.next_of({"default": Done(failed=[(one, details[0]), (other, details[1])])})

    records = joined(drains=True).drain().records
    assert [record.id for record in records] == ["1-tag", "2-tag"]
    assert [record.details for record in records] == details
    assert [record.envelope for record in records] == claimed.envelopes
    assert [record.failed_us for record in records] == [int(generator.stamp) + 1, int(generator.stamp) + 2]


# Giving back.


def test_what_is_given_back_goes_to_the_head_in_its_old_order(store: Store, generator: Instance, joined: Joins) -> None:
    """As if it had never been claimed. It counts no death."""
    generator.publish(6)
    held = ids(generator.next(want=4))

    generator.next(back=held[1:])

    assert numbers(waiting(store, "pending")) == [2, 3, 4, 5, 6]
    assert attempts_of(store, "2-tag") is None
    assert claimed_numbers(joined().next(want=1)) == [2]


def test_what_has_deaths_is_given_back_to_those_that_wait_again(
    store: Store, generator: Instance, joined: Joins
) -> None:
    """Deaths unchanged: giving back is no death."""
    generator.publish(5)
    victim = joined()
    victim.next(want=2)
    dies(victim, generator)
    held = ids(generator.next(want=3))

    generator.next(back=held)

    assert numbers(waiting(store, "again")) == [1, 2]
    assert numbers(waiting(store, "pending")) == [3, 4, 5]
    assert attempts_of(store, "1-tag") == (1, 0, 0, 0)
    assert attempts_of(store, "3-tag") is None


def test_a_suspect_is_given_back_to_the_suspects(store: Store, generator: Instance, joined: Joins) -> None:
    """With its deaths, and since when it is one."""
    generator.publish(1)
    for _ in range(store.settings.max_attempts - 1):
        victim = joined()
        victim.next(want=1)
        dies(victim, generator)
    before = attempts_of(store, "1-tag")
    (suspect,) = ids(generator.next(want=1))

    generator.next(back=[suspect])

    assert numbers(waiting(store, "suspect")) == [1]
    assert attempts_of(store, "1-tag") == before
    assert claimed_numbers(generator.next(want=1)) == [1]


def test_what_is_given_back_can_be_claimed_by_the_same_call(store: Store, generator: Instance) -> None:
    """The claim comes last."""
    generator.publish(2)
    held = ids(generator.next(want=2))

    assert claimed_numbers(generator.next(want=2, back=held)) == [1, 2]


def test_a_kind_that_was_not_given_is_answered_and_nothing_changed(
    store: Store, generator: Instance, said: dict[str, list[str]]
) -> None:
    """A script must not touch keys that it was not passed; the wrapper names all kinds, so to it this is a defect."""
    generator.publish({"mail": 1, "order": 1})
    mail, order = ids(generator.next_of({"mail": Done(want=1), "order": Done(want=1)}))

    with nothing_changes(store), pytest.raises(Defect, match="KINDS"):
        generator.next(completed=[order], back=[mail], kind="order")

    assert said["next"] == ["OK", "KINDS"]


# Attempts.


@pytest.mark.parametrize("fails", [False, True])
def test_the_attempts_go_with_the_message(store: Store, generator: Instance, joined: Joins, fails: bool) -> None:
    """They are deleted on completion and on failure, and kept of those that are still there."""
    generator.publish(2)
    victim = joined()
    victim.next(want=1)
    victim.next(want=1)
    dies(victim, generator)
    first, second = ids(generator.next(want=2))
    assert attempts_of(store, "1-tag") == attempts_of(store, "2-tag") == (1, 0, 0, 0)

    generator.next(failed=[first]) if fails else generator.next(completed=[first])

    assert attempts_of(store, "1-tag") is None
    assert attempts_of(store, second.decode()) == (1, 0, 0, 0)
