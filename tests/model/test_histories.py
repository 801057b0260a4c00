"""Whatever is lost, late, repeated, expired or rolled back: the rules of the model hold after every step.

`SOLOIST_MODEL_HISTORIES=5000 ./dev test tests/model/test_histories.py` is a long run: so many histories per part.
"""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.model.chosen import Chosen
from tests.model.harness import History
from tests.servers import Store

HISTORIES = int(os.environ.get("SOLOIST_MODEL_HISTORIES", "8"))
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


@settings(
    derandomize=True,
    database=None,
    max_examples=100,
    deadline=None,
    # The namespace is emptied by each history; a history is long on purpose.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(choices=st.binary(min_size=300, max_size=1200), length=st.integers(10, 60), seed=st.integers(0, 19))
def test_histories_by_hypothesis(store: Store, choices: bytes, length: int, seed: int) -> None:
    """Short histories, chosen by Hypothesis: one that breaks a rule is shrunk to the few steps that it takes."""
    History(store, seed, rolls_back=seed % 2 == 0, chance=Chosen(choices)).run(length)
