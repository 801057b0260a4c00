"""A pause while everything goes at full speed. See tools/pause.py; what is paused across a takeover: tests/runtime."""

from tests.processes.crew import Crew
from tests.processes.pausing import play


def test_a_paused_kind_is_claimed_no_more_nothing_is_lost_and_it_goes_on(crew: Crew) -> None:
    """The generator goes on, and is killed; what was claimed is finished; other kinds go on."""
    outcome = play(crew, 60_000, 1, kills=True)

    assert not outcome.wrong, outcome
