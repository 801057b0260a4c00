"""The generator ends, freezes or is cut off: another takes its part, and nothing is published twice or left out."""

from typing import Any

from tests.kill_points import STOP, AtPoint
from tests.processes.crew import Crew, Running
from tests.rewriting import PROGRAM
from tests.waiting import wait_until

LONG_LEASE = ("--lease", 30, "--claim-lease", 30)
"""Far longer than the test waits: whoever takes over before has noticed the last will, not the lease."""

PATIENT = ("--error-rate", 1, "--interval", 0.01)
"""Every message ends in the error store under its number: publications and completions in one ledger."""


def test_a_killed_generator_is_succeeded_long_before_its_lease_ends(crew: Crew) -> None:
    """M4, G5: the kernel closes a dead process's socket, and the others see it."""
    first, second, third = (crew.start(*LONG_LEASE, *PATIENT, "--count", 400) for _ in range(3))
    first.wait_for("generated")
    wait_until(lambda: crew.snapshot().published >= 100, what="a hundred are published")

    first.kill()
    elected = wait_until(lambda: second.told("elected") or third.told("elected"), within=10, what="a successor")

    assert elected[0]["term"] == 2
    seen = crew.wait_until_handled(400)
    assert seen.superseded == {"publish": 0, "next": 0, "beat": 0}
    assert sorted(crew.numbers_in_error_store()) == list(range(1, 401))


def test_takeover_after_takeover_leaves_no_gap_and_no_double(crew: Crew) -> None:
    """G2, G3: numbers go on across terms, whoever is killed."""
    everyone = [crew.start(*LONG_LEASE, *PATIENT) for _ in range(3)]
    for _ in range(3):
        generator = crew.generator_of(everyone)
        published = crew.snapshot().published
        wait_until(lambda: crew.snapshot().published > published + 20, what="this generator publishes")  # noqa: B023
        everyone.append(crew.start(*LONG_LEASE, *PATIENT))
        wait_until(lambda: len(crew.snapshot().line) == 2, what="two are in line")
        everyone[-1].wait_for("joined")
        generator.kill()
        everyone.remove(generator)

    wait_until(lambda: crew.generator_of(everyone).told("generated"), what="the fourth generator publishes")
    for running in everyone:
        running.process.terminate()
    assert [running.process.wait(timeout=60) for running in everyone] == [0, 0, 0]
    published = crew.snapshot().published
    crew.start(*LONG_LEASE, *PATIENT, "--role", "handler")
    crew.wait_until_handled(published)

    assert sorted(crew.numbers_in_error_store()) == list(range(1, published + 1))
    assert_terms_follow_each_other([event for running in crew.running for event in running.events])


def test_a_frozen_generator_is_deposed_and_goes_on_as_a_handler_under_the_same_id(crew: Crew) -> None:
    """G1: its lease is over; what it sends when it wakes is refused and counted. Its presence is not over."""
    options = ("--lease", 1, "--claim-lease", 60, *PATIENT)
    first, second, third = (crew.start(*options) for _ in range(3))
    first.wait_for("generated")
    identity = first.id

    first.freeze()
    wait_until(lambda: second.told("elected") or third.told("elected"), what="a successor")
    first.thaw()

    first.wait_for("superseded")
    first.wait_for("handled")
    assert len(first.told("joined")) == 1
    assert first.id == identity
    assert [each.end() for each in (first, second, third)] == [0, 0, 0]
    seen = crew.snapshot()
    assert seen.superseded["beat"] + seen.superseded["publish"] >= 1
    numbers = crew.numbers_in_error_store()
    assert len(numbers) == len(set(numbers)) == seen.failed == seen.published - seen.pending


def test_a_generator_frozen_between_its_clock_check_and_its_publish_is_refused(crew: Crew) -> None:
    """G1: a look at one's own clock proves nothing; the script compares instance and term."""
    (crew.folder / "gate").touch()
    options = ("tests.processes.apps:gated", "--lease", 1, "--claim-lease", 60)
    at_point = AtPoint("between clock check and publish", STOP, crew.folder / "armed")
    first = crew.start(*options, environment=at_point.environment, program=PROGRAM)
    first.wait_for("generated")
    second = crew.start(*options)

    at_point.arm()
    wait_until(lambda: first.is_frozen, what="it freezes before a publish")
    second.wait_for("elected")
    second.wait_for("generated")
    first.thaw()

    first.wait_for("superseded")
    wait_until(lambda: crew.snapshot().superseded["publish"] >= 1, what="the refusal is counted")
    assert_numbers_are_contiguous(crew)


def test_a_generator_that_leaves_in_order_is_succeeded_without_waiting_for_any_lease(crew: Crew) -> None:
    """A vacant term needs no judge."""
    first, second = (crew.start("--interval", 0.05, *LONG_LEASE) for _ in range(2))
    first.wait_for("generated")

    assert first.end() == 0

    second.wait_for("elected", within=10)
    assert [event["event"] for event in first.events][-1] == "left"
    assert crew.snapshot().superseded == {"publish": 0, "next": 0, "beat": 0}


def test_a_forked_child_does_not_keep_the_last_will_of_its_parent_alive(crew: Crew) -> None:
    """Our sockets are closed in a child, or a dead generator would seem to live on."""
    generator = crew.start("tests.processes.apps:forking", *LONG_LEASE)
    handler = crew.start("tests.processes.apps:forking", *LONG_LEASE)
    wait_until(lambda: any("forked" in line for line in crew.ledger()), what="a child is left behind")
    wait_until(lambda: is_idle_judge(crew, handler), what="its will is known")

    handler.kill()

    generator.wait_for("reclaimed", within=10)
    (crew.folder / "gate").touch()


def test_a_forked_child_that_returns_from_the_handler_does_not_speak_in_its_parents_name(crew: Crew) -> None:
    """It ends where it would have called Redis; its parent goes on, and is not superseded."""
    crew.start("tests.processes.apps:forking")
    handler = crew.start("tests.processes.apps:forking", "--role", "handler")

    wait_until(lambda: any(line.startswith("returned 70 ") for line in crew.ledger()), what="the child has ended")
    wait_until(lambda: crew.snapshot().completed >= 10, what="its parent goes on")

    assert not handler.told("superseded")
    assert crew.snapshot().superseded == {"publish": 0, "next": 0, "beat": 0}


def test_an_idle_handler_is_preferred_to_a_busy_one(crew: Crew) -> None:
    """A busy one would generate and handle at once."""
    app = ("tests.processes.apps:gated", *LONG_LEASE)
    first = crew.start(*app)
    busy = crew.start(*app)
    wait_until(lambda: any(line.startswith("began 3 ") for line in crew.ledger()), what="message 3 is in hand")
    idle = crew.start(*app)
    wait_until(lambda: idle.id in crew.snapshot().line, what="the idle one is in line")
    wait_until(lambda: is_idle_judge(crew, idle), what="the idle one may judge")

    first.kill()

    idle.wait_for("elected", within=10)
    assert not busy.told("elected")
    (crew.folder / "gate").touch()


def test_a_busy_handler_takes_over_when_nobody_is_idle_and_finishes_its_message_alongside(crew: Crew) -> None:
    """G5 holds also when all successors are busy; the message in hand is not given away."""
    app = ("tests.processes.apps:gated", *LONG_LEASE)
    first = crew.start(*app)
    busy = crew.start(*app)
    wait_until(lambda: any(line.startswith("began 3 ") for line in crew.ledger()), what="message 3 is in hand")

    first.kill()
    busy.wait_for("elected", within=10)
    busy.wait_for("generated", within=10)
    (crew.folder / "gate").touch()
    wait_until(lambda: any(line.startswith("ended 3 ") for line in crew.ledger()), what="message 3 is done")

    wait_until(lambda: crew.snapshot().claimed == 0, what="it holds nothing any more")
    assert len([line for line in crew.ledger() if line.startswith("began 3 ")]) == 1
    assert crew.snapshot().superseded == {"publish": 0, "next": 0, "beat": 0}


def is_idle_judge(crew: Crew, running: Running) -> bool:
    return any(place.startswith(running.id.encode()) and place.endswith(b" 1") for place in crew.line())


def assert_terms_follow_each_other(events: list[dict[str, Any]]) -> None:
    """No number of a lower term follows one of a higher."""
    generated = sorted((event["seq"], event["term"]) for event in events if event["event"] == "generated")
    terms = [term for _, term in generated]
    assert terms == sorted(terms)


def assert_numbers_are_contiguous(crew: Crew) -> None:
    """Every number that was ever begun, up to the last one, was published."""
    wait_until(lambda: crew.snapshot().pending + crew.snapshot().claimed <= 1, what="the handlers keep up")
    begun = sorted({int(line.split()[1]) for line in crew.ledger() if line.startswith("began ")})
    assert begun == list(range(1, len(begun) + 1))
