"""Processes that are no instances publish through a connection that fails: each message once. See tools/publishing.py."""

import random

from soloist.chaos.proxy import FaultProxy
from tests.processes.crew import Crew
from tests.processes.publishing_trial import play

PROCESSES, MESSAGES = 4, 400


def test_whatever_becomes_of_the_replies_each_message_is_published_and_handled_once(crew: Crew) -> None:
    """One by one, many at a time, delayed, unique; whoever was told an id, that one was handled, and no other."""
    port = int(crew.url.rpartition(":")[2].split("/")[0])
    with FaultProxy("127.0.0.1", port) as proxy:
        outcome = play(crew, proxy, PROCESSES, MESSAGES, random.randrange(2**32))

    print(f"seed {outcome.seed}: {dict(outcome.faults)}, {outcome.published} published")
    assert not outcome.wrong, f"seed {outcome.seed}: {outcome.wrong}"
    assert outcome.faults.total() >= 5
