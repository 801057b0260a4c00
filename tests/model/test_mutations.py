"""The model is worth something only if it notices: each mutation of a script must break a rule within a few histories."""

import hashlib

import pytest

from tests.model.harness import History
from tests.model.invariants import Violation
from tests.model.mutations import MUTATIONS, Mutation
from tests.servers import Store

pytestmark = pytest.mark.one_server

TELLING = (500_001, 500_033, 500_011, 500_027, 500_004, 500_007, 500_028, 500_036, 500_045, 500_058)
"""Seeds of histories in which what is rare happens early. They save time: the others follow."""

SEEDS = (*TELLING, *range(500_000, 500_100))
LENGTH = 250


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_the_model_notices(store: Store, monkeypatch: pytest.MonkeyPatch, mutation: Mutation) -> None:
    """A script that lacks one of its checks breaks a rule of the model."""
    for script, old, new in mutation.replaced:
        assert script.text.count(old) == 1, f"{script.name}.lua has no single {old!r}"
        text = script.text.replace(old, new)
        monkeypatch.setattr(script, "text", text)
        monkeypatch.setattr(script, "sha", hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())
    for histories, seed in enumerate(SEEDS, 1):
        try:
            History(store, seed, rolls_back=seed % 2 == 0).run(LENGTH)
        except Violation as found:
            print(f"{histories} histories: {str(found).splitlines()[0]}")
            return
    pytest.fail(f"{len(SEEDS)} histories, and nothing was noticed")
