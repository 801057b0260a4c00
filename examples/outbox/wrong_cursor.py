"""The relay as it is usually written first, with the serial id for a cursor. **It loses rows**: do not copy it.

A transaction that took id 7 may commit after the one that took id 8. Whoever reads in between sees 8 without 7, stores 8 as
its cursor, and never looks at 7 again. One writer at a time hides it; four of them lose some rows in a hundred.
"""

from psycopg.rows import class_row

from examples.outbox.relay import Pool, Row, created, lifespan
from soloist import App, Msg, Page, Source

AFTER = "SELECT xid::text::bigint AS xid, id, kind, body FROM outbox WHERE id > %s ORDER BY id LIMIT %s"

app = App("outbox-wrong", lifespan=lifespan)
app.handler("order.created", batch=500, linger=0.05)(created)


@app.source(every=0.05, timeout=10)
def outbox(source: Source[Pool, int]) -> Page[int]:
    rows = rows_after(source.ctx, source.cursor or 0, source.room)
    return Page(
        [Msg(row.kind, row.body, key=str(row.id)) for row in rows],
        cursor=rows[-1].id if rows else None,
        more=len(rows) == source.room,
    )


def rows_after(pool: Pool, last: int, limit: int) -> list[Row]:
    with pool.connection() as connection, connection.cursor(row_factory=class_row(Row)) as cursor:
        return cursor.execute(AFTER, (last, limit)).fetchall()
