"""An outbox relay: whatever is committed to a table in PostgreSQL is published once, by one reader at a time.

    DATABASE_URL=postgresql:///shop soloist run examples.outbox.relay:app --url redis://localhost:6379/0

Why its cursor is a pair, and not the id, is told on the page beside this (README.md).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from psycopg import Connection
from psycopg.rows import class_row
from psycopg_pool import ConnectionPool

from soloist import App, Message, Msg, Page, Source


class Position(NamedTuple):
    """The cursor: everything up to this row was published."""

    xid: int
    id: int


class Row(NamedTuple):
    """A row of the outbox."""

    xid: int
    id: int
    kind: str
    body: Any


Pool: TypeAlias = ConnectionPool[Connection]

BEGINNING = Position(0, 0)

# All transactions below xmin are over: what they wrote is visible, and nothing can appear among them any more. A row of
# a later one waits until that is true of it too, even if it is visible already.
AFTER = """
    SELECT xid::text::bigint AS xid, id, kind, body
    FROM outbox
    WHERE (xid, id) > (%s::text::xid8, %s) AND xid < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY xid, id
    LIMIT %s
"""
UP_TO = "DELETE FROM outbox WHERE (xid, id) <= (%s::text::xid8, %s)"


@contextmanager
def lifespan() -> Iterator[Pool]:
    # A pool, because source and handlers run at the same time, and because it replaces connections that broke.
    with ConnectionPool(os.environ["DATABASE_URL"], min_size=1, check=ConnectionPool.check_connection) as pool:
        yield pool


app = App("outbox", lifespan=lifespan)


@app.source(every=0.05, timeout=10)
def outbox(source: Source[Pool, Position]) -> Iterator[Page[Position]]:
    while rows := rows_after(source.ctx, source.cursor or BEGINNING, source.room):
        reached = Position(rows[-1].xid, rows[-1].id)
        yield Page([Msg(row.kind, row.body, key=str(row.id)) for row in rows], cursor=reached, more=True)
        # Reached only if the page was accepted, together with its cursor: the rows are not needed any more. Killed before
        # this, the next page removes them: the cursor, not the table, says what was published.
        remove_up_to(source.ctx, reached)


def rows_after(pool: Pool, position: Position, limit: int) -> list[Row]:
    with pool.connection() as connection, connection.cursor(row_factory=class_row(Row)) as cursor:
        return cursor.execute(AFTER, (str(position.xid), position.id, limit)).fetchall()


def remove_up_to(pool: Pool, position: Position) -> None:
    with pool.connection() as connection:
        connection.execute(UP_TO, (str(position.xid), position.id))


# In batches, because one transaction for 500 rows costs the database little more than one for a single row.
@app.handler("order.created", batch=500, linger=0.05)
def created(messages: list[Message], ctx: Pool) -> None:
    with ctx.connection() as connection, connection.cursor() as cursor, cursor.copy("COPY handled FROM STDIN") as copy:
        for message in messages:
            copy.write_row((message.id, message.key))
