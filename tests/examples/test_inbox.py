"""examples/inbox: an effect in PostgreSQL happens once, however often the handler is started."""

import json
from collections import Counter
from pathlib import Path

import psycopg
import pytest

from tests.examples.conftest import Deploy
from tests.processes.crew import ROOT
from tests.waiting import wait_until

pytestmark = pytest.mark.one_server

Balances = dict[str, int]


def paid(database: str) -> Balances:
    with psycopg.connect(database) as connection:
        return dict(connection.execute("SELECT name, cents FROM accounts").fetchall())


def owed(file: Path) -> Balances:
    sums: Counter[str] = Counter()
    for line in file.read_text().splitlines():
        payment = json.loads(line)
        sums[payment["account"]] += payment["cents"]
    return dict(sums)


def test_the_example_pays_what_its_file_says(deploy: Deploy, database: str) -> None:
    """As the page says: two instances, the payments beside it."""
    file = ROOT / "examples/inbox/payments.jsonl"
    bank = deploy("inbox", DATABASE_URL=database)
    bank.start(2)

    seen = bank.wait_until_handled(len(file.read_text().splitlines()))

    assert paid(database) == owed(file)
    assert seen.failed == 0
    assert bank.end() == [0, 0]


def test_a_handler_killed_between_commit_and_completion_pays_once(
    deploy: Deploy, database: str, tmp_path: Path
) -> None:
    """The message is handled again, since it was not completed; its key is in the inbox, since its effect was committed."""
    payments, kills = 60, 4
    file = tmp_path / "payments.jsonl"
    lines = [
        json.dumps({"id": f"pay-{n}", "account": f"account-{n % 3}", "cents": 2**n}) for n in range(1, payments + 1)
    ]
    file.write_text("".join(f"{line}\n" for line in lines))
    bank = deploy(
        "tests.examples.inbox_killed:app",
        DATABASE_URL=database,
        PAYMENTS=str(file),
        FOLDER=str(tmp_path),
        KILLED=str(payments // kills),
    )
    bank.start(2)
    for killed in range(1, kills + 1):
        wait_until(lambda many=killed: len(bank.ended) >= many, what=f"{killed} handlers are killed")  # type: ignore[misc]  # bound at once
        bank.start()

    seen = bank.wait_until_handled(payments)
    begun = (tmp_path / "begun").read_text().splitlines()

    assert paid(database) == owed(file)
    assert (seen.completed, seen.failed) == (payments, 0)
    assert len(begun) >= payments + kills, "it was never started again: this shows nothing"
