"""The tutorial: what soloist does, one short story at a time. Each starts real instances on a real server."""

import json

from tests.processes.crew import Crew
from tests.waiting import wait_until


def test_the_first_instance_generates_and_the_others_handle(crew: Crew) -> None:
    """M2: every instance is the same program; which part it plays is settled in Redis."""
    first = crew.start()
    second = crew.start()
    third = crew.start()

    first.wait_for("generated", count=2)
    wait_until(lambda: second.told("handled") or third.told("handled"), what="somebody handles")

    roles = {each.number: each.role for each in crew.snapshot().instances}
    assert roles == {1: "generator", 2: "handler", 3: "handler"}
    assert not first.told("handled")


def test_a_message_comes_every_half_second_without_drift(crew: Crew) -> None:
    """M5: ticks lie on a grid that is kept in Redis, so that a late one is not followed by later ones."""
    generator = crew.start()
    generator.wait_for("generated", count=4)

    link, keys = crew._inspector._link, crew._inspector._keys
    messages = link.command("LRANGE", keys.pending("default"), 0, 3)
    tick = int(link.command("HGET", keys.term, "tick:generator"))

    assert len(messages) == 4
    begun = int(link.command("HGET", keys.term, "since"))
    assert (tick - begun) % 500 < 100 or (tick - begun) % 500 > 400, "ticks are multiples of 500 ms after the first"


def test_one_message_in_twenty_is_found_erroneous_and_put_aside(crew: Crew) -> None:
    """M6, M7: an erroneous message goes to the error store and does not hold up the others."""
    everyone = [crew.start("--interval", 0, "--count", 20_000, "--until-empty") for _ in range(2)]
    for running in everyone:
        running.process.wait(timeout=60)

    seen = crew.snapshot()

    assert seen.completed + seen.failed == 20_000
    assert 800 < seen.failed < 1200
    assert seen.errors == seen.failed


def test_get_errors_prints_them_and_removes_them(crew: Crew) -> None:
    """M8: `soloist getErrors`."""
    everyone = [crew.start("--interval", 0, "--count", 500, "--error-rate", 1, "--until-empty") for _ in range(2)]
    for running in everyone:
        running.process.wait(timeout=60)

    printed = crew.command("getErrors")

    assert len(printed.stdout.splitlines()) == 500
    assert crew.snapshot().errors == 0


def test_the_generator_is_killed_and_another_takes_its_part(crew: Crew) -> None:
    """M4: the plug is pulled, no exit handler runs. The lease is long, so it is the last will that tells."""
    first, second, third = (crew.start("--interval", 0.05, "--lease", 30, "--claim-lease", 30) for _ in range(3))
    first.wait_for("generated")
    wait_until(lambda: len(crew.snapshot().line) == 2, what="two are in line")

    first.kill()

    wait_until(lambda: second.told("generated") or third.told("generated"), within=10, what="another generates")
    roles = sorted(each.role for each in crew.snapshot().instances if each.number != 1)
    assert roles == ["generator", "handler"]


def test_anybody_can_ask_who_plays_which_part(crew: Crew) -> None:
    """U4, U10: `status` shows everybody, who generates, and who is next in line."""
    crew.start("--interval", 0.05)
    successor = crew.start("--interval", 0.05)
    wait_until(lambda: crew.snapshot().line, what="somebody is in line")

    seen = json.loads(crew.command("status", "--json").stdout)

    assert seen["term"]["number"] == 1
    assert seen["line"] == [successor.id]
    assert [each["number"] for each in seen["instances"]] == [1, 2]


def test_nothing_but_redis_connects_the_instances(crew: Crew) -> None:
    """M1: two instances with different folders, homes and working directories find each other all the same."""
    one = crew.folder / "one"
    other = crew.folder / "other"
    for home in (one, other):
        home.mkdir()
    generator = crew.start("--interval", 0.05, environment={"HOME": str(one), "TMPDIR": str(one)})
    handler = crew.start("--interval", 0.05, environment={"HOME": str(other), "TMPDIR": str(other)})

    handler.wait_for("handled")

    assert generator.told("elected")
    assert not list(one.iterdir())
    assert not list(other.iterdir())
