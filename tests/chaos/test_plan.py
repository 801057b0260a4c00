"""A plan follows from its seed alone, and has in it what was asked for."""

import itertools
from collections import Counter

import pytest

from soloist.chaos.catalogue import KINDS
from soloist.chaos.plan import CALM, make_plan
from soloist.cli.chaos import FAULT_NAMES
from soloist.settings import Settings

POSSIBLE = {name for name, kind in KINDS.items() if not kind.only_asked}


def test_the_command_line_knows_every_kind_of_fault() -> None:
    assert tuple(KINDS) == FAULT_NAMES


def test_one_seed_is_one_plan() -> None:
    """A run that failed can be had again."""
    plans = [make_plan(seed, Settings(), POSSIBLE, seconds=60) for seed in (1, 1, 2)]

    assert plans[0] == plans[1]
    assert plans[0].steps != plans[2].steps


@pytest.mark.parametrize("seed", range(20))
def test_a_plan_has_faults_of_every_kind_and_ends_in_time(seed: int) -> None:
    plan = make_plan(seed, Settings(), POSSIBLE, seconds=120)

    assert {step.kind for step in plan.steps} == POSSIBLE
    assert all(step.at >= CALM and step.at + step.seconds <= 120 for step in plan.steps)
    assert plan.seconds == 120


def test_a_plan_has_as_many_faults_as_were_asked_for() -> None:
    """It then takes as long as it takes."""
    wanted = {"kill": 20, "freeze": 5, "restart": 1}
    plan = make_plan(1, Settings(), POSSIBLE, seconds=1, wanted=wanted)

    assert Counter(step.kind for step in plan.steps) == wanted
    last = max(step.at + step.seconds for step in plan.steps)
    assert plan.seconds >= last


def test_some_faults_overlap_and_most_do_not() -> None:
    """Both are wanted: figures come from those that are alone, the worst cases from those that are not."""
    steps = make_plan(3, Settings(), POSSIBLE, seconds=1, wanted={"kill": 300}).steps
    apart = [after.at - before.at for before, after in itertools.pairwise(steps)]

    assert 0.1 < sum(1 for each in apart if each < KINDS["kill"].settles) / len(apart) < 0.4


def test_a_freeze_is_shorter_and_longer_than_the_lease_and_sometimes_than_the_claim_lease() -> None:
    settings = Settings()
    lengths = [step.seconds for step in make_plan(1, settings, POSSIBLE, seconds=1, wanted={"freeze": 200}).steps]

    assert min(lengths) < settings.lease < max(lengths)
    assert settings.claim_lease < max(lengths)
    assert sum(1 for each in lengths if each > settings.lease) > 100
