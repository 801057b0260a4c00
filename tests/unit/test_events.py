"""events.py: one event per transition, in order; totals seldom, but none lost."""

import itertools
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soloist.events import MOST_OFTEN, Event, Events
from tests.unit.hand_clock import HandClock, put_in_place

TOTALS = ("generated", "handled")


class Heard:
    """Events with the (monotonic) time at which each was told."""

    def __init__(self, clock: HandClock) -> None:
        self._clock = clock
        self.all: list[tuple[float, Event]] = []

    def __call__(self, event: Event) -> None:
        self.all.append((self._clock.now, event))

    @property
    def names(self) -> list[str]:
        return [event.event for _, event in self.all]

    def last(self, name: str) -> Event:
        return [event for _, event in self.all if event.event == name][-1]

    def times(self, name: str) -> list[float]:
        return [at for at, event in self.all if event.event == name]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> HandClock:
    return put_in_place(monkeypatch, "soloist.events")


@pytest.fixture
def heard(clock: HandClock) -> Heard:
    return Heard(clock)


@pytest.fixture
def events(heard: Heard) -> Events:
    """Of an instance that has joined."""
    events = Events(heard)
    events.joined(3, "ann")
    return events


def test_every_event_says_who_and_when(events: Events, heard: Heard, clock: HandClock) -> None:
    """`event`, `at` in ms of the wall clock, `number`, `instance`; then its own fields."""
    events.tell("elected", term=7)

    assert [event.as_dict() for _, event in heard.all] == [
        {"event": "joined", "at": clock.wall * 1000, "number": 3, "instance": "ann"},
        {"event": "elected", "at": clock.wall * 1000, "number": 3, "instance": "ann", "term": 7},
    ]


def test_after_a_rebirth_the_new_id_is_told(events: Events, heard: Heard) -> None:
    """Superseded under the old id, then joined with the same number and a new one."""
    events.tell("superseded", what="beat")
    events.joined(3, "bob")

    assert [(event.event, event.number, event.instance) for _, event in heard.all[1:]] == [
        ("superseded", 3, "ann"),
        ("joined", 3, "bob"),
    ]


def test_the_first_count_is_told_at_once(events: Events, heard: Heard) -> None:
    """Nobody waits to see that it works."""
    events.count_generated(term=1, seq=1, messages=1, at=5)
    events.count_handled(2, 1)

    assert heard.last("generated").fields == {"term": 1, "seq": 1, "total": 1}
    assert heard.last("handled").fields == {"total": 2, "errors": 1}


def test_generated_is_told_for_when_it_was_sent(events: Events, heard: Heard) -> None:
    """A process may have been frozen since."""
    events.count_generated(term=1, seq=1, messages=1, at=1234)

    assert heard.last("generated").at == 1234


@pytest.mark.parametrize("name", TOTALS)
def test_totals_come_at_most_ten_times_a_second(name: str, events: Events, heard: Heard, clock: HandClock) -> None:
    """However often something is counted: between two of them lies a tenth of a second."""
    for number in range(1, 3001):
        events.count_generated(1, number, 1, at=0)
        events.count_handled(1, 0)
        clock.pass_by(0.001)

    times = heard.times(name)
    assert len(times) in (29, 30)
    assert all(later - earlier >= MOST_OFTEN for earlier, later in itertools.pairwise(times))


def test_one_total_does_not_hold_up_the_other(events: Events, heard: Heard) -> None:
    """Each has its own ten times a second."""
    events.count_generated(1, 1, 1, at=0)
    events.count_handled(1, 0)

    assert heard.names[1:] == ["generated", "handled"]


def test_what_was_held_up_is_told_with_the_next_beat(events: Events, heard: Heard, clock: HandClock) -> None:
    """Once: then there is nothing to tell."""
    events.count_handled(1, 0)
    events.count_handled(1, 1)
    events.tell_totals()
    assert heard.last("handled").fields["total"] == 1

    clock.pass_by(0.11)
    events.tell_totals()
    events.tell_totals()
    clock.pass_by(0.11)
    events.tell_totals()

    assert heard.last("handled").fields == {"total": 2, "errors": 1}
    assert len(heard.times("handled")) == 2


@pytest.mark.parametrize("rare", ["superseded", "quiet", "left", "elected", "reclaimed", "unfit"])
def test_totals_are_told_before_a_rare_event(rare: str, events: Events, heard: Heard) -> None:
    """What was counted before it happened is told before it, however short the time."""
    for number in (1, 2):
        events.count_generated(1, number, 1, at=0)
        events.count_handled(1, 1)

    events.tell(rare)

    assert heard.names[-3:] == ["generated", "handled", rare]
    assert heard.last("generated").fields["total"] == 2
    assert heard.last("handled").fields == {"total": 2, "errors": 2}


def test_totals_of_the_life_before_are_told_before_joined(events: Events, heard: Heard) -> None:
    """What was generated under the old id must not be told under the new one."""
    events.count_generated(1, 1, 1, at=0)
    events.count_generated(1, 2, 1, at=0)

    events.joined(3, "bob")
    events.tell("left")

    told = [(event.instance, event.fields["total"]) for _, event in heard.all if event.event == "generated"]
    assert told == [("ann", 1), ("ann", 2)]


def test_a_rare_event_is_told_alone_if_nothing_was_counted(events: Events, heard: Heard) -> None:
    """Totals are not repeated."""
    events.count_handled(1, 0)
    events.tell("quiet")
    events.tell("left")

    assert heard.names == ["joined", "handled", "quiet", "left"]


actions = st.lists(
    st.one_of(
        st.tuples(st.just("generated"), st.integers(1, 1000)),
        st.tuples(st.just("handled"), st.integers(1, 1000)),
        st.tuples(st.just("pass"), st.integers(0, 300)),
        st.tuples(st.just("beat"), st.just(0)),
        st.tuples(st.just("rare"), st.just(0)),
    ),
    max_size=60,
)


@given(actions)
def test_nothing_counted_is_lost(happening: list[tuple[str, int]]) -> None:
    """The last totals before `left` are what was counted, and totals never go down."""
    clock = HandClock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("soloist.events.time", clock)
        heard = Heard(clock)
        events = Events(heard)
        counted = dict.fromkeys(TOTALS, 0)
        for what, number in happening:
            if what == "generated":
                counted[what] += number
                events.count_generated(1, counted[what], number, at=0)
            elif what == "handled":
                counted[what] += number
                events.count_handled(number, number // 2)
            elif what == "pass":
                clock.pass_by(number / 1000)
            elif what == "beat":
                events.tell_totals()
            else:
                events.tell("reclaimed")
        events.tell("left")

    for name in TOTALS:
        told = [event.fields["total"] for _, event in heard.all if event.event == name]
        assert told == sorted(told)
        assert (told or [0])[-1] == counted[name]
    assert heard.names[-1] == "left"


def test_counts_of_several_threads_add_up(events: Events, heard: Heard) -> None:
    """Handler, recorder and generator count at once."""

    def count() -> None:
        for _ in range(500):
            events.count_handled(1, 1)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events.tell("left")

    assert heard.last("handled").fields == {"total": 2000, "errors": 2000}
