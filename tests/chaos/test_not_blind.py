"""A run of chaos is worth something only if it notices: with each of these mistakes its verdict is negative.

(Most mistakes are looked for where thousands of histories are cheap: tests/simulation. Here are those of whole processes.)
"""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.chaos.breaking import broken, chaos, verdict_of

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]


@dataclass(frozen=True)
class Mistake:
    """What is replaced in which file; the faults under which it shows; and in what."""

    name: str
    replaced: tuple[tuple[str, str, str], ...]
    faults: str
    shows: str
    seed: int = 1


MISTAKES = (
    Mistake(
        "blocking on the queue instead of the bell",
        (("runtime/lane.py", "self._instance.keys.bell(self.kind)", "self._instance.keys.pending(self.kind)"),),
        "kill=2",
        "lost",
    ),
    Mistake(
        "getErrors confirms before it prints",
        (
            (
                "cli/get_errors.py",
                "for batch in drainer.batches(limit):",
                (
                    "for batch in drainer.batches(limit):\n                drainer.confirm(batch)\n"
                    "                import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
                ),
            ),
        ),
        "get-errors=2",
        "lost",
    ),
    Mistake(
        "the publication of a deposed generator is accepted",
        (
            (
                "store/lua/publish.lua",
                "if held[1] ~= named or held[2] ~= id then return superseded('term') end",
                "",
            ),
            (
                "store/lua/publish.lua",
                "if call ~= applied + 1 or first ~= seq + 1 then return superseded() end",
                "",
            ),
            (
                "runtime/played_term.py",
                "def wait_until_permitted(self) -> bool:",
                "def wait_until_permitted(self) -> bool:\n        return True",
            ),
        ),
        "freeze=6",
        "gaps",
    ),
    Mistake(
        "what a dead instance held is thrown away",
        (
            (
                "store/lua/reclaim.lua",
                "local envelopes = in_order(redis.call('LRANGE', keys.claimed, 0, -1))",
                "local envelopes = {}",
            ),
        ),
        "kill=6,die=4",
        "lost",
    ),
)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_gives_a_negative_verdict(tmp_path: Path, mistake: Mistake) -> None:
    """And the same run without it is well: tests/chaos/test_command.py."""
    words = ("--messages", 3000, "--instances", 4, "--seed", mistake.seed, "--faults", mistake.faults, "--json")

    told = verdict_of(chaos("valkey", tmp_path, *words, sources=broken(tmp_path, *mistake.replaced)))

    assert told["verdict"] == "not ok"
    assert told[mistake.shows] > 0, told["wrong"]
