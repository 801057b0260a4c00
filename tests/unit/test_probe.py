"""The probe: which samples are taken again because the machine was busy."""

import pytest

from soloist.lab.probe import LATE, Probe


@pytest.fixture
def probe() -> Probe:
    """One that woke late at 100 s, by the monotonic clock, and at no other time."""
    made = Probe.__new__(Probe)
    made._late_at = [100.0]
    return made


@pytest.mark.parametrize(
    ("begun", "ended", "is_calm"),
    [
        (99.0, 101.0, False),
        (99.0, 100.0 - LATE / 2, False),  # it was late already then
        (98.0, 99.0, True),
        (100.5, 101.0, True),
    ],
)
def test_a_sample_is_calm_unless_the_probe_woke_late_in_it(
    probe: Probe, begun: float, ended: float, is_calm: bool
) -> None:
    """Or so soon after it that it overslept during it."""
    assert probe.was_calm_between(begun, ended) is is_calm


@pytest.mark.parametrize(("since", "is_calm"), [(99.0, False), (101.0, True)])
def test_a_sample_that_ends_now_is_judged_by_all_since_its_beginning(probe: Probe, since: float, is_calm: bool) -> None:
    """The same, with an open end."""
    assert probe.was_calm_since(since) is is_calm
