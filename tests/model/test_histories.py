"""Whatever is lost, late, repeated, expired or rolled back: the rules of the model hold after every step.

`SOLOIST_MODEL_HISTORIES=5000 ./dev test tests/model/test_histories.py` is a long run: so many histories per part.
"""

import os

import pytest

from tests.model.harness import History
from tests.servers import Store

HISTORIES = int(os.environ.get("SOLOIST_MODEL_HISTORIES", "10"))
PARTS = 5
LENGTH = 250


@pytest.mark.timeout(60 + 4 * HISTORIES)
@pytest.mark.parametrize("part", range(PARTS))
def test_no_history_breaks_a_rule(store: Store, part: int) -> None:
    """At least 20,000 steps in all, on both servers; a failure names its seed and shows its steps."""
    taken = 0
    for seed in range(part * 1_000_000, part * 1_000_000 + HISTORIES):
        history = History(store, seed, rolls_back=seed % 2 == 0)
        history.run(LENGTH)
        taken += history.taken
    print(f"{taken} steps in {HISTORIES} histories")
    assert taken >= HISTORIES * LENGTH
