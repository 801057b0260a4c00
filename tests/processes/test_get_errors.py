"""getErrors: every record once, removed only after it was printed (M8, G8)."""

import itertools
import json
import subprocess
from pathlib import Path

import pytest

from tests.processes.crew import ROOT, SOLOIST, Crew
from tests.servers import Store
from tests.store.acting import Instance, ids
from tests.waiting import wait_until

MESSAGES = 1500


@pytest.fixture
def failed(crew: Crew, store: Store) -> Crew:
    """A namespace with so many errors at rest, and no instance alive."""
    instance = Instance(store)
    instance.join()
    instance.beat()
    instance.publish(MESSAGES, size=90)
    while claimed := ids(instance.next(want=500)):
        instance.next(failed=claimed)
    instance.leave()
    assert crew.snapshot().errors == MESSAGES
    return crew


def drainer(crew: Crew) -> "subprocess.Popen[str]":
    words = [*SOLOIST, "getErrors", "--json", *crew.connection]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def numbers(lines: str) -> list[int]:
    return [int(json.loads(line)["id"].split("-")[0]) for line in lines.splitlines()]


@pytest.mark.parametrize("words", [["getErrors"], ["get-errors"], ["--getErrors"], ["-getErrors"], ["errors", "drain"]])
def test_every_spelling_prints_the_bodies_oldest_first_and_removes_them(failed: Crew, words: list[str]) -> None:
    """M8: print all erroneous messages, and exit; the count goes to stderr."""
    drained = failed.command(*words)

    assert drained.returncode == 0
    lines = drained.stdout.splitlines()
    assert len(lines) == MESSAGES
    assert all(80 <= len(line) <= 100 for line in lines)
    assert f"{MESSAGES:,} erroneous messages" in drained.stderr
    assert failed.snapshot().errors == 0
    assert failed.command(*words).stdout == ""


def test_two_at_once_print_every_record_once(failed: Crew) -> None:
    one, other = drainer(failed), drainer(failed)

    printed = numbers(one.communicate(timeout=60)[0]) + numbers(other.communicate(timeout=60)[0])

    assert (one.returncode, other.returncode) == (0, 0)
    assert sorted(printed) == list(range(1, MESSAGES + 1))


def test_a_reader_that_closes_the_pipe_costs_nothing_but_what_it_read(failed: Crew) -> None:
    """`getErrors | head -5` removes five records; the rest is there for the next run."""
    process = drainer(failed)
    assert process.stdout is not None
    head = subprocess.run(["head", "-5"], stdin=process.stdout, capture_output=True, text=True, check=True)
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr is not None
    assert "5 erroneous messages" in process.stderr.read()
    process.stderr.close()

    rest = failed.numbers_in_error_store()

    assert sorted(numbers(head.stdout) + rest) == list(range(1, MESSAGES + 1))


def test_what_a_killed_drainer_did_not_confirm_is_printed_by_the_next_although_no_instance_lives(failed: Crew) -> None:
    """G8: printed twice only if it died between flush and confirm; never lost."""
    process = drainer(failed)
    assert process.stdout is not None
    first = "".join(itertools.islice(process.stdout, 20))
    process.kill()
    process.communicate()

    rest = failed.numbers_in_error_store()

    assert set(numbers(first)) | set(rest) == set(range(1, MESSAGES + 1))
    assert len(rest) == len(set(rest))
    assert failed.snapshot().errors == 0


def test_a_limit_prints_and_removes_so_many(failed: Crew) -> None:
    drained = failed.command("getErrors", "--limit", "7")

    assert len(drained.stdout.splitlines()) == 7
    assert failed.snapshot().errors == MESSAGES - 7


def test_an_output_that_cannot_be_written_loses_nothing(failed: Crew) -> None:
    """A full disk: exit 4, a sentence, and every record is still there."""
    with Path("/dev/full").open("w") as full:
        words = [*SOLOIST, "getErrors", *failed.connection]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT, timeout=60, check=False)

    assert done.returncode == 4
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    wait_until(lambda: failed.snapshot().errors == MESSAGES, what="all are at rest again")


def test_an_empty_namespace_is_said_to_be_empty(crew: Crew) -> None:
    drained = crew.command("getErrors")

    assert drained.returncode == 0
    assert drained.stdout == ""
    assert "is empty" in drained.stderr
