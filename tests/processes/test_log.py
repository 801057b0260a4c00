"""`soloist log`: the common log, for people and for programs."""

import json
import subprocess

from tests.processes.crew import ROOT, SOLOIST, Crew
from tests.waiting import wait_until


def test_the_log_tells_who_came_took_over_and_went(crew: Crew) -> None:
    """By the numbers of the instances, and with the time that the takeover took."""
    first = crew.start("--interval", 0.05, "--error-rate", 1)
    second = crew.start("--interval", 0.05, "--error-rate", 1)
    wait_until(lambda: crew.snapshot().failed > 0, what="something failed")
    wait_until(lambda: any(line.endswith(b" 1") for line in crew.line()), what="it may judge")
    first.kill()
    second.wait_for("elected")
    second.wait_for("reclaimed")
    second.end()

    told = crew.command("log")

    assert told.returncode == 0
    lines = [line.split("  ", 1)[1] for line in told.stdout.splitlines()]
    assert lines[0].startswith("#1 joined (")
    assert "#1 is the generator now (term 1)" in lines
    assert any(line.startswith("#2 is the generator now (term 2); the one before it was last heard ") for line in lines)
    assert any(line.startswith("#1 is gone (its process ended)") for line in lines)
    assert any(line.endswith(" failed") for line in lines)
    assert "#2 left in order" in lines[-1]


def test_for_programs_each_entry_is_an_object(crew: Crew) -> None:
    """And --since leaves out what is older."""
    crew.start("--interval", 3600).end()

    entries = [json.loads(line) for line in crew.command("log", "--json", "--since", "10m").stdout.splitlines()]

    events = [entry["event"] for entry in entries]
    assert [event for event in events if event != "resigned"] == ["joined", "elected", "left"], "it may leave at once"
    assert all(entry["at"] > 0 and entry["number"] == "1" for entry in entries)
    later = crew.command("log", "--json", "--since", "0.001s")
    assert later.stdout == ""


def test_following_goes_on_until_the_reader_goes(crew: Crew) -> None:
    """What happens later is told then; `| head` ends it."""
    crew.start("--interval", 3600)
    words = [*SOLOIST, "log", "--follow", *crew.connection]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT) as following:
        assert following.stdout is not None
        assert "#1 joined" in following.stdout.readline()
        assert "#1 is the generator" in following.stdout.readline()

        crew.start("--interval", 3600)

        assert "#2 joined" in following.stdout.readline()
        following.stdout.close()
        crew.start("--interval", 3600)
        assert following.wait(timeout=30) == 0


def test_a_length_of_time_that_is_none_is_named(crew: Crew) -> None:
    done = crew.command("log", "--since", "yesterday")

    assert done.returncode == 2
    assert "'yesterday' is no length of time such as 90s" in done.stderr


def test_an_empty_namespace_says_so(crew: Crew) -> None:
    done = crew.command("log")

    assert done.returncode == 0
    assert "is empty" in done.stderr


def test_the_history_goes_on_across_a_takeover(crew: Crew) -> None:
    """It is kept in Redis, and whoever generates adds to it."""
    first, second = (crew.start("--interval", 0.02) for _ in range(2))
    wait_until(lambda: len(crew.history()) >= 2, what="two samples of the first")
    before = crew.history()

    first.kill()
    second.wait_for("elected")
    wait_until(lambda: len(crew.history()) >= len(before) + 2, what="two samples of the second")

    after = crew.history()
    assert after[: len(before)] == before
    assert [sample.published for sample in after] == sorted(sample.published for sample in after)
    assert len({sample.at_ms // 1000 for sample in after}) == len(after), "one a second"
