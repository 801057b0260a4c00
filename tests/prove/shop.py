"""An outside world for the tests: a database and the books of a payment provider, in files that outlive any process."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any


class Shop:
    """What handlers act upon.

    Args:
        folder: where its files are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / "shop.db"
        self.charges = folder / "charges.jsonl"

    def reset(self) -> None:
        """An empty shop."""
        for file in self.folder.iterdir():
            file.unlink()
        with self.transaction() as db:
            db.execute("CREATE TABLE orders (number, cents)")
            db.execute("CREATE TABLE inbox (key PRIMARY KEY)")
            db.execute("CREATE TABLE outbox (id INTEGER PRIMARY KEY, body, is_taken DEFAULT 0)")

    def world(self) -> dict[str, Any]:
        """What is compared."""
        with self.transaction() as db:
            orders = db.execute("SELECT * FROM orders").fetchall()
        return {"charges": self.charged(), "orders": orders}

    def charged(self) -> list[Any]:
        lines = self.charges.read_text().splitlines() if self.charges.exists() else []
        return [json.loads(line) for line in lines]

    def charge(self, cents: int, key: str | None = None) -> None:
        """At a payment provider, which does nothing about a key that it knows."""
        if key is None or key not in [known for known, _ in self.charged()]:
            with self.charges.open("a") as file:
                file.write(json.dumps([key, cents]) + "\n")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.database)) as db, db:
            yield db

    def note(self, what: str) -> None:
        """A trace that a line was run."""
        with (self.folder / "notes").open("a") as file:
            file.write(f"{what}\n")

    def notes(self) -> list[str]:
        file = self.folder / "notes"
        return file.read_text().splitlines() if file.exists() else []
