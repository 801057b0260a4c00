"""runtime/clock.py: what time it is on the server, by its answers."""

import pytest

from soloist.runtime.clock import ServerClock
from tests.unit.hand_clock import HandClock, put_in_place


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch) -> HandClock:
    return put_in_place(monkeypatch, "soloist.runtime.clock")


def test_before_the_first_answer_it_is_our_own_time(local: HandClock) -> None:
    """Better than nothing."""
    assert ServerClock().now_ms() == pytest.approx(local.wall * 1000)


def test_an_answer_tells_the_servers_time_of_the_middle_of_the_trip(local: HandClock) -> None:
    """10 ms there and back: the server looked at its clock 5 ms ago."""
    clock = ServerClock()

    clock.heard(sent=local.now - 0.010, received=local.now, server_ms=5_000_000)

    assert clock.now_ms() == pytest.approx(5_000_005)


def test_it_goes_on_between_answers(local: HandClock) -> None:
    """By the monotonic clock: a step of ours changes nothing."""
    clock = ServerClock()
    clock.heard(local.now, local.now, 5_000_000)

    local.now += 1.5
    local.wall -= 3_600

    assert clock.now_ms() == pytest.approx(5_001_500)


def test_the_answer_that_took_the_shortest_way_counts(local: HandClock) -> None:
    """One that was held up knows less."""
    clock = ServerClock()
    clock.heard(local.now - 0.001, local.now, 5_000_000)

    clock.heard(local.now - 1.0, local.now, 4_999_100)

    assert clock.now_ms() == pytest.approx(5_000_000.5)


@pytest.mark.parametrize("server_ms", [4_990_000, 5_000_600, 9_000_000])
def test_an_answer_that_shows_it_to_be_wrong_counts_at_once(local: HandClock, server_ms: int) -> None:
    """The server's clock was set; or ours stood still, since the machine slept: no way is long enough to explain it."""
    clock = ServerClock()
    clock.heard(local.now - 0.001, local.now, 5_000_000)

    clock.heard(local.now - 0.2, local.now, server_ms)
    assert server_ms <= clock.now_ms() <= server_ms + 201, "as it may be by that answer"
    clock.heard(local.now - 0.001, local.now, server_ms + 100)

    assert clock.now_ms() == pytest.approx(server_ms + 100.5), "the next one that comes a shorter way counts"


def test_an_answer_that_was_held_up_moves_it_no_further_than_it_must(local: HandClock) -> None:
    """The server tells whole milliseconds, so the best estimate may be a fraction of one beside what a long way allows."""
    clock = ServerClock()
    clock.heard(local.now - 0.0002, local.now, 5_000_000)  # it was 5,000,000.9 then

    clock.heard(local.now - 0.4, local.now, 5_000_001)

    assert clock.now_ms() == pytest.approx(5_000_001, abs=1)


def test_an_old_answer_counts_no_more(local: HandClock) -> None:
    """Clocks are set right now and then, also the server's."""
    clock = ServerClock()
    clock.heard(local.now, local.now, 5_000_000)

    local.pass_by(ServerClock.FRESH + 1)
    clock.heard(local.now - 1.0, local.now, 9_000_000)

    assert clock.now_ms() == pytest.approx(9_000_500)
