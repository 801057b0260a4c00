"""next.lua: what leaves the caller's hands is named by its places among what it holds. What does not fit is refused whole."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from soloist.errors import ForeignData
from soloist.store import messages
from soloist.store.envelope import id_of
from soloist.store.messages import FailedMessage, Run, Tally, TurnCall
from tests.servers import Store
from tests.store.acting import DETAILS, Instance, Joins, dies, ids
from tests.store.state import attempts_of, check_equation, nothing_changes, numbers, refused, total, waiting
from tests.turns import Done

HELD = 7


@pytest.fixture
def handler(generator: Instance, joined: Joins) -> Instance:
    """A handler that holds the messages 1 to 7, claimed by several calls."""
    generator.publish(HELD)
    instance = joined()
    while instance.next(want=3).envelopes:
        pass
    assert numbers(instance.claimed) == list(range(1, HELD + 1))
    return instance


def name_at(place: int) -> bytes:
    """The id of what the handler holds there."""
    return f"{place + 1}-tag".encode()


def run(place: int, length: int, failed: Sequence[int] = (), *, back: bool = False, ident: bytes = b"") -> Run:
    """A run that says what is so, unless it is given another id."""
    failures = [FailedMessage(each, name_at(each), DETAILS) for each in failed]
    return Run(place, length, ident or name_at(place), failures, back)


def call_of(handler: Instance, *runs: Run, completed: int | None = None, failed: int | None = None) -> TurnCall:
    """Its next call, which counts what its runs name, unless told otherwise."""
    named_failed = sum(len(each.specials) for each in runs)
    named = sum(each.length for each in runs if not each.is_back)
    many_failed = named_failed if failed is None else failed
    many_completed = named - named_failed if completed is None else completed
    return TurnCall(
        handler.turn + 1, handler.stamp, {"default": Tally(0, completed=many_completed, failed=many_failed)}, runs
    )


# What fits.


@pytest.mark.parametrize(
    ("runs", "left"),
    [
        ([], [1, 2, 3, 4, 5, 6, 7]),
        ([run(0, 1)], [2, 3, 4, 5, 6, 7]),
        ([run(0, 3)], [4, 5, 6, 7]),
        ([run(6, 1)], [1, 2, 3, 4, 5, 6]),
        ([run(4, 3)], [1, 2, 3, 4]),
        ([run(3, 1)], [1, 2, 3, 5, 6, 7]),
        ([run(1, 5)], [1, 7]),
        ([run(1, 1), run(3, 1), run(5, 1)], [1, 3, 5, 7]),
        ([run(0, 1), run(2, 1), run(4, 1), run(6, 1)], [2, 4, 6]),
        ([run(0, 2), run(5, 2)], [3, 4, 5]),
        ([run(0, 2), run(3, 1), run(5, 2)], [3, 5]),
        ([run(0, 1), run(1, 1), run(2, 1)], [4, 5, 6, 7]),
        ([run(4, 1), run(5, 1), run(6, 1)], [1, 2, 3, 4]),
        ([run(0, 6)], [7]),
        ([run(1, 6)], [1]),
        ([run(0, 3), run(4, 3)], [4]),
        ([run(0, 7)], []),
        ([run(0, 3), run(3, 4)], []),
        ([run(each, 1) for each in range(HELD)], []),
    ],
    ids=lambda value: " ".join(f"{each.place}+{each.length}" if isinstance(each, Run) else str(each) for each in value),
)
@pytest.mark.parametrize("fate", ["completed", "failed", "back"])
def test_what_is_named_leaves_and_the_others_keep_their_order(
    store: Store, handler: Instance, joined: Joins, runs: list[Run], left: list[int], fate: str
) -> None:
    """From the head, from the end, from between, and all of it; byte for byte."""
    before = {id_of(each): each for each in handler.envelopes}
    gone = [place + 1 for each in runs for place in range(each.place, each.place + each.length)]
    if fate == "failed":
        runs = [run(each.place, each.length, range(each.place, each.place + each.length)) for each in runs]
    elif fate == "back":
        runs = [replace(each, is_back=True) for each in runs]

    handler.send_turn(call_of(handler, *runs))

    assert handler.envelopes == [before[f"{number}-tag".encode()] for number in left]
    assert store.link.command("EXISTS", store.keys.claimed(handler.id)) == (1 if left else 0)
    assert numbers(waiting(store, "pending")) == (gone if fate == "back" else [])
    assert [total(store, name) for name in ("completed", "failed")] == [
        len(gone) * (fate == each) for each in ("completed", "failed")
    ]
    records = joined(drains=True).drain().records
    assert [record.id for record in records] == [f"{number}-tag" for number in gone if fate == "failed"]
    assert [record.envelope for record in records] == [before[record.id.encode()] for record in records]


def test_three_fates_side_by_side(store: Store, handler: Instance, joined: Joins) -> None:
    """Failures stand in the order of their places, whatever run they are of; so does what is given back."""
    runs = [run(0, 2, [1]), run(2, 1, back=True), run(3, 2, [3]), run(6, 1, back=True)]

    handler.send_turn(call_of(handler, *runs))

    assert numbers(handler.claimed) == [6]
    assert numbers(waiting(store, "pending")) == [3, 7]
    assert (total(store, "completed"), total(store, "failed")) == (2, 2)
    records = joined(drains=True).drain().records
    assert [(record.id, record.failed_us - int(handler.stamp)) for record in records] == [("2-tag", 1), ("4-tag", 2)]


def test_what_is_claimed_next_stands_behind_what_is_left(store: Store, generator: Instance, handler: Instance) -> None:
    """Also behind a hole; and by these places the next call finds it."""
    generator.publish(4)
    call = call_of(handler, run(1, 2), run(4, 1, back=True))

    claimed = handler.send_turn(replace(call, kinds={"default": Tally(5, completed=2)}))

    assert numbers(waiting(store, "pending")) == [10, 11], "half of what waited"
    assert [int(each.partition(b"-")[0]) for each in ids(claimed)] == [5, 8, 9]
    assert numbers(handler.claimed) == [1, 4, 6, 7, 5, 8, 9]
    handler.send_turn(call_of(handler, Run(3, 2, b"7-tag")))
    assert numbers(handler.claimed) == [1, 4, 6, 8, 9]


def test_a_repeat_tells_what_is_left_in_its_order(store: Store, handler: Instance) -> None:
    """The caller's next places are counted in it."""
    call = call_of(handler, run(0, 1), run(3, 1, back=True))
    call = replace(call, kinds={"default": Tally(9, completed=1)})
    handler.send_turn(call)

    assert handler.send_turn(call).envelopes == handler.envelopes
    assert numbers(handler.claimed) == [2, 3, 5, 6, 7, 4], "given back, and claimed again by the same call"


def test_the_attempts_of_what_is_left_are_kept(store: Store, generator: Instance, joined: Joins) -> None:
    """Those of what is given back too; only those of what is finished go."""
    generator.publish(5)
    victim = joined()
    while len(victim.claimed) < 5:
        victim.next(want=5)
    dies(victim, generator)
    generator.next(want=5)

    generator.send_turn(call_of(generator, run(1, 1), run(2, 1, back=True), run(3, 1, [3])))

    kept = [number for number in range(1, 6) if attempts_of(store, f"{number}-tag")]
    assert kept == [1, 3, 5]
    assert numbers(waiting(store, "again")) == [3]


@pytest.mark.parametrize("count", [1_001, 8_001])
def test_thousands_of_holes(store: Store, generator: Instance, count: int) -> None:
    """Every second one, each a run of its own: nothing of it is unpacked at once."""
    generator.publish(2 * count)
    held = ids(generator.next(want=2 * count))

    generator.next(completed=held[1::2])

    assert generator.claimed == [each.decode() for each in held[::2]]
    assert total(store, "completed") == count


# What does not fit. Nothing is written, whatever else the call names rightly.


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param([run(7, 1)], id="behind the last"),
        pytest.param([run(6, 2)], id="one beyond the end"),
        pytest.param([run(0, 8)], id="one more than there are"),
        pytest.param([run(0, 2), run(5, 9)], id="the second one beyond the end"),
        pytest.param([run(0, 1000)], id="a thousand"),
    ],
)
@pytest.mark.parametrize("back", [False, True])
def test_a_run_beyond_the_end_is_refused(store: Store, handler: Instance, runs: list[Run], back: bool) -> None:
    """It would complete, or give back, what is not there."""
    with refused(store, "next"):
        handler.send_turn(call_of(handler, *(replace(each, is_back=back) for each in runs)))


@pytest.mark.parametrize(("place", "ident"), [(-1, b"7-tag"), (-7, b"1-tag"), (-1, b"0-tag"), (-8, b"1-tag")])
@pytest.mark.parametrize("length", [1, 2, 7])
@pytest.mark.parametrize("back", [False, True])
def test_a_place_from_the_end_is_refused(
    store: Store, handler: Instance, place: int, ident: bytes, length: int, back: bool
) -> None:
    """For the server -1 is the last; for us it is none."""
    with refused(store, "next"):
        handler.send_turn(call_of(handler, run(place, length, ident=ident, back=back)))


@pytest.mark.parametrize("length", [0, -1, -2])
@pytest.mark.parametrize("place", [0, 3, 6])
@pytest.mark.parametrize("back", [False, True])
def test_a_run_of_nothing_is_refused(store: Store, handler: Instance, place: int, length: int, back: bool) -> None:
    """Nor may one of less than nothing make room for another, or outweigh it in the count."""
    with refused(store, "next"):
        handler.send_turn(call_of(handler, run(place, length, back=back)))
    with refused(store, "next"):
        handler.send_turn(call_of(handler, run(place, length, back=back), run(place, 1)))
    with refused(store, "next"):
        handler.send_turn(call_of(handler, run(0, 7), run(place, length, back=back)))


@pytest.mark.parametrize("ident", [b"2-tag", b"99-tag", b"1-ta", b"1-tags", b"1", b"", b"1-tag default"])
@pytest.mark.parametrize("length", [1, 7])
@pytest.mark.parametrize("back", [False, True])
def test_another_id_at_the_place_of_the_first_is_refused(
    store: Store, handler: Instance, ident: bytes, length: int, back: bool
) -> None:
    """The caller and we do not speak of the same list."""
    with refused(store, "next"):
        handler.send_turn(call_of(handler, Run(0, length, ident, is_back=back)))


@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_one_wrong_run_of_several_is_refused_with_the_others(store: Store, handler: Instance, wrong: int) -> None:
    """Wherever it stands."""
    runs = [run(0, 2, [1]), run(3, 1, back=True), run(5, 2)]
    runs[wrong] = replace(runs[wrong], id=b"99-tag")

    with refused(store, "next"):
        handler.send_turn(call_of(handler, *runs))


@pytest.mark.parametrize("ident", [b"2-tag", b"4-tag", b"99-tag", b""])
@pytest.mark.parametrize("place", [1, 2, 4])
def test_a_failure_under_another_id_is_refused(store: Store, handler: Instance, place: int, ident: bytes) -> None:
    """Its record would stand under the name of another message."""
    if ident == name_at(place):
        ident = b"7-tag"
    wrong = FailedMessage(place, ident, DETAILS)

    with refused(store, "next"):
        handler.send_turn(call_of(handler, Run(1, 4, name_at(1), [wrong])))


@pytest.mark.parametrize(
    "failed",
    [
        pytest.param([1], id="before it"),
        pytest.param([4], id="behind it"),
        pytest.param([0, 2], id="one before it"),
        pytest.param([3, 6], id="one behind it"),
        pytest.param([-1], id="from the end"),
        pytest.param([7], id="beyond the end"),
    ],
)
def test_a_failure_outside_its_run_is_refused(store: Store, handler: Instance, failed: list[int]) -> None:
    """It would be recorded, and still be held."""
    with refused(store, "next"):
        handler.send_turn(call_of(handler, run(2, 2, failed)))


def test_a_failure_of_another_run_is_refused(store: Store, handler: Instance) -> None:
    """It leaves with the other one, as completed."""
    with refused(store, "next"):
        handler.send_turn(call_of(handler, run(0, 2, [4]), run(4, 2)))
    with refused(store, "next"):
        handler.send_turn(call_of(handler, run(0, 2), run(4, 2, [1])))


@pytest.mark.parametrize("failed", [[1, 1], [2, 1], [1, 3, 2], [0, 0, 0]])
def test_failures_that_do_not_ascend_are_refused(store: Store, handler: Instance, failed: list[int]) -> None:
    """One that is named twice would be counted twice."""
    with refused(store, "next"):
        handler.send_turn(call_of(handler, run(0, 4, failed)))


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param([run(0, 2), run(0, 2)], id="the same twice"),
        pytest.param([run(0, 2), run(1, 2)], id="by one at the head"),
        pytest.param([run(1, 3), run(3, 2)], id="by one between"),
        pytest.param([run(3, 3), run(5, 2)], id="by one at the end"),
        pytest.param([run(0, 7), run(3, 1)], id="one within another"),
        pytest.param([run(3, 1), run(0, 7)], id="another around one"),
        pytest.param([run(4, 2), run(0, 2)], id="in another order"),
        pytest.param([run(0, 1), run(4, 1), run(2, 1)], id="the last two in another order"),
    ],
)
@pytest.mark.parametrize("back", [(False, False), (True, False), (False, True), (True, True)])
def test_runs_that_overlap_or_do_not_ascend_are_refused(
    store: Store, handler: Instance, runs: list[Run], back: tuple[bool, bool]
) -> None:
    """A message has one fate."""
    first, *others = runs
    runs = [replace(first, is_back=back[0]), *(replace(each, is_back=back[1]) for each in others)]

    with refused(store, "next"):
        handler.send_turn(call_of(handler, *runs))


@pytest.mark.parametrize("runs", [[run(0, 2, [0], back=True)], [run(0, 3), run(3, 2, [4], back=True)]])
def test_a_failure_of_what_is_given_back_is_refused(store: Store, handler: Instance, runs: list[Run]) -> None:
    """However it is counted."""
    done = sum(each.length for each in runs if not each.is_back)
    for completed, failed in ((done, 1), (max(0, done - 1), 1), (done, 0), (done - 1, 1)):
        with refused(store, "next"):
            handler.send_turn(call_of(handler, *runs, completed=completed, failed=failed))


@pytest.mark.parametrize(
    ("completed", "failed"), [(3, 1), (1, 1), (0, 1), (2, 0), (2, 2), (3, 0), (1, 2), (0, 3), (4, -1), (-1, 4)]
)
def test_tallies_that_do_not_add_up_are_refused(store: Store, handler: Instance, completed: int, failed: int) -> None:
    """Two are completed and one failed: more or less of either, or as many in all, would make the totals lie."""
    with refused(store, "next"):
        handler.send_turn(call_of(handler, run(2, 3, [3]), completed=completed, failed=failed))


@pytest.mark.parametrize(("completed", "failed"), [(1, 0), (0, 1)])
@pytest.mark.parametrize("runs", [[], [run(0, 1, back=True)]])
def test_what_is_counted_and_not_named_is_refused(
    store: Store, handler: Instance, runs: list[Run], completed: int, failed: int
) -> None:
    """What is given back counts as neither."""
    with refused(store, "next"):
        handler.send_turn(call_of(handler, *runs, completed=completed, failed=failed))


def test_tallies_are_summed_over_the_kinds(store: Store, generator: Instance) -> None:
    """One too many of a kind is refused, whatever the others say; as many as are named is not."""
    generator.publish({"mail": 2, "order": 2})
    mails, orders = (ids(generator.next_of({kind: Done(want=2)})) for kind in ("mail", "order"))
    whole = Run(0, 4, mails[0], [FailedMessage(3, orders[1], DETAILS)])
    call = TurnCall(generator.turn + 1, generator.stamp, {"mail": Tally(0, 2), "order": Tally(0, 1, 1)}, [whole])

    for kind in ("mail", "order"):
        of = call.kinds[kind]
        for wrong in (replace(of, completed=of.completed + 1), replace(of, failed=of.failed + 1)):
            with refused(store, "next"):
                generator.send_turn(replace(call, kinds={**call.kinds, kind: wrong}))
    generator.send_turn(call)

    names = ("completed:mail", "completed:order", "failed:mail", "failed:order")
    assert [total(store, name) for name in names] == [2, 1, 0, 1]
    assert generator.claimed == []


@pytest.mark.parametrize("runs", [[run(0, 1)], [run(0, 1, back=True)], [run(0, 1, [0])]])
def test_of_one_that_holds_nothing_no_run_fits(
    store: Store, generator: Instance, joined: Joins, runs: list[Run]
) -> None:
    """An empty list has no places."""
    instance = joined()

    with refused(store, "next"):
        instance.send_turn(call_of(instance, *runs))


def test_after_a_refusal_the_same_turn_is_still_open(store: Store, handler: Instance) -> None:
    """Nothing was changed: a call that fits is applied."""
    with refused(store, "next"):
        handler.send_turn(call_of(handler, run(0, 8)))
    with nothing_changes(store):
        check_equation(store)

    handler.send_turn(call_of(handler, run(0, 7)))

    assert handler.claimed == []
    assert total(store, "completed") == HELD


@pytest.mark.parametrize("negative", ["completed", "failed"])
def test_a_tally_below_nothing_is_refused(store: Store, handler: Instance, negative: str) -> None:
    """Although it would add up over the kinds: the totals of a kind would shrink."""
    call = call_of(handler, run(0, 2))
    other = Tally(0, completed=-1) if negative == "completed" else Tally(0, completed=1, failed=-1)
    many = 3 if negative == "completed" else 2
    tallies = {"default": Tally(0, completed=many), "other": other}

    with refused(store, "next"):
        handler.send_turn(replace(call, kinds=tallies))


def test_a_refusal_changes_nothing_where_somebody_elses_key_stands_in_the_way(
    store: Store, handler: Instance, generator: Instance
) -> None:
    """Presence is gone, and under the name of its hash stands something else: not even the refusal is counted."""
    call = call_of(handler, run(0, 1))
    handler.leave()
    store.link.command("SET", store.keys.instance(handler.id), "theirs")

    with nothing_changes(store), pytest.raises(ForeignData):
        messages.next_turn(store.link, store.keys, handler.id, store.settings, call)
    store.link.command("DEL", store.keys.instance(handler.id))
