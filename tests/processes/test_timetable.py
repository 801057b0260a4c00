"""Schedules while instances are killed and frozen: each tick once, or passed over and counted. See tools/schedules.py."""

import random

import pytest

from tests.processes.crew import Crew
from tests.processes.timetable_trial import Trial

FAULTS, EVERY = 12, 1.2


@pytest.mark.one_server
@pytest.mark.timeout(240)
def test_whoever_is_killed_or_frozen_each_tick_is_published_once_or_counted_as_skipped(crew: Crew) -> None:
    """Twenty schedules of every sort; and each run that was published is completed, or fails, once."""
    outcome = Trial(crew, random.randrange(2**32), FAULTS, EVERY).run()

    print(f"seed {outcome.seed}: {dict(outcome.counted)}, {len(outcome.runs)} runs, {outcome.superseded}")
    assert not outcome.wrong, f"seed {outcome.seed}: {outcome.wrong}"
    assert len(outcome.faults) == FAULTS
    assert {run.tag for run in outcome.runs} - {outcome.runs[0].tag}, "there was more than one term"
