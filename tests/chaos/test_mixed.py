"""Everything at once, by several seeds: what `soloist chaos` does by default, for a minute each in CI.

`SOLOIST_CHAOS_SEEDS=1,2,3 SOLOIST_CHAOS_SECONDS=600 ./dev test tests/chaos/test_mixed.py` is a long run.
"""

import os
from pathlib import Path

import pytest

from tests.chaos.breaking import chaos, verdict_of
from tests.servers import KINDS, Kind

IS_CI = os.environ.get("CI") == "true"
SEEDS = [int(seed) for seed in os.environ.get("SOLOIST_CHAOS_SEEDS", "1,2,3" if IS_CI else "1").split(",")]
SECONDS = float(os.environ.get("SOLOIST_CHAOS_SECONDS", "60" if IS_CI else "20"))


@pytest.mark.timeout(SECONDS + 240)
@pytest.mark.one_server
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_or_doubled_whatever_happens(tmp_path: Path, kind: Kind, seed: int) -> None:
    """G1 to G4, G8, G9: the verdict is ok, on a machine that is busy with other tests meanwhile."""
    words = ("--messages", 20_000, "--instances", 5, "--seed", seed, "--seconds", SECONDS, "--json")

    told = verdict_of(chaos(kind, tmp_path, *words))

    assert told["verdict"] == "ok", told["wrong"]
    assert told["published"] == 20_000
    assert sum(told["faults"].values()) > SECONDS / 6
