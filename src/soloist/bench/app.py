"""The application that is measured: the default one, with a start and an end, whose handler keeps a ledger."""

import random
from collections.abc import Iterator
from itertools import repeat, starmap
from pathlib import Path

from soloist.app import App
from soloist.bench.bodies import maker
from soloist.bench.ledger import marker
from soloist.bench.task import given
from soloist.demo import ERROR_RATE
from soloist.errors import Reject
from soloist.message import Message

task = given()
app = App("bench", generator_handles=False)
mark = marker(Path(task.folder), task.in_all) if task.is_marked else None


def bodies() -> Iterator[str | None]:
    """What the source publishes: at once what is to lie pending, the rest when the gate opens."""
    make = maker(task.size)
    yield from starmap(make, repeat((), task.fill))
    yield None  # ends the page: what is in it is published before the wait
    task.wait_for_the_gate()
    yield from starmap(make, repeat((), task.messages))


made = bodies()


@app.generator(every=0)
def produce() -> str | None:
    return next(made, None)


@app.handler
def handle(message: Message) -> None:
    if mark is not None:
        mark(message)
    if random.random() < ERROR_RATE:
        raise Reject("found erroneous")
