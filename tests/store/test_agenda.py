"""schedule.lua, declare.lua, agenda.lua, pause.lua and publish.lua: schedules as they are stored, and their ticks."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from soloist.errors import UsageError
from soloist.store.agenda import Agenda, declare, put_schedule, read_agenda
from soloist.store.control import pause
from soloist.store.messages import Busy, PageCall, publish
from soloist.store.replies import TermOver
from tests.servers import Store
from tests.store.acting import Instance, ids
from tests.store.state import hash_of, nothing_changes, now_ms

LATER = 4_000_000_000_000
"""A tick behind the first, which is now."""

OFTEN, RARELY = b'{"every_ms":1000}', b'{"every_ms":9000}'
CODE = b'{"every_ms":1000,"origin":"code"}'


def put(store: Store, name: str, json: bytes) -> bool:
    return put_schedule(store.link, store.keys, name, json)


def agenda(store: Store, known: int = -1) -> Agenda:
    return read_agenda(store.link, store.keys, known)


def declared(generator: Instance, **schedules: bytes) -> int:
    store = generator.store
    assert generator.term is not None
    return declare(store.link, store.keys, generator.id, generator.term.number, schedules)


def tick_page(generator: Instance, messages: int = 1, **more: object) -> PageCall:
    return replace(generator.page(messages), source="schedule:it", **more)  # type: ignore[arg-type]


def send(generator: Instance, page: PageCall) -> None:
    store = generator.store
    publish(store.link, store.keys, generator.id, store.settings, page)


# As data.


def test_one_that_is_added_begins_now(store: Store, generator: Instance) -> None:
    """Its first tick is the first from now on: what was before it was nobody's."""
    before = now_ms(store)

    assert put(store, "it", OFTEN)

    seen = agenda(store)
    assert seen.schedules == {"it": OFTEN.decode()}
    assert before <= seen.ticks["it"] <= seen.now_ms


def test_adding_the_same_again_is_no_news(store: Store, generator: Instance) -> None:
    put(store, "it", OFTEN)

    with nothing_changes(store):
        assert not put(store, "it", OFTEN)


def test_a_change_of_what_is_published_leaves_the_ticks_alone(store: Store, generator: Instance) -> None:
    """Only other times begin anew."""
    put(store, "it", OFTEN)
    store.link.command("HSET", store.keys.term, "tick:schedule:it", 17)

    assert put(store, "it", b'{"every_ms":1000,"body":"x"}')
    assert agenda(store).ticks["it"] == 17
    assert put(store, "it", RARELY)
    assert agenda(store).ticks["it"] > 17


def test_what_is_removed_leaves_nothing_behind(store: Store, generator: Instance) -> None:
    put(store, "it", OFTEN)
    store.link.command("HSET", store.keys.runs, "result it", "completed")

    assert put(store, "it", b"")

    assert agenda(store).schedules == agenda(store).runs == {}
    assert "tick:schedule:it" not in hash_of(store, store.keys.term)
    assert not put(store, "it", b"")


def test_a_run_that_works_while_its_schedule_is_dropped_and_comes_back_is_still_waited_for(
    store: Store, generator: Instance
) -> None:
    """As where two versions of the code generate by turns: two runs side by side is what they must not be."""
    declared(generator, it=CODE)
    send(generator, tick_page(generator))
    generator.call, generator.seq = generator.call + 1, generator.seq + 1
    (first,) = ids(generator.next(1))
    declared(generator)
    declared(generator, it=CODE)

    with pytest.raises(Busy):
        send(generator, tick_page(generator, overlap="wait"))
    generator.call += 1
    generator.next(completed=[first])
    send(generator, tick_page(generator, overlap="wait"))

    assert agenda(store).runs["running it"] == "1"


def test_every_change_makes_another_version_and_sounds_the_alarm(store: Store, generator: Instance) -> None:
    """The generator hears of it with its next beat, and the alarm hurries that."""
    versions = [generator.beat().agenda]
    changes: list[Callable[[], object]] = [
        lambda: put(store, "it", OFTEN),
        lambda: pause_it(store, on=True),
        lambda: put(store, "it", b""),
    ]
    for change in changes:
        store.link.command("DEL", store.keys.alarm)
        change()
        assert store.link.command("LLEN", store.keys.alarm) == 1
        versions.append(generator.beat().agenda)

    assert len(set(versions)) == 4
    assert agenda(store).version == versions[-1]
    assert agenda(store, known=versions[-1]).schedules == {}


def test_without_a_namespace_nothing_is_scheduled(store: Store) -> None:
    with nothing_changes(store), pytest.raises(UsageError, match="is empty"):
        put(store, "it", OFTEN)


# By the code.


def test_what_code_declares_replaces_what_code_declared(store: Store, generator: Instance) -> None:
    put(store, "added", OFTEN)
    assert declared(generator, one=CODE, two=CODE) == 2

    assert declared(generator, two=CODE) == 1
    assert declared(generator, two=CODE) == 0

    assert set(agenda(store).schedules) == {"added", "two"}


def test_what_the_code_declares_is_changed_there(store: Store, generator: Instance) -> None:
    declared(generator, it=CODE)

    for json in (RARELY, b""):
        with nothing_changes(store), pytest.raises(UsageError, match="declared by the App's code"):
            put(store, "it", json)


@pytest.mark.parametrize("strange", [b"", b"{", b"5", b"[]", b"null", b'{"cron":null,"every_ms":[],"origin":{}}'])
def test_what_nobody_can_read_hinders_nobody(store: Store, generator: Instance, strange: bytes) -> None:
    """It stays, since it may be somebody's; it can be replaced, and removed."""
    store.link.command("HSET", store.keys.schedules, "strange", strange)
    assert declared(generator, one=CODE) == 1
    assert agenda(store).schedules == {"strange": strange.decode(), "one": CODE.decode()}

    assert put(store, "strange", OFTEN)
    store.link.command("HSET", store.keys.schedules, "strange", strange)
    assert put(store, "strange", b"")


def test_thousands_can_be_declared(store: Store, generator: Instance) -> None:
    """More than a script could unpack."""
    many = {f"s{number}": CODE for number in range(5000)}

    assert declared(generator, **many) == 5000
    assert len(agenda(store).ticks) == 5000


def test_only_the_generator_declares(store: Store, generator: Instance) -> None:
    generator.beat(may_generate=False)

    with nothing_changes(store), pytest.raises(TermOver):
        declared(generator, it=CODE)


# Pauses.


def pause_it(store: Store, *, on: bool) -> int:
    return pause(store.link, store.keys, [], ["schedule:it", "source:outbox"], on=on)


def test_a_distance_keeps_its_grid_over_a_pause(store: Store, generator: Instance) -> None:
    """The next tick is the next one of those that would have come without it."""
    put(store, "it", OFTEN)
    first = now_ms(store) - 5432
    store.link.command("HSET", store.keys.term, "tick:schedule:it", first)
    pause_it(store, on=True)

    pause_it(store, on=False)

    seen = agenda(store)
    assert (seen.ticks["it"] - first) % 1000 == 0
    assert 0 <= seen.now_ms - seen.ticks["it"] < 2000


def test_the_ticks_of_a_pause_are_not_made_up_for(store: Store, generator: Instance) -> None:
    put(store, "it", b'{"cron":"* * * * *"}')
    assert pause_it(store, on=True) == 2
    assert agenda(store).paused == {"schedule:it", "source:outbox"}
    store.link.command("HSET", store.keys.term, "tick:schedule:it", 17)

    assert pause_it(store, on=False) == 2

    assert agenda(store).ticks["it"] > 17
    assert agenda(store).paused == frozenset()


def test_pausing_again_changes_nothing(store: Store, generator: Instance) -> None:
    pause_it(store, on=True)

    with nothing_changes(store):
        assert pause_it(store, on=True) == 0


# Ticks.


def runs_of_it(store: Store) -> dict[str, str]:
    """But for the name of its life."""
    return {field: value for field, value in agenda(store).runs.items() if field != "since it"}


def test_a_tick_that_is_passed_over_is_counted(store: Store, generator: Instance) -> None:
    put(store, "it", OFTEN)

    send(generator, tick_page(generator, tick=LATER + 5, skipped=3))

    assert agenda(store).ticks["it"] == LATER + 5
    assert runs_of_it(store) == {"running it": "1", "skipped it": "3", "tick it": str(LATER + 5)}


@pytest.mark.parametrize(("overlap", "tick", "skipped"), [("skip", 7, "1"), ("wait", 5, None)])
def test_a_run_that_is_not_over_holds_the_next_one_up(
    store: Store, generator: Instance, overlap: str, tick: int, skipped: str | None
) -> None:
    """The call number is used, so a repeat of it can change nothing; the number of a message is not."""
    put(store, "it", OFTEN)
    send(generator, tick_page(generator, tick=LATER + 5))
    term = generator.term
    assert term is not None
    second = replace(tick_page(generator, tick=LATER + 7, overlap=overlap), call=2, first=2)

    with pytest.raises(Busy):
        send(generator, second)
    with nothing_changes(store), pytest.raises(Busy):
        send(generator, second)

    assert agenda(store).ticks["it"] == LATER + tick
    assert agenda(store).runs.get("skipped it") == skipped
    assert hash_of(store, store.keys.totals)["published"] == "1"
    third = replace(second, call=3)
    generator.next(completed=ids(generator.next(1)))
    send(generator, third)
    assert hash_of(store, store.keys.totals)["published"] == "2"


def test_with_overlap_allowed_runs_are_side_by_side(store: Store, generator: Instance) -> None:
    send(generator, tick_page(generator, tick=LATER + 5))
    send(generator, replace(tick_page(generator, tick=LATER + 6), call=2, first=2))

    assert runs_of_it(store) == {"running it": "2", "tick it": str(LATER + 6)}


def test_a_page_that_comes_late_does_not_set_a_schedule_back(store: Store, generator: Instance) -> None:
    """It was paused and resumed meanwhile: what was in the pause is not made up for."""
    put(store, "it", OFTEN)
    now = agenda(store).ticks["it"]

    send(generator, tick_page(generator, tick=now - 500))

    assert agenda(store).ticks["it"] == now
    assert runs_of_it(store)["running it"] == "1"


def test_a_tick_that_waits_is_known_to_whoever_generates_next(store: Store, generator: Instance) -> None:
    put(store, "it", OFTEN)
    send(generator, tick_page(generator, tick=LATER))
    with pytest.raises(Busy):
        send(generator, replace(tick_page(generator, tick=LATER + 5, overlap="wait"), call=2, first=2))
    assert runs_of_it(store)["waits it"] == str(LATER + 5)

    generator.next(completed=ids(generator.next(1)))
    send(generator, replace(tick_page(generator, tick=LATER + 5, overlap="wait"), call=3, first=2))

    assert "waits it" not in runs_of_it(store)


# Lives of a schedule.


@pytest.mark.parametrize("change", ["removed and added", "another kind"])
def test_runs_of_an_older_life_are_not_its_runs(store: Store, generator: Instance, change: str) -> None:
    """They neither hold the new one up, nor does their end stand for the end of its run."""
    put(store, "it", b'{"every_ms":1000,"kind":"old"}')
    send(generator, tick_page(generator, tick=LATER))
    old = ids(generator.next(1))
    if change == "removed and added":
        put(store, "it", b"")
    put(store, "it", b'{"every_ms":1000,"kind":"new"}')
    assert "running it" not in runs_of_it(store)
    generator.call, generator.seq = 1, 1
    send(generator, tick_page(generator, tick=LATER + 1, overlap="skip"))

    generator.next(completed=old)

    assert runs_of_it(store)["running it"] == "1"
    assert "result it" not in runs_of_it(store)


def test_one_that_is_removed_is_not_paused_when_it_comes_again(store: Store, generator: Instance) -> None:
    put(store, "it", OFTEN)
    pause_it(store, on=True)
    put(store, "it", b"")

    assert agenda(store).paused == {"source:outbox"}


def test_what_another_version_of_the_code_does_not_have_goes_on_where_it_was(store: Store, generator: Instance) -> None:
    """While it is rolled out the part goes to and fro: no tick is lost by that, and runs are still runs."""
    declared(generator, it=CODE)
    store.link.command("HSET", store.keys.term, "tick:schedule:it", 17)
    send(generator, tick_page(generator, tick=0))

    declared(generator)
    assert agenda(store).schedules == {}
    declared(generator, it=CODE)

    assert agenda(store).ticks["it"] == 17
    assert runs_of_it(store)["running it"] == "1"


def test_what_no_version_has_for_an_hour_is_gone(store: Store, generator: Instance) -> None:
    declared(generator, it=CODE)
    declared(generator)
    long_ago = now_ms(store) - 3_601_000
    store.link.command("HSET", store.keys.runs, "dropped it", long_ago)

    declared(generator)

    assert agenda(store).runs == {}
    assert "tick:schedule:it" not in hash_of(store, store.keys.term)
