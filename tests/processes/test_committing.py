"""What is written along with a message, and what is tried again, while handlers are killed and frozen.

`SOLOIST_FAULTS=200 ./dev test -n 0 -s --timeout 600 tests/processes/test_committing.py` is the long run; it prints what it did.
"""

import os
import random
import time
from collections import Counter
from contextlib import closing

from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server
from tests.processes.crew import Crew, Running
from tests.waiting import wait_until

FAULTS = int(os.environ.get("SOLOIST_FAULTS", "12"))
LEASES = ("--lease", 0.6, "--claim-lease", 1, "--max-attempts", 1000)
FROZEN_FOR = 1.6
"""Seconds, longer than the claim lease: what it holds is taken from it meanwhile."""

BETWEEN = 0.25
"""Seconds between two faults: some work has to get done."""


def test_what_is_committed_is_exactly_what_is_completed(crew: Crew) -> None:
    """Each number is added once, whatever becomes of those who add: inline, as tasks and in batches."""
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    app = ("tests.processes.apps:summing", *LEASES)
    crew.start(*app).wait_for("generated")
    handlers = [crew.start(*app, "--role", "handler") for _ in range(4)]
    frozen: dict[Running, float] = {}
    done: Counter[str] = Counter()
    while done.total() < FAULTS:
        time.sleep(BETWEEN)
        for one in [one for one, until in frozen.items() if time.monotonic() > until]:
            one.thaw()
            del frozen[one]
        free = [one for one in handlers if one not in frozen]
        if len(free) < 2:
            continue
        victim = chance.choice(free)
        if chance.random() < 0.5:
            victim.kill()
            handlers.remove(victim)
            handlers.append(crew.start(*app, "--role", "handler"))
            done["kill"] += 1
        else:
            victim.freeze()
            frozen[victim] = time.monotonic() + FROZEN_FOR
            done["freeze"] += 1
    for one in frozen:
        one.thaw()
    (crew.folder / "enough").touch()

    def is_done() -> bool:
        seen = crew.snapshot()
        return seen.completed == seen.published

    wait_until(is_done, within=120, what="everything is completed")
    seen = crew.snapshot()
    with closing(Link(Server(crew.url), timeout=5)) as link:
        total = int(link.command("GET", f"{Keys(crew.namespace).base}data:sum"))
    print(
        f"seed {seed}: {dict(done)}, {seen.published} messages, {seen.reclaimed} reclaimed, {seen.superseded}, sum {total}"
    )
    assert total == sum(range(1, seen.published + 1)), f"seed {seed}"
    assert seen.failed == 0


def test_three_attempts_one_completion(crew: Crew) -> None:
    """One that raised is tried again, and the death in between counts, too."""
    app = ("tests.processes.apps:healing",)
    crew.start(*app)
    one, another = (crew.start(*app, "--role", "handler") for _ in range(2))

    wait_until(lambda: crew.snapshot().completed == 1, within=60, what="it is completed")

    attempts = [line.split()[:3] for line in (crew.folder / "ledger").read_text().splitlines()]
    assert attempts == [["attempt", "one", "1"], ["attempt", "one", "2"], ["attempt", "one", "3"]]
    assert {one.process.poll(), another.process.poll()} == {None, -9}
