"""Three ways to take a payment once, two of which do not; and two ways to read an outbox. `soloist prove` tells them apart."""

import json
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from soloist import App, Message, Msg, Page, Source

FOLDER = Path(os.environ.get("SHOP_FOLDER") or Path(tempfile.gettempdir()) / "soloist-shop")
DATABASE, BOOKS = FOLDER / "shop.db", FOLDER / "charges.jsonl"

app = App("shop")


@app.handler("naive")
def naive(message: Message) -> None:
    order = message.json()
    charge(order["cents"])
    with database() as db:
        db.execute("INSERT INTO orders VALUES (?, ?)", (order["number"], order["cents"]))


@app.handler("half-right")
def half_right(message: Message) -> None:
    order = message.json()
    with database() as db:
        if db.execute("SELECT 1 FROM inbox WHERE key = ?", (message.key,)).fetchone():
            return  # done before; but what if only one of the next two was?
    with database() as db:
        db.execute("INSERT INTO orders VALUES (?, ?)", (order["number"], order["cents"]))
    with database() as db:
        db.execute("INSERT INTO inbox VALUES (?)", (message.key,))


@app.handler("right")
def right(message: Message) -> None:
    order = message.json()
    charge(order["cents"], key=message.key)  # the provider does nothing about a key that it knows
    with database() as db:  # one transaction: the row in the inbox and the order, or neither
        noted = db.execute("INSERT INTO inbox VALUES (?) ON CONFLICT DO NOTHING", (message.key,))
        if noted.rowcount:
            db.execute("INSERT INTO orders VALUES (?, ?)", (order["number"], order["cents"]))


@app.source(every=1)
def outbox(source: Source[None, int]) -> Page[int]:
    with database() as db:
        rows = db.execute("SELECT * FROM outbox WHERE id > ? ORDER BY id LIMIT 2", (source.cursor or 0,)).fetchall()
    return Page([Msg("right", body, key=f"order-{row}") for row, body, _ in rows], cursor=rows[-1][0] if rows else None)


@app.source(every=1)
def marking() -> Page[None]:
    with database() as db:
        rows = db.execute("SELECT * FROM outbox WHERE NOT is_read ORDER BY id LIMIT 2").fetchall()
        db.executemany("UPDATE outbox SET is_read = 1 WHERE id = ?", [(row,) for row, _, _ in rows])
    return Page([Msg("right", body, key=f"order-{row}") for row, body, _ in rows])


def charge(cents: int, key: str | None = None) -> None:
    """A payment provider, which keeps its books in a file."""
    if key is None or key not in [known for known, _ in charged()]:
        with BOOKS.open("a") as books:
            books.write(json.dumps([key, cents]) + "\n")


def charged() -> list[Any]:
    return [json.loads(line) for line in BOOKS.read_text().splitlines()]


@contextmanager
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(DATABASE)) as db, db:
        yield db


def reset() -> None:
    """The world before each run."""
    FOLDER.mkdir(exist_ok=True)
    BOOKS.write_text("")
    DATABASE.unlink(missing_ok=True)
    with database() as db:
        db.execute("CREATE TABLE orders (number, cents)")
        db.execute("CREATE TABLE inbox (key PRIMARY KEY)")
        db.execute("CREATE TABLE outbox (id INTEGER PRIMARY KEY, body, is_read DEFAULT 0)")
        rows = [(row, json.dumps({"number": row, "cents": 100})) for row in (1, 2, 3)]
        db.executemany("INSERT INTO outbox (id, body) VALUES (?, ?)", rows)


def world() -> dict[str, Any]:
    """The world after it: what must be the same, whoever was killed."""
    with database() as db:
        return {"charges": charged(), "orders": db.execute("SELECT * FROM orders").fetchall()}
