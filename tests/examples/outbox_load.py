"""A relay under load: four writers at once, its generator killed now and then, and the verdict. Used by tools/outbox.py.

The generator handles, too, so a message may be in the hands of every one that is killed: `max_attempts` is above the
number of kills, or such a message would end in the error store as poison.
"""

import threading
import time
from collections import Counter
from dataclasses import dataclass

import psycopg

from examples.outbox.writers import place_order, write_all
from tests.examples.deployment import Deployment
from tests.waiting import wait_until

INSTANCES = 3
WRITERS = 4


@dataclass(frozen=True)
class Verdict:
    """What became of the rows.

    Attributes:
        lost: rows that no handler was given.
        doubled: rows that were published more than once: as messages with different ids.
        again: messages that a handler was given once more, since their first handler was killed.
    """

    rows: int
    kills: int
    lost: int
    doubled: int
    again: int
    completed: int
    terms: int
    seconds: float


def relay_under_load(relay: Deployment, database: str, rows: int, kills: int, within: float = 60) -> Verdict:
    """Write so many rows, kill the generator so many times while they are written, and count what was handled."""
    begun = time.monotonic()
    relay.give(SOLOIST_MAX_ATTEMPTS=str(kills + 2))
    relay.start(INSTANCES)
    shares = [(rows - 1) // (kills + 1)] * kills
    shares.append(rows - 1 - sum(shares))  # the last row comes when all others are there
    for share in shares[:-1]:
        before = relay.snapshot().published
        writing = threading.Thread(target=write_all, args=(database, share, WRITERS))
        writing.start()
        wait_until(
            lambda some=before + share // 4: relay.snapshot().published >= some,  # type: ignore[misc]  # bound at once
            within=within,
            what="some of this share is published",
        )
        relay.kill_generator()
        relay.start()
        writing.join()
    write_all(database, shares[-1], WRITERS)
    with psycopg.connect(database, autocommit=True) as connection:
        place_order(connection, "the last", 0)
        wait_until(lambda: str(rows) in _keys(connection), within=within, what="the last row is handled")
        seen = relay.wait_until_handled(0, within=within)
        terms = wait_until(lambda: _term(relay), within=within, what="somebody generates")
        given = connection.execute("SELECT message, key FROM handled").fetchall()
    messages: dict[str, str] = dict(given)
    of_key = Counter(messages.values())
    return Verdict(
        rows=rows,
        kills=kills,
        lost=len({str(number) for number in range(1, rows + 1)} - of_key.keys()),
        doubled=sum(count - 1 for count in of_key.values()),
        again=len(given) - len(messages),
        completed=seen.completed,
        terms=terms,
        seconds=time.monotonic() - begun,
    )


def _keys(connection: "psycopg.Connection") -> set[str]:
    return {key for (key,) in connection.execute("SELECT key FROM handled ORDER BY key::bigint DESC LIMIT 1")}


def _term(relay: Deployment) -> int:
    """The number of the present term; 0: there is none at this moment."""
    term = relay.snapshot().term
    return term.number if term is not None else 0
