"""errors list|show|requeue|delete|export, pause|resume, handover: on real instances."""

import json

import pytest

from tests.processes.crew import Crew
from tests.waiting import wait_until

MESSAGES = 300


@pytest.fixture
def failed(crew: Crew) -> Crew:
    """A namespace with errors at rest, and no instance alive."""
    everyone = [crew.start("--interval", 0, "--error-rate", 1, "--count", MESSAGES, "--until-empty") for _ in range(2)]
    for running in everyone:
        assert running.process.wait(timeout=60) == 0
    return crew


def test_looking_at_errors_removes_none(failed: Crew) -> None:
    """The list begins with the newest; one is shown in full; all are exported, oldest first."""
    exported = [json.loads(line) for line in failed.command("errors", "export").stdout.splitlines()]
    listed = [
        json.loads(line) for line in failed.command("errors", "list", "--json", "--limit", "3").stdout.splitlines()
    ]
    shown = failed.command("errors", "show", listed[0]["id"])

    assert len(exported) == MESSAGES
    assert listed == exported[:-4:-1]
    assert listed[0]["body"] in shown.stdout
    assert "reason: found erroneous" in shown.stdout
    assert len(failed.command("errors", "list").stdout.splitlines()) == 20
    assert failed.command("errors", "show", "nothing").returncode == 1
    assert failed.snapshot().errors == MESSAGES


def test_requeued_messages_are_handled_again(failed: Crew) -> None:
    """Every one of them, once: the numbers in the error store are the same as before."""
    one = json.loads(failed.command("errors", "list", "--json", "--limit", "1").stdout)["id"]
    assert failed.command("errors", "requeue", one, "nothing").returncode == 1
    assert json.loads(failed.command("errors", "requeue", "--all", "--json").stdout) == {"requeued": MESSAGES - 1}
    assert failed.snapshot().pending == MESSAGES

    for _ in range(2):
        failed.start("--interval", 3600, "--error-rate", 1, "--count", MESSAGES)
    failed.wait_until_handled(MESSAGES)

    assert sorted(failed.numbers_in_error_store()) == list(range(1, MESSAGES + 1))


def test_deleted_records_are_gone_and_stay_counted_as_failed(failed: Crew) -> None:
    assert failed.command("errors", "delete").returncode == 2
    assert failed.command("errors", "delete", "--all").stdout == f"{MESSAGES} deleted\n"

    seen = failed.snapshot()
    assert (seen.errors, seen.failed) == (0, MESSAGES)


def test_of_a_paused_kind_nothing_is_handled_until_it_is_resumed(crew: Crew) -> None:
    """Kept in Redis: it holds for every instance, also for those that come later."""
    crew.start("--interval", 0.02)
    handler = crew.start("--interval", 0.02)
    handler.wait_for("handled")

    assert crew.command("pause").returncode == 0
    wait_until(lambda: crew.snapshot().claimed == 0, what="what was claimed is finished")
    crew.start("--interval", 0.02)
    paused = crew.snapshot()
    wait_until(lambda: crew.snapshot().pending >= paused.pending + 20, what="messages pile up")
    assert crew.snapshot().completed + crew.snapshot().failed == paused.completed + paused.failed
    assert "paused: default" in crew.command("status").stdout

    assert crew.command("resume", "default").returncode == 0
    wait_until(lambda: crew.snapshot().pending <= 1, what="it is worked off")
    assert crew.command("pause", "nonsense").returncode == 2


def test_the_generator_hands_over_without_a_publication_refused(crew: Crew) -> None:
    """It goes on as a handler; numbers go on without a gap."""
    options = ("--interval", 0.01, "--error-rate", 1, "--lease", 2, "--count", 400)
    first = crew.start(*options)
    first.wait_for("generated")
    assert crew.command("handover").returncode == 1, "nobody is in line"
    second = crew.start(*options)
    wait_until(lambda: crew.snapshot().line == [second.id], what="somebody is in line")

    done = crew.command("handover")

    assert done.returncode == 0, done.stderr
    assert "term 2: #2 generates now" in done.stdout
    first.wait_for("handled")
    seen = crew.wait_until_handled(400)
    assert seen.superseded == {"publish": 0, "next": 0, "beat": 0}
    assert sorted(crew.numbers_in_error_store()) == list(range(1, 401))
