"""An App beside a web server: each web process is an instance too, and one of them looks after the reminders.

    REDIS_URL=redis://localhost:6379/0 uvicorn examples.beside_starlette.web:web --port 8000

Requests write reminders into a table. One process (whichever is the generator now) reads the table, all of them send. In
place of SQLite think of your own database, and of its cursor: SQLite lets one writer in at a time, so here the ids are seen
in their order; where several write at once they are not (examples/outbox).
"""

import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from soloist import App, Message, Msg, Page, Source

FILE = os.environ.get("REMINDERS", "reminders.db")
TABLE = "CREATE TABLE IF NOT EXISTS reminders (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT, sent INTEGER DEFAULT 0)"

app = App("reminders")


def database() -> closing[sqlite3.Connection]:
    """A connection for one use: requests, source and handlers run in different threads."""
    connection = sqlite3.connect(FILE, isolation_level=None, timeout=30)
    connection.execute(TABLE)
    return closing(connection)


@app.source(every=0.1)
def reminders(source: Source[None, int]) -> Page[int]:
    with database() as connection:
        rows = connection.execute(
            "SELECT id, text FROM reminders WHERE id > ? ORDER BY id LIMIT ?", (source.cursor or 0, source.room)
        ).fetchall()
    return Page(
        [Msg("reminder", text, key=str(number)) for number, text in rows],
        cursor=rows[-1][0] if rows else None,
        more=len(rows) == source.room,
    )


@app.handler("reminder")
def send(message: Message) -> None:
    with database() as connection:
        connection.execute("UPDATE reminders SET sent = sent + 1 WHERE id = ?", (int(message.key),))


async def remind(request: Request) -> JSONResponse:
    text = (await request.body()).decode()
    with database() as connection:
        number = connection.execute("INSERT INTO reminders (text) VALUES (?)", (text,)).lastrowid
    return JSONResponse({"id": number}, status_code=201)


async def listed(_request: Request) -> JSONResponse:
    with database() as connection:
        rows = connection.execute("SELECT id, text, sent FROM reminders ORDER BY id").fetchall()
    return JSONResponse([{"id": number, "text": text, "sent": sent} for number, text, sent in rows])


@asynccontextmanager
async def lifespan(_web: Starlette) -> AsyncIterator[None]:
    async with app.running(os.environ["REDIS_URL"]):  # requests are answered while it joins, and while it leaves
        yield


web = Starlette(
    routes=[Route("/reminders", remind, methods=["POST"]), Route("/reminders", listed)],
    lifespan=lifespan,
)
