"""examples/outbox: a relay on PostgreSQL with four concurrent writers, and the cursor that loses nothing."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest
from psycopg_pool import ConnectionPool

from examples.outbox import relay, wrong_cursor
from examples.outbox.relay import BEGINNING, Pool, Position
from tests.documents import ROOT, Document
from tests.examples.conftest import Deploy
from tests.examples.outbox_load import relay_under_load

pytestmark = pytest.mark.one_server

INSERT = "INSERT INTO outbox (kind, body) VALUES ('order.created', '{}')"


@pytest.fixture
def pool(database: str) -> Iterator[Pool]:
    with ConnectionPool(database, min_size=1) as made:
        yield made


@pytest.fixture
def late(database: str) -> Iterator[psycopg.Connection]:
    """A transaction that has taken id 1 and is not over; meanwhile another took id 2 and committed."""
    with psycopg.connect(database) as first, psycopg.connect(database, autocommit=True) as second:
        first.execute(INSERT)
        second.execute(INSERT)
        yield first


def test_a_cursor_on_the_id_loses_the_row_that_commits_late(pool: Pool, late: psycopg.Connection) -> None:
    """Ids are taken at INSERT and seen at COMMIT: once 2 was seen, nobody asks for 1 any more."""
    seen = [row.id for row in wrong_cursor.rows_after(pool, 0, 10)]
    late.commit()

    assert seen == [2]
    assert wrong_cursor.rows_after(pool, 2, 10) == []


def test_a_cursor_on_transactions_waits_for_the_one_that_commits_late(pool: Pool, late: psycopg.Connection) -> None:
    """Row 2 is visible, but what comes before it is not settled: both come when it is, in the order of the cursor."""
    assert relay.rows_after(pool, BEGINNING, 10) == []

    late.commit()
    rows = relay.rows_after(pool, BEGINNING, 10)

    assert [row.id for row in rows] == [1, 2]
    assert relay.rows_after(pool, Position(rows[0].xid, rows[0].id), 10) == rows[1:]


def test_a_transaction_that_is_rolled_back_holds_up_nobody(pool: Pool, late: psycopg.Connection) -> None:
    """It is over like any other."""
    late.rollback()

    assert [row.id for row in relay.rows_after(pool, BEGINNING, 10)] == [2]


def test_many_rows_of_one_transaction_come_in_pages(pool: Pool, database: str) -> None:
    """All of them have the same xid: the id is the second half of the cursor."""
    with psycopg.connect(database) as connection:
        for _ in range(5):
            connection.execute(INSERT)
    read, position = [], BEGINNING
    while rows := relay.rows_after(pool, position, 2):
        read += [row.id for row in rows]
        position = Position(rows[-1].xid, rows[-1].id)

    assert read == [1, 2, 3, 4, 5]


def test_the_page_of_the_relay_works_as_it_says(deploy: Deploy, database: str) -> None:
    """The relay, and beside it the writers with the command that stands there."""
    relaying = deploy("outbox", DATABASE_URL=database)
    relaying.start(2)
    (writing,) = re.findall(r"python -m (.*)", Document("examples/outbox/README.md").text)

    environment = {**os.environ, "DATABASE_URL": database}
    wrote = subprocess.run(
        [sys.executable, "-m", *writing.split()], cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    )
    seen = relaying.wait_until_handled(200)

    assert "200 orders" in wrote.stdout
    assert (seen.published, seen.completed) == (200, 200)
    assert relaying.end() == [0, 0]


def test_the_relay_loses_and_doubles_nothing_while_its_generator_is_killed(deploy: Deploy, database: str) -> None:
    """Four writers, 2,000 rows, three kills; the long form is tools/outbox.py."""
    verdict = relay_under_load(deploy("outbox", DATABASE_URL=database), database, rows=2000, kills=3)

    assert (verdict.lost, verdict.doubled, verdict.completed) == (0, 0, 2000), verdict
    assert verdict.terms >= 4
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT count(*) FROM outbox").fetchone() == (0,), "what was published is removed"


def test_the_usual_relay_loses_rows_of_the_same_writers(deploy: Deploy, database: str) -> None:
    """Without a single kill. If this ever passes without a loss, the test above shows nothing."""
    wrong = deploy("examples.outbox.wrong_cursor:app", DATABASE_URL=database)
    verdict = relay_under_load(wrong, database, rows=2000, kills=0)

    print(verdict)
    assert verdict.lost > 0
    assert verdict.doubled == 0
