"""A handler that holds messages is killed, frozen, slow or holds the interpreter lock."""

import json
import time

from tests.processes.crew import Crew
from tests.waiting import wait_until

GATED = "tests.processes.apps:gated"
LONG_LEASE = ("--lease", 30, "--claim-lease", 30)


def began(crew: Crew, number: int) -> list[str]:
    return [line for line in crew.ledger() if line.startswith(f"began {number} ")]


def test_what_a_killed_handler_held_is_handled_again_long_before_its_lease_ends(crew: Crew) -> None:
    """U2, G6: a message in progress has a holder; when the holder is gone, another takes it over."""
    generator = crew.start(GATED, *LONG_LEASE)
    victim = crew.start(GATED, *LONG_LEASE, "--role", "handler")
    wait_until(lambda: began(crew, 3), what="message 3 is in hand")
    other = crew.start(GATED, *LONG_LEASE, "--role", "handler")
    wait_until(lambda: other.told("handled"), what="the other handles too")

    victim.kill()
    wait_until(lambda: len(began(crew, 3)) == 2, within=10, what="message 3 is begun again")
    (crew.folder / "gate").touch()

    assert began(crew, 3)[1].split()[2] == "2", "the second attempt is counted as such"
    wait_until(lambda: generator.told("reclaimed") or other.told("reclaimed"), what="somebody tells of it")
    generator.kill()
    seen = crew.wait_until_handled(1)
    assert seen.reclaimed >= 1
    assert seen.completed == seen.published


def test_messages_behind_a_slow_one_are_given_back_and_handled_by_others(crew: Crew) -> None:
    """Nobody hoards: what waits behind a message that takes long is given back within a moment."""
    crew.start(GATED, *LONG_LEASE)
    crew.start(GATED, *LONG_LEASE, "--role", "handler")
    wait_until(lambda: began(crew, 3), what="message 3 is in hand")
    crew.start(GATED, *LONG_LEASE, "--role", "handler")

    wait_until(lambda: crew.snapshot().completed >= 50, what="fifty others are completed meanwhile")

    assert len(began(crew, 3)) == 1
    assert crew.snapshot().reclaimed == 0


def test_the_completion_of_a_handler_frozen_past_its_claim_lease_is_refused(crew: Crew) -> None:
    """G4: who lost its claim cannot complete; it is reborn under a new id, with its old number."""
    options = (GATED, "--lease", 1, "--claim-lease", 1.5)
    generator = crew.start(*options)
    victim = crew.start(*options, "--role", "handler")
    wait_until(lambda: began(crew, 3), what="message 3 is in hand")
    crew.start(*options, "--role", "handler")

    victim.freeze()
    wait_until(lambda: len(began(crew, 3)) == 2, what="message 3 is begun again")
    (crew.folder / "gate").touch()
    victim.thaw()

    victim.wait_for("superseded")
    victim.wait_for("joined", count=2)
    first, second = victim.told("joined")
    assert first["number"] == second["number"]
    assert first["instance"] != second["instance"]
    generator.kill()
    seen = crew.wait_until_handled(1)
    assert seen.completed == seen.published


def test_a_handler_that_works_five_claim_leases_long_keeps_its_message(crew: Crew) -> None:
    """G7: no redelivery while the holder lives, however long it works."""
    lease = 1.0
    options = (GATED, "--lease", lease, "--claim-lease", lease)
    crew.start(*options)
    holder = crew.start(*options, "--role", "handler")
    wait_until(lambda: began(crew, 3), what="message 3 is in hand")
    other = crew.start(*options, "--role", "handler")

    since = time.monotonic()
    wait_until(lambda: time.monotonic() - since > 5 * lease, what="five claim leases have passed")
    (crew.folder / "gate").touch()
    wait_until(lambda: any(line.startswith("ended 3 ") for line in crew.ledger()), what="message 3 is done")
    wait_until(lambda: holder.told("handled"), what="its completion is recorded")

    assert len(began(crew, 3)) == 1
    assert not holder.told("superseded")
    assert not other.told("reclaimed")
    assert crew.snapshot().superseded == {"publish": 0, "next": 0, "beat": 0}


def test_code_that_holds_the_interpreter_lock_past_the_claim_lease_is_treated_as_frozen(crew: Crew) -> None:
    """The limit of G7: no heartbeat can be sent meanwhile. The message is handled elsewhere, its completion refused."""
    options = ("tests.processes.apps:locking", "--lease", 1, "--claim-lease", 1)
    generator = crew.start(*options)
    holder = crew.start(*options, "--role", "handler", environment={"LOCK_SECONDS": "3"})
    wait_until(lambda: began(crew, 3), what="message 3 is in hand")
    crew.start(*options, "--role", "handler", environment={"LOCK_SECONDS": "0"})

    wait_until(lambda: len(began(crew, 3)) == 2, what="message 3 is begun again elsewhere")
    wait_until(
        lambda: any(line.startswith("let_go 3 ") for line in crew.ledger()), within=60, what="the lock is let go"
    )

    holder.wait_for("superseded")
    holder.wait_for("joined", count=2)
    generator.kill()
    seen = crew.wait_until_handled(1)
    assert seen.completed == seen.published


def test_a_message_that_kills_its_handlers_goes_to_the_error_store_and_its_neighbours_are_completed(crew: Crew) -> None:
    """Poison: after max_attempts deaths it is failed; the others that died with it are innocent."""
    options = ("tests.processes.apps:poisonous", *LONG_LEASE, "--max-attempts", 3)
    generator = crew.start(*options)
    for death in range(1, 4):
        victim = crew.start(*options, "--role", "handler")
        wait_until(lambda: len(crew.ledger()) == death, what=f"death {death}")  # noqa: B023
        victim.process.wait(timeout=30)
    survivor = crew.start(*options, "--role", "handler")
    wait_until(lambda: crew.snapshot().failed == 1, what="it is failed")
    generator.kill()
    seen = crew.wait_until_handled(5)

    assert survivor.process.poll() is None
    assert crew.numbers_in_error_store() == [5]
    assert seen.completed == seen.published - 1


def test_whatever_a_handler_or_a_source_raises_the_instances_go_on(crew: Crew) -> None:
    """A message whose handler raises is failed, with a reason; the next tick of a source comes all the same."""
    app = "tests.processes.apps:raising"
    generator = crew.start(app)
    handler = crew.start(app, "--role", "handler")

    wait_until(lambda: crew.snapshot().completed >= 20, what="the others are completed")

    assert (crew.folder / "exited").exists()
    assert generator.process.poll() is None
    assert handler.process.poll() is None
    drained = crew.command("getErrors", "--json")
    types = [json.loads(line)["type"] for line in drained.stdout.splitlines()]
    assert types == ["Speechless", "CancelledError", "SystemExit", "KeyboardInterrupt", "ValueError"]
