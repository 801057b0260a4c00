"""`soloist run`: counts, signals, exit codes, what it tells."""

import json
import os
import signal
import subprocess
import threading

import pytest

from soloist.inspector import Inspector
from soloist.store.server import Server
from tests.processes.crew import ROOT, SOLOIST, Crew, Running
from tests.waiting import wait_until


def test_three_instances_handle_every_message_of_a_counted_run_once(crew: Crew) -> None:
    """M9 in small: completed + failed is the count, and all three exit by themselves."""
    options = ("--interval", 0, "--count", 30_000, "--until-empty")
    everyone = [crew.start(*options) for _ in range(3)]

    assert [running.process.wait(timeout=60) for running in everyone] == [0, 0, 0]

    seen = crew.snapshot()
    assert seen.published == 30_000
    assert (seen.pending, seen.claimed) == (0, 0)
    assert seen.completed + seen.failed == 30_000
    assert seen.instances == []
    assert seen.failed == sum(told[-1]["errors"] for running in everyone if (told := running.told("handled")))
    numbers = crew.numbers_in_error_store()
    assert len(numbers) == len(set(numbers)) == seen.failed


def test_the_snapshot_adds_up_at_every_instant_while_instances_are_killed(crew: Crew) -> None:
    """G3: published = pending + claimed + completed + failed, in one atomic read."""
    options = ("--interval", 0, "--batch", 4, "--max-pending", 2000)
    everyone = [crew.start(*options) for _ in range(3)]
    samples, stop = [], threading.Event()

    def sample() -> None:
        inspector = Inspector(Server(crew.url), crew.namespace)
        while not stop.is_set():
            samples.append(inspector.snapshot())

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        for _ in range(3):
            everyone.append(crew.start(*options))
            before = crew.snapshot()
            wait_until(lambda: crew.snapshot().completed > before.completed, what="work goes on")  # noqa: B023
            everyone.pop(0).kill()
        before = crew.snapshot()
        wait_until(lambda: crew.snapshot().completed > before.completed + 4000, what="work goes on after all kills")
    finally:
        stop.set()
        sampler.join()

    assert len(samples) > 100
    assert all(seen.adds_up for seen in samples)


@pytest.mark.parametrize(("how", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_the_first_signal_ends_an_instance_in_order(crew: Crew, how: signal.Signals, code: int) -> None:
    """Quiet, finish or give back, leave: nothing of it is left in Redis."""
    running = crew.start("--interval", 0.02)
    running.wait_for("generated")

    assert running.end(how) == code

    assert [event["event"] for event in running.events if event["event"] in ("quiet", "left")] == ["quiet", "left"]
    assert crew.snapshot().instances == []


def test_a_stop_gives_back_without_counting_a_death(crew: Crew) -> None:
    """Stops and deploys are not deaths; the message in hand is given back when time is up."""
    app = ("tests.processes.apps:gated", "--lease", 30, "--claim-lease", 30)
    crew.start(*app)
    stopping = crew.start(*app, "--role", "handler", "--stop-timeout", 0)
    wait_until(lambda: any(line.startswith("began 3 ") for line in crew.ledger()), what="message 3 is in hand")

    stopping.end()
    crew.start(*app, "--role", "handler")
    wait_until(
        lambda: len([line for line in crew.ledger() if line.startswith("began 3 ")]) == 2, what="it is begun again"
    )

    assert [line for line in crew.ledger() if line.startswith("began 3 ")][1].split()[2] == "1"
    assert crew.snapshot().reclaimed == 0


def test_a_second_signal_ends_it_at_once_and_loses_nothing(crew: Crew) -> None:
    app = ("tests.processes.apps:gated",)
    generator = crew.start(*app)
    stuck = crew.start(*app, "--role", "handler")
    wait_until(lambda: any(line.startswith("began 3 ") for line in crew.ledger()), what="message 3 is in hand")

    stuck.process.send_signal(signal.SIGTERM)
    stuck.wait_for("quiet")
    wait_until(lambda: again(stuck), what="the second signal ends it")
    assert stuck.process.returncode == 0

    (crew.folder / "gate").touch()
    crew.start(*app, "--role", "handler")
    generator.end()
    seen = crew.wait_until_handled(1)
    assert seen.completed == seen.published


def again(running: Running) -> bool:
    running.process.send_signal(signal.SIGTERM)
    return running.process.poll() is not None


def test_events_carry_number_instance_and_totals(crew: Crew) -> None:
    """U8, interface.md: machine-readable life signs."""
    generator = crew.start("--interval", 0.02)
    handler = crew.start("--interval", 0.02)
    wait_until(lambda: handler.told("handled"), what="a message is handled")
    handler.end()
    generator.end()

    for event in generator.events + handler.events:
        assert {"event", "at", "number", "instance"} <= event.keys()
    assert [running.events[0]["number"] for running in (generator, handler)] == [1, 2]
    last = generator.told("generated")[-1]
    assert last.keys() >= {"term", "seq", "total"}
    assert last["seq"] == last["total"] == crew.snapshot().published
    assert handler.told("handled")[-1]["total"] <= last["total"]


@pytest.mark.parametrize("processes", [1, 2])
def test_every_line_on_stdout_is_an_event_whatever_else_is_printed(
    crew: Crew, processes: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """interface.md: everything else goes to stderr; what handlers print, too, and a module while it is imported."""
    options = ("tests.processes.apps:talkative", "--processes", processes)

    running = crew.start(*options, environment={"TALK": "1"})
    wait_until(lambda: crew.snapshot().completed > 3, what="messages are handled")
    running.end()

    assert running.told("left")
    assert all("event" in each for each in running.events), "a line that is no JSON would have ended the reading before"
    said = capfd.readouterr().err
    for sentence in ("said by the module", "said by print", "said past Python", "said by a program"):
        assert sentence in said


def test_without_events_what_a_handler_prints_goes_to_stdout(crew: Crew) -> None:
    """Where it was always meant to go; nobody reads the account but people."""
    words = [*SOLOIST, "run", "tests.processes.apps:talkative", *crew.connection]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=environment
    )
    wait_until(lambda: crew.snapshot().completed > 3, what="messages are handled")

    process.send_signal(signal.SIGTERM)
    said, wrong = process.communicate(timeout=60)

    assert "said by print" in said
    assert "said past Python\n" in said
    assert "said" not in wrong


def test_a_lone_instance_generates_does_not_handle_and_says_so_once(crew: Crew) -> None:
    """M2: the generator does not handle; a person is told what is missing."""
    words = [*SOLOIST, "run", *crew.connection, "--interval", "0.05"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stderr is not None
        said = ""
        while "No handler is there yet" not in said:
            said = process.stderr.readline()
            assert said, "it ended without a word"
        seen = wait_until(lambda: crew.snapshot() if crew.snapshot().published > 3 else None, what="it generates")
        assert seen is not None
        assert seen.pending == seen.published
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert process.returncode == 0


def test_an_instance_of_another_app_is_refused(crew: Crew) -> None:
    """Guard: the namespace remembers its App."""
    crew.start("--interval", 1)

    refused = crew.command("run", "tests.processes.apps:gated")

    assert refused.returncode == 2
    assert "belongs to the App 'demo'" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_status_and_its_json_tell_the_same(crew: Crew) -> None:
    crew.start("--interval", 0.02)
    handler = crew.start("--interval", 0.02)
    wait_until(lambda: handler.told("handled"), what="a message is handled")

    seen = json.loads(crew.command("status", "--json").stdout)
    shown = crew.command("status").stdout

    assert [each["role"] for each in seen["instances"]] == ["generator", "handler"]
    assert seen["line"] == [handler.id]
    assert seen["published"] == seen["pending"] + seen["claimed"] + seen["completed"] + seen["failed"]
    assert "generator" in shown
    assert "handler" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_clean_gives_back_what_a_dead_instance_left_behind(crew: Crew) -> None:
    """U11: --cleanTemp; given back, not thrown away. No instance need be alive."""
    app = ("tests.processes.apps:gated",)
    generator = crew.start(*app)
    victim = crew.start(*app, "--role", "handler")
    wait_until(lambda: any(line.startswith("began 3 ") for line in crew.ledger()), what="message 3 is in hand")
    generator.kill()
    victim.kill()

    cleaned = crew.command("--cleanTemp")

    assert cleaned.returncode == 0, cleaned.stderr
    assert "of 2 dead instances" in cleaned.stdout
    seen = crew.snapshot()
    assert seen.claimed == 0
    assert seen.instances == []
    assert seen.pending == seen.published - seen.completed


def test_purge_asks_first_and_then_removes_everything(crew: Crew) -> None:
    crew.start("--interval", 0.02).wait_for("generated")
    refused = crew.command("purge")
    assert refused.returncode == 2
    assert "--yes" in refused.stderr

    assert crew.command("purge", "--yes").returncode == 0


@pytest.mark.parametrize("words", [["run", "--interval", "3600"], ["status", "--watch", "0.05"]])
def test_a_reader_that_closes_the_pipe_ends_it_in_order(crew: Crew, words: list[str]) -> None:
    """`| head -1`: exit 0, also where there is nothing more to write."""
    crew.start("--interval", 3600)
    process = subprocess.Popen([*SOLOIST, *words, *crew.connection], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline()

    process.stdout.close()

    assert process.wait(timeout=30) == 0
    wait_until(lambda: len(crew.snapshot().instances) == 1, what="it has left")


def test_a_count_that_is_reached_already_is_said(crew: Crew) -> None:
    """--count is what the namespace publishes in all; a second run would seem broken."""
    for _ in range(2):
        everyone = [crew.start("--interval", 0, "--count", 100, "--until-empty") for _ in range(2)]
        for running in everyone:
            assert running.process.wait(timeout=60) == 0

    again = crew.command("run", "--interval", "0", "--count", "100", "--until-empty")

    assert again.returncode == 0
    assert "has published 100 already" in again.stderr
