"""A history that went wrong, with as few faults as it takes."""

from collections.abc import Callable
from dataclasses import replace

from tests.simulation.backend import Backend
from tests.simulation.history import History, Outcome
from tests.simulation.plan import Plan

Play = Callable[[Plan], Outcome]

MOST_TRIES = 150


def shrink(plan: Plan, play: Play) -> tuple[Plan, Outcome]:
    """Leave out whatever it does not need to go wrong; what is left, and how it goes wrong then."""
    tries = 0

    def goes_wrong(smaller: Plan) -> Outcome | None:
        nonlocal tries
        tries += 1
        outcome = play(smaller) if tries <= MOST_TRIES else None
        return outcome if outcome is not None and outcome.wrong else None

    found = goes_wrong(plan)
    assert found is not None, "it goes wrong"
    outcome = found
    for calmer in (replace(plan, stalls=0), replace(plan, trips=(0.0002,)), replace(plan, stalls=0, trips=(0.0002,))):
        if (found := goes_wrong(calmer)) is not None:
            plan, outcome = calmer, found
    many = max(1, len(plan.faults) // 2)
    while many:
        first = 0
        while first < len(plan.faults):
            smaller = plan.without(range(first, min(first + many, len(plan.faults))))
            if (found := goes_wrong(smaller)) is not None:
                plan, outcome = smaller, found
            else:
                first += many
        many //= 2
    for simpler in _simpler(plan):
        if (found := goes_wrong(simpler)) is not None:
            plan, outcome = simpler, found
    return plan, outcome


def _simpler(plan: Plan) -> list[Plan]:
    return [
        replace(plan, instances=2),
        replace(plan, oddities=0.0),
        replace(plan, poison=-1),
        replace(plan, messages=10),
        replace(plan, lane="inline"),
    ]


def tell(plan: Plan, play: Play) -> str:
    """A history that goes wrong, told so that a person can follow it and repeat it."""
    smallest, outcome = shrink(plan, play)
    return "\n".join(
        [
            f"seed {plan.seed} goes wrong:",
            *(f"  {each}" for each in outcome.wrong[:5]),
            "",
            "The smallest plan that does:",
            str(smallest),
            "",
            "What happened:",
            *outcome.trace.telling(),
            "",
            f"To repeat it: SOLOIST_SIMULATION={plan.seed} ./dev test -n 0 tests/simulation/test_one.py",
            f"To keep it: {smallest.to_json()}",
        ]
    )


def player(backend: Backend) -> Play:
    """Plays plans on this server."""
    return lambda plan: History(backend, plan).play()
