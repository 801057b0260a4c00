"""An effect outside of Redis that happens once: the handler notes the message's key in the transaction of its effect.

    DATABASE_URL=postgresql:///bank soloist run examples.inbox.payments:app --url redis://localhost:6379/0

The payments come from a file, one JSON object a line: PAYMENTS names it, else payments.jsonl beside this.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import msgspec
from psycopg import Connection
from psycopg_pool import ConnectionPool

from soloist import App, Message, Msg, Page, Source

Pool: TypeAlias = ConnectionPool[Connection]

FILE = Path(os.environ.get("PAYMENTS", Path(__file__).with_name("payments.jsonl")))


class Payment(msgspec.Struct):
    id: str
    account: str
    cents: int


@contextmanager
def lifespan() -> Iterator[Pool]:
    with ConnectionPool(os.environ["DATABASE_URL"], min_size=1, check=ConnectionPool.check_connection) as pool:
        yield pool


app = App("payments", lifespan=lifespan)


@app.source(every=0.2)
def payments(source: Source[Pool, int]) -> Page[int]:
    """The cursor is a byte offset: a line that is still being written is read when its end is there."""
    offset = source.cursor or 0
    with FILE.open("rb") as file:
        file.seek(offset)
        lines = [line for line in islice(file, source.room) if line.endswith(b"\n")]
    messages = [Msg("payment", line, key=msgspec.json.decode(line, type=Payment).id) for line in lines]
    reached = offset + sum(map(len, lines)) if lines else None  # None: the stored one stays, and nothing is written
    return Page(messages, cursor=reached, more=len(lines) == source.room)


@app.handler("payment")
def pay(message: Message, ctx: Pool) -> None:
    payment = message.json(Payment)
    with ctx.connection() as connection:  # one transaction: the row in the inbox and the effect, or neither
        noted = connection.execute("INSERT INTO inbox (key) VALUES (%s) ON CONFLICT DO NOTHING", (message.key,))
        if noted.rowcount == 0:
            return  # an earlier attempt committed, and its instance died before the message was completed
        connection.execute(
            "INSERT INTO accounts (name, cents) VALUES (%s, %s) "
            "ON CONFLICT (name) DO UPDATE SET cents = accounts.cents + excluded.cents",
            (payment.account, payment.cents),
        )
