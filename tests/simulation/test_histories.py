"""Whatever happens to instances, calls, connections and the server: nothing is lost, nothing is doubled, and it comes back.

Real instances (all of their threads) and the real scripts on a real server, in virtual time; docs/decisions/0023. A history
that goes wrong is told with as few faults as it takes, and with the line that repeats it.

`SOLOIST_SIMULATIONS=100000 ./dev test tests/simulation/test_histories.py` is a long run: so many histories in all.
"""

import os

import pytest

from tests.simulation.backend import Backend
from tests.simulation.history import History
from tests.simulation.plan import plan_of
from tests.simulation.shrinking import player, tell

HISTORIES = int(os.environ.get("SOLOIST_SIMULATIONS", "2000" if os.environ.get("CI") else "500"))
PARTS = 5
EACH = -(-HISTORIES // (2 * PARTS))
"""Histories of one part on one server."""


@pytest.mark.timeout(60 + EACH)
@pytest.mark.parametrize("part", range(PARTS))
def test_every_history_ends_well(
    backend: Backend, in_virtual_time: None, part: int, request: pytest.FixtureRequest
) -> None:
    """In CI 2,000 histories in all, on both servers, each of another seed."""
    first = (part + PARTS * ("redis" in request.node.name)) * 1_000_000
    calls = recovered = 0
    for seed in range(first, first + EACH):
        plan = plan_of(seed)
        outcome = History(backend, plan).play()
        calls += outcome.calls
        recovered += outcome.recovered
        if outcome.wrong:
            pytest.fail(tell(plan, player(backend)))
    print(f"{EACH} histories, {calls} calls, {recovered} messages recovered")
    assert recovered > 0
