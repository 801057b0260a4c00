"""beat.lua: the line of successors, and who takes a term when several could."""

import pytest

from tests.servers import Store
from tests.store.acting import Instance, Joins
from tests.store.state import check_equation, term_of


def line(store: Store) -> list[str]:
    """Who has place 1 and who place 2."""
    return [check_equation(store).line.get(place, "").partition(" ")[0] for place in ("1", "2")]


@pytest.fixture
def successors(generator: Instance, joined: Joins) -> list[Instance]:
    """Both places are taken by instances that have just joined: neither is a judge."""
    both = [joined(), joined()]
    assert [each.beat().place for each in both] == [1, 2]
    return both


def test_there_are_two_places(store: Store, successors: list[Instance], joined: Joins) -> None:
    """The first two that may generate stand in line, the third does not; so who succeeds is known beforehand."""
    assert joined().beat().place == 0
    assert line(store) == [each.id for each in successors]


def test_a_successor_keeps_its_place(store: Store, successors: list[Instance]) -> None:
    """Its beats write down when it was last heard, and whether it is an idle judge by now."""
    second = successors[1]
    second.heard_for(store.settings.lease_ms)

    heard = second.beat()

    assert heard.place == 2
    assert check_equation(store).line["2"] == f"{second.id} {heard.now_ms} 1"


def test_the_generator_is_not_in_line(store: Store, generator: Instance) -> None:
    """It cannot succeed itself."""
    assert generator.beat().place == 0
    assert line(store) == ["", ""]


def test_who_is_elected_gives_its_place_up(store: Store, generator: Instance, successors: list[Instance]) -> None:
    """The place of the new generator is free for another."""
    generator.leave()

    heard = successors[0].beat()

    assert (heard.role, heard.place) == ("elected", 0)
    assert line(store) == ["", successors[1].id]


def test_who_may_generate_no_more_gives_its_place_up(store: Store, successors: list[Instance]) -> None:
    """An instance that stops is not in line."""
    assert successors[0].beat(may_generate=False).place == 0
    assert line(store) == ["", successors[1].id]


def test_drainers_and_pure_handlers_never_stand_in_line(store: Store, generator: Instance, joined: Joins) -> None:
    """Only who may generate succeeds."""
    assert joined(drains=True).beat(may_generate=False).place == 0
    assert joined(drains=True).beat(term=0).place == 0
    assert joined().beat(may_generate=False).place == 0
    assert line(store) == ["", ""]


# Places that others may take.


def test_an_idle_judge_displaces_one_that_is_not(store: Store, successors: list[Instance], joined: Joins) -> None:
    """Who could take the term at once is the better successor; the displaced one is told at its next beat."""
    judge = joined()
    judge.heard_for(store.settings.lease_ms)

    assert judge.beat().place == 1
    assert line(store) == [judge.id, successors[1].id]
    assert successors[0].beat().place == 0


def test_a_witness_is_a_judge(store: Store, successors: list[Instance], joined: Joins) -> None:
    """Being able to judge by will is enough."""
    witness = joined()
    witness.becomes_witness()

    assert witness.beat().place == 1


def test_a_busy_judge_displaces_nobody(store: Store, successors: list[Instance], joined: Joins) -> None:
    """It would let the others wait until it has handled its message."""
    judge = joined()
    judge.heard_for(store.settings.lease_ms)

    assert judge.beat(busy=True).place == 0
    assert line(store) == [each.id for each in successors]


def test_an_idle_judge_displaces_no_idle_judge(store: Store, successors: list[Instance], joined: Joins) -> None:
    """Or two of them would push each other out for ever."""
    for each in successors:
        each.heard_for(store.settings.lease_ms)
        each.beat()
    judge = joined()
    judge.becomes_judge()

    assert judge.beat().place == 0


def test_one_silent_for_more_than_three_heartbeats_is_replaced(
    store: Store, successors: list[Instance], joined: Joins
) -> None:
    """A place is for those who can be heard. One of less than three heartbeats ago keeps it."""
    first, second = successors
    heartbeat = store.settings.heartbeat_ms
    first.in_line_for(1, 2 * heartbeat, idle_judge=False)
    second.in_line_for(2, 3 * heartbeat + 1, idle_judge=True)
    other = joined()

    assert other.beat().place == 2
    assert line(store) == [first.id, other.id]


def test_one_heard_in_the_future_is_replaced(store: Store, successors: list[Instance], joined: Joins) -> None:
    """After a clock went back its last beat says nothing."""
    successors[0].in_line_for(1, -60_000, idle_judge=True)

    assert joined().beat().place == 1


def test_one_that_is_marked_is_replaced(store: Store, successors: list[Instance], joined: Joins) -> None:
    """Its last will may be about to be executed."""
    first = successors[0]
    first.subscribe()
    first.beat()
    first.unsubscribe()

    other = joined()

    assert other.beat().place == 1


def test_one_that_left_makes_room(store: Store, successors: list[Instance], joined: Joins) -> None:
    """Who goes is struck from the line in the same step."""
    successors[0].leave()
    assert line(store) == ["", successors[1].id]

    assert joined().beat().place == 1


def test_a_place_of_the_holder_is_free(
    store: Store, generator: Instance, successors: list[Instance], joined: Joins
) -> None:
    """However it came there: the holder does not succeed itself."""
    generator.in_line_for(2, 0, idle_judge=True)

    assert joined().beat().place == 2


def test_a_place_of_a_stranger_is_free(store: Store, successors: list[Instance], joined: Joins) -> None:
    """An id without presence stands in nobody's way."""
    store.link.command("HSET", store.keys.line, "1", "stranger 99999999999999 1")

    assert joined().beat().place == 1


def test_nobody_has_two_places(store: Store, generator: Instance, joined: Joins) -> None:
    """A second place of the same instance is given up."""
    instance = joined()
    for place in (1, 2):
        instance.in_line_for(place, 0, idle_judge=True)

    assert instance.beat().place == 1
    assert line(store) == [instance.id, ""]


# Busy ones and idle judges.


@pytest.fixture
def vacancy(generator: Instance, successors: list[Instance]) -> list[Instance]:
    """The generator resigned; the first in line is an idle judge."""
    successors[0].heard_for(generator.store.settings.lease_ms)
    successors[0].beat()
    generator.beat(may_generate=False)
    return successors


def test_a_busy_one_yields_to_an_idle_judge_in_line(store: Store, vacancy: list[Instance]) -> None:
    """The idle one publishes at once, the busy one only after its message."""
    judge, busy = vacancy

    assert busy.beat(busy=True).role == "handler"
    assert judge.beat().role == "elected"


def test_a_busy_one_does_not_yield_to_a_silent_one(store: Store, vacancy: list[Instance]) -> None:
    """One that was not heard within two heartbeats may be dead: takeover has its bound also when all are busy."""
    judge, busy = vacancy
    judge.in_line_for(1, 2 * store.settings.heartbeat_ms + 1, idle_judge=True)

    assert busy.beat(busy=True).role == "elected"


def test_a_busy_one_does_not_yield_to_one_heard_in_the_future(store: Store, vacancy: list[Instance]) -> None:
    """Nor does it wait for a time that the clock has left."""
    judge, busy = vacancy
    judge.in_line_for(1, -60_000, idle_judge=True)

    assert busy.beat(busy=True).role == "elected"


def test_a_busy_one_does_not_yield_to_one_that_is_marked(store: Store, vacancy: list[Instance]) -> None:
    """Its subscription is gone, and perhaps it as well."""
    judge, busy = vacancy
    judge.subscribe()
    judge.beat(may_generate=False)
    judge.in_line_for(1, 0, idle_judge=True)
    judge.unsubscribe()

    assert busy.beat(busy=True).role == "elected"


def test_a_busy_one_does_not_yield_to_one_that_is_no_idle_judge(store: Store, vacancy: list[Instance]) -> None:
    """One that could not take the term is not worth waiting for."""
    judge, busy = vacancy
    judge.in_line_for(1, 0, idle_judge=False)

    assert busy.beat(busy=True).role == "elected"


def test_a_busy_one_does_not_yield_to_itself(store: Store, vacancy: list[Instance]) -> None:
    """It was idle at its last beat, and is the only one in line."""
    judge, other = vacancy
    other.leave()

    assert judge.beat(busy=True).role == "elected"


def test_an_idle_one_takes_a_vacant_term_whoever_is_in_line(
    store: Store, vacancy: list[Instance], joined: Joins
) -> None:
    """The line says who will; it bars nobody who is idle, so that no vacancy depends on one instance."""
    instance = joined()

    assert instance.beat().role == "elected"
    assert term_of(store)["instance"] == instance.id
