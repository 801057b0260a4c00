"""The tests beside this one are worth something only if they notice: each mutation of the runtime must turn one red.

(Mutations of the scripts are in tests/model/test_mutations.py.)
"""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.kill_points import KILL
from tests.processes import test_kill_points, test_lost_replies, test_takeover
from tests.processes.crew import Crew
from tests.rewriting import PROGRAM, environment


@dataclass(frozen=True)
class Mutation:
    """What is replaced in which file, the test that must notice, and what it says then."""

    name: str
    replaced: tuple[tuple[str, str, str], ...]
    test: Callable[[Crew], None]
    says: str


def killed_between_drain_and_print(crew: Crew) -> None:
    test_kill_points.test_a_command_that_is_killed_or_frozen_there_can_be_repeated(
        crew, "between drain and print", KILL
    )


MUTATIONS = (
    Mutation(
        "blocking on the queue instead of the bell",
        (("runtime/lane.py", "self._instance.keys.bell(self.kind)", "self._instance.keys.pending(self.kind)"),),
        test_takeover.test_a_killed_generator_is_succeeded_long_before_its_lease_ends,
        "messages were lost or doubled",
    ),
    Mutation(
        "client retries switched on",
        (
            (
                "store/link.py",
                "                except NoScriptError:\n",
                "                except (NoScriptError, RedisError, OSError):\n                    self.close()\n",
            ),
        ),
        test_lost_replies.test_a_join_whose_reply_is_lost_is_never_repeated,
        "was taken",
    ),
    Mutation(
        "getErrors confirms before it prints",
        (
            (
                "cli/get_errors.py",
                "for batch in drainer.batches(limit):",
                "for batch in drainer.batches(limit):\n                drainer.confirm(batch)",
            ),
        ),
        killed_between_drain_and_print,
        "assert",
    ),
)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_broken_runtime_is_noticed(crew: Crew, mutation: Mutation) -> None:
    """The same test, which is green with the runtime as it is, is red."""
    crew.program, crew.environment = PROGRAM, environment(*mutation.replaced)

    with pytest.raises(AssertionError, match=mutation.says):
        mutation.test(crew)
