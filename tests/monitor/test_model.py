"""What is known after what was seen: the monitor's model, without a server, a terminal or a clock."""

from dataclasses import replace

from soloist.monitor.model import (
    GONE_FOR,
    NEWS_FOR,
    Child,
    Notice,
    Phase,
    Processes,
    State,
    Unanswered,
    observe,
    selection,
)
from soloist.monitor.table import Condition, rows
from soloist.settings import Settings
from tests.monitor.samples import SCOPE, crew, entry, instance, record, seen, snapshot, state


def conditions(known: State) -> dict[int, Condition]:
    return {row.key: row.condition for row in rows(known)}


def test_all_instances_of_the_namespace_are_shown_wherever_they_were_started() -> None:
    """By their numbers; at most one generates; those started here are marked."""
    known = observe(state(seen(crew(3))), Processes(11, (Child(1002, 2),)))

    assert [(row.key, row.role, row.own) for row in rows(known)] == [
        (1, "generator", False),
        (2, "handler", True),
        (3, "handler", False),
        (4, "handler", False),
    ]


def test_one_that_is_silent_for_longer_than_a_few_heartbeats_may_be_frozen() -> None:
    """The slowest heartbeat counts, that of an idle handler: a third of the lease."""
    known = state(seen(snapshot(instance(1, role="generator"), instance(2, heard_ms=1900), instance(3, heard_ms=2100))))

    assert conditions(known) == {1: Condition.ALIVE, 2: Condition.ALIVE, 3: Condition.FROZEN}
    assert SCOPE.of("demo", "here", Settings()).silent_ms == 2000
    assert SCOPE.of("demo", "here", Settings(lease=20, claim_lease=30)).silent_ms == 20_000


def test_one_that_disappears_is_shown_for_ten_seconds() -> None:
    """As it was last seen; then it goes. It is not gone any more when its number is back: it was reborn."""
    lone = snapshot(instance(1, role="generator"))
    known = state(seen(crew(1), at=10), seen(lone, at=11))
    assert conditions(known) == {1: Condition.ALIVE, 2: Condition.GONE}
    assert rows(known)[1].instance == crew(1).instances[1]

    assert conditions(observe(known, seen(lone, at=11 + GONE_FOR - 0.1))) == {1: Condition.ALIVE, 2: Condition.GONE}
    assert conditions(observe(known, seen(lone, at=11 + GONE_FOR + 0.1))) == {1: Condition.ALIVE}
    reborn = snapshot(instance(1, role="generator"), instance(2, id="another"))
    assert conditions(observe(known, seen(reborn, at=12))) == {1: Condition.ALIVE, 2: Condition.ALIVE}


def test_what_we_did_to_our_own_is_shown_at_once() -> None:
    """The server may not know it yet."""
    phases = {1: Phase.ENDED, 2: Phase.FROZEN, 3: Phase.LEAVING, 4: Phase.RUNNING}
    children = tuple(Child(1000 + number, number, phase) for number, phase in phases.items())
    known = observe(state(seen(crew(3))), Processes(11, children))

    assert conditions(known) == {1: Condition.GONE, 2: Condition.FROZEN, 3: Condition.LEAVING, 4: Condition.ALIVE}


def test_one_of_our_own_that_is_frozen_stays_on_the_screen_for_as_long_as_it_lives() -> None:
    """Redis has long forgotten it; but it can be thawed."""
    lone = snapshot(instance(1, role="generator"))
    frozen = Processes(11, (Child(1002, 2, Phase.FROZEN),))
    known = observe(observe(state(seen(crew(1), at=10)), frozen), seen(lone, at=12))

    known = observe(known, seen(lone, at=12 + 10 * GONE_FOR))

    assert conditions(known) == {1: Condition.ALIVE, 2: Condition.FROZEN}


def test_a_process_that_has_not_joined_yet_has_a_row() -> None:
    """A key must be answered at once; it keeps being selected when it joins."""
    starting = observe(replace(state(seen(crew(1))), selected=-77), Processes(11, (Child(77),)))
    assert conditions(starting) == {1: Condition.ALIVE, 2: Condition.ALIVE, -77: Condition.STARTING}

    joined = observe(starting, Processes(12, (Child(77, 3),)))
    assert joined.selected == 3
    assert conditions(joined)[3] is Condition.FROZEN  # it says that it joined, and is not seen yet


def test_a_takeover_is_news_with_its_time() -> None:
    """Of all that happened meanwhile the latest; for some seconds."""
    elected = [
        entry("elected", 11, instance="id2", number=2, term=4, takeover_ms=371),
        entry("elected", 11.2, instance="id3", term=5, takeover_ms=1402),
    ]
    known = state(seen(at=10), seen(at=12, entries=elected))

    assert known.banner is not None
    assert known.banner.text == "instance #3 took over after 1,402 ms"
    assert known.banner.is_takeover
    assert known.banner.until == 12 + NEWS_FOR


def test_what_happened_before_we_came_is_no_news() -> None:
    """Nor is the first term of all, nor one that nobody had been waiting for."""
    old = entry("elected", instance="id2", number=2, term=4, takeover_ms=371)
    first = entry("elected", instance="id2", number=2, term=1, takeover_ms=0)
    days_later = entry("elected", instance="id2", number=2, term=4, takeover_ms=86_400_000)

    assert state(seen(entries=[old])).banner is None
    assert state(seen(at=10), seen(at=11, entries=[first, days_later])).banner is None


def test_the_log_is_bounded() -> None:
    """The latest thousand."""
    known = state()
    for at in range(30):
        known = observe(
            known, seen(at=11 + at, entries=[entry("joined", number=n, instance=f"i{n}") for n in range(100)])
        )

    assert len(known.log) == 1000
    assert len(known.numbers) <= 4000


def test_a_server_that_does_not_answer_is_away_until_it_does() -> None:
    """What was seen is kept, and known to be old."""
    known = observe(state(seen(at=10)), Unanswered(11, 0, "cannot be reached"))
    assert known.is_away(11)
    assert known.snapshot is not None

    assert not observe(known, seen(at=12)).is_away(12)


def test_no_answer_at_all_means_away_as_well() -> None:
    """A server that hangs refuses nothing: the watcher waits for its answer."""
    known = state(seen(at=10))

    assert not known.is_away(11)
    assert known.is_away(12)


def test_error_records_are_kept_until_there_are_others() -> None:
    """None means: as before."""
    known = state(seen(errors=[record(1)]), seen(errors=None))
    assert [each.id for each in known.errors] == ["1-tag"]

    assert observe(known, seen(errors=[])).errors == ()


def test_a_process_that_fails_says_why() -> None:
    """One that was killed, or was asked to go, needs no words."""
    running = observe(state(), Processes(11, (Child(77), Child(78), Child(79, phase=Phase.LEAVING))))
    failed = Child(77, phase=Phase.ENDED, code=2, last_words="soloist: it belongs to another App")
    others = (Child(78, phase=Phase.ENDED, code=-9), Child(79, phase=Phase.ENDED, code=2))

    assert observe(running, Processes(12, others)).banner is None
    known = observe(running, Processes(12, (failed, *others)))
    assert known.banner is not None
    assert known.banner.text == "process 77 ended with exit code 2: soloist: it belongs to another App"


def test_a_notice_is_the_latest_news() -> None:
    known = observe(state(), Notice(20, "message 1-tag waits again"))

    assert known.banner is not None
    assert known.banner.text == "message 1-tag waits again"


def test_something_is_selected_as_long_as_anything_is_there() -> None:
    """The first, until one is chosen; then that one; then the next after it."""
    known = state(seen(crew(3)))
    assert selection(known) == 1

    chosen = replace(known, selected=3)
    assert selection(chosen) == 3
    later = replace(chosen, snapshot=snapshot(instance(2), instance(4)))
    assert selection(later) == 4
    assert selection(replace(chosen, snapshot=snapshot(instance(2)))) == 2
    assert selection(replace(chosen, snapshot=snapshot())) == 0
