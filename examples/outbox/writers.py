"""The application beside the relay: several writers at once, each order in one transaction with its row in the outbox.

    DATABASE_URL=postgresql:///shop python -m examples.outbox.writers --rows 200 --writers 4

Some of them commit in another order than they took their ids: that is what the relay must cope with.
"""

import argparse
import os
import random
import threading
import time

import psycopg
from psycopg.types.json import Jsonb

LONGEST_WORK = 0.004
"""Seconds. What a transaction does between its INSERT and its COMMIT: a price looked up, another table, the network."""


def place_order(connection: psycopg.Connection, customer: str, cents: int) -> None:
    with connection.transaction():
        connection.execute("INSERT INTO orders (customer, cents) VALUES (%s, %s)", (customer, cents))
        body = {"customer": customer, "cents": cents}
        connection.execute("INSERT INTO outbox (kind, body) VALUES ('order.created', %s)", (Jsonb(body),))
        time.sleep(random.uniform(0, LONGEST_WORK))


def write(url: str, rows: int, name: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for number in range(rows):
            place_order(connection, name, number)


def write_all(url: str, rows: int, writers: int) -> None:
    """So many rows in all, by so many writers at a time; returns when they are committed."""
    shares = [rows // writers + (at < rows % writers) for at in range(writers)]
    threads = [threading.Thread(target=write, args=(url, share, f"writer {at}")) for at, share in enumerate(shares)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> None:
    options = argparse.ArgumentParser(description="Write orders, each with its row in the outbox.")
    options.add_argument("--rows", type=int, default=2000)
    options.add_argument("--writers", type=int, default=4)
    given = options.parse_args()
    write_all(os.environ["DATABASE_URL"], given.rows, given.writers)
    print(f"{given.rows} orders were placed by {given.writers} writers")


if __name__ == "__main__":
    main()
