"""The simulation is worth something only if it notices: with each of these mistakes the history of that seed goes wrong.

What two whole processes or a getErrors that is killed are needed for is in tests/chaos/test_not_blind.py.
"""

import pytest

from soloist.store.messages import PUBLISH
from soloist.store.script import Script
from tests.model.mutations import MUTATIONS, Mutation
from tests.simulation.backend import Backend, by_virtual_time
from tests.simulation.history import History
from tests.simulation.plan import plan_of

NO_TICK = Mutation(
    "a tick that is not stored",
    ((PUBLISH, "store_tick()\nfor i, name in ipairs(names) do", "for i, name in ipairs(names) do"),),
)

MISTAKES = (
    ("publish without the term check", 544, "A failed: Defect"),
    ("publish without the sequence check", 6, "duplicated: "),
    ("publish that is applied twice", 10, "superseded without need"),
    ("next without the turn check", 15, "superseded without need"),
    ("a completion of one whose claim is gone", 102, "duplicated: "),
    ("next that forgets its stamp", 0, "never settled"),
    ("reclaim without the lease check", 1192, "reclaimed without a reason"),
    ("drain that deletes at once", 2, "lost: "),
    (NO_TICK.name, 3, "ticks of the schedule are missing or repeated: "),
)
"""A mutation of a script, a seed, and what is wrong then."""


@pytest.mark.parametrize(("name", "seed", "says"), MISTAKES, ids=[name for name, *_ in MISTAKES])
def test_a_mistake_makes_a_history_go_wrong(
    backend: Backend, in_virtual_time: None, name: str, seed: int, says: str
) -> None:
    """And the same history without it ends well."""
    assert not History(backend, plan_of(seed)).play().wrong
    with by_virtual_time(mutated(name)):
        wrong = History(backend, plan_of(seed)).play().wrong
    assert any(says in each for each in wrong), wrong


def mutated(name: str) -> dict[Script, str]:
    """The texts of scripts that this mutation breaks."""
    (mutation,) = (each for each in (*MUTATIONS, NO_TICK) if each.name == name)
    texts: dict[Script, str] = {}
    for script, old, new in mutation.replaced:
        text = texts.get(script, script.text)
        assert text.count(old) == 1, f"{script.name}.lua has no single {old!r}"
        texts[script] = text.replace(old, new)
    return texts
