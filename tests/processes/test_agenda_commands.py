"""`soloist schedules`, `soloist publish`, and `pause` of sources and schedules: on real instances."""

import json
import subprocess
import time
from typing import Any

import pytest

from tests.processes.crew import ROOT, Crew, Running
from tests.processes.one_command import USAGE
from tests.waiting import wait_until

SCHEDULED = "tests.processes.agenda_apps:scheduled"


@pytest.fixture
def scheduled(crew: Crew) -> Running:
    running = crew.start(SCHEDULED)
    wait_until(lambda: entries(crew, "often"), what="the first tick")
    return running


def entries(crew: Crew, what: str) -> list[list[str]]:
    """What the ledger says of it, in words."""
    return [line.split()[1:] for line in crew.ledger() if line.split()[0] == what]


def listed(crew: Crew, *words: str) -> dict[str, dict[str, Any]]:
    told = crew.command("schedules", *words, "--json").stdout.splitlines()
    return {each["name"]: each for each in map(json.loads, told)}


def said(crew: Crew, *words: str, code: int = 0) -> str:
    done = crew.command(*words)
    assert done.returncode == code, done
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def test_schedules_are_listed_with_their_last_run(crew: Crew, scheduled: Running) -> None:
    wait_until(lambda: listed(crew)["often"]["last_result"] == "completed", what="a run is over")

    seen = listed(crew)
    assert set(seen) == {"often", "yearly"}
    assert seen["often"]["when"] == "every 0.2 s"
    assert seen["often"]["last_run"] < seen["often"]["next_run"]
    assert (seen["yearly"]["when"], seen["yearly"]["tz"], seen["yearly"]["last_run"]) == (
        "0 0 1 1 *",
        "Europe/Berlin",
        None,
    )
    table = said(crew, "schedules")
    assert "every 0.2 s" in table
    assert "2 schedules" in table


def test_a_job_can_be_run_now_and_its_failures_are_counted(crew: Crew, scheduled: Running) -> None:
    for failures in (1, 2):
        ident = said(crew, "schedules", "run", "yearly").strip()
        wait_until(lambda: listed(crew)["yearly"]["failures"] == failures, what="it has failed")  # noqa: B023
        assert json.loads(crew.command("errors", "show", ident, "--json").stdout)["reason"] == "not yet"

    assert listed(crew)["yearly"]["last_result"] == "failed"
    assert all(abs(float(at) - time.time()) < 600 for at, *_ in entries(crew, "yearly")), "they are of the moment"


def test_one_can_be_added_changed_and_removed_at_run_time(crew: Crew, scheduled: Running) -> None:
    assert "is scheduled" in said(crew, "schedules", "add", "post", "--every", "0.1", "--kind", "mail", "--body", "a")
    assert "was scheduled so already" in said(
        crew, "schedules", "add", "post", "--every", "0.1", "--kind", "mail", "--body", "a"
    )
    wait_until(lambda: len(entries(crew, "mail")) > 2, what="its ticks come")
    assert listed(crew, "list")["post"]["origin"] == "data"

    said(crew, "schedules", "add", "post", "--every", "0.1", "--kind", "mail", "--body", "b")
    wait_until(lambda: entries(crew, "mail")[-1][0] == "b", what="it is another body")
    said(crew, "schedules", "remove", "post")
    wait_until(lambda: crew.snapshot().kinds["mail"].pending == crew.snapshot().kinds["mail"].claimed == 0)

    assert set(listed(crew)) == {"often", "yearly"}
    keys = [key for _, key, *_ in entries(crew, "mail")]
    assert len(keys) == len(set(keys))
    assert all(key.startswith("post@") for key in keys)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("add", "x", "--kind", "mail"), "say when in one way"),
        (("add", "x", "--kind", "mail", "--cron", "61 * * * *"), "Bad minute"),
        (("add", "x", "--kind", "mail", "--every", "nan"), "every=nan is not possible"),
        (("add", "x", "--kind", "a b", "--every", "1"), "a kind is 1 to 128"),
        (("add", "x", "--kind", "mail", "--every", "1", "--tz", "Mars"), "Europe/Berlin"),
        (("add", "often", "--kind", "mail", "--every", "1"), "declared by the App's code"),
        (("remove", "often"), "declared by the App's code"),
        (("remove", "nothing"), "there are: often, yearly"),
        (("run", "nothing"), "there are: often, yearly"),
        (("pause", "nothing"), "there are: often, yearly"),
        (("pause",), "Missing argument"),
    ],
)
def test_what_is_wrong_is_said(crew: Crew, scheduled: Running, words: tuple[str, ...], says: str) -> None:
    assert says in said(crew, "schedules", *words, code=USAGE)
    assert set(listed(crew)) == {"often", "yearly"}


def test_pauses_outlive_a_takeover(crew: Crew, scheduled: Running) -> None:
    """A source and a schedule stay paused until they are resumed, whoever generates; ticks of the pause are gone."""
    assert said(crew, "pause", "--source", "pulse", "--schedule", "often") == "paused: source pulse, schedule often\n"
    successor = crew.start(SCHEDULED)
    wait_until(lambda: crew.snapshot().line, what="it is in line")
    before = len(entries(crew, "pulse")), len(entries(crew, "often"))
    scheduled.kill()
    successor.wait_for("elected")
    said(crew, "schedules", "add", "post", "--every", "0.1", "--kind", "mail")
    wait_until(lambda: len(entries(crew, "mail")) > 5, what="the successor is at work")

    assert (len(entries(crew, "pulse")), len(entries(crew, "often"))) <= (before[0] + 1, before[1] + 1)
    assert "paused: schedule often, source pulse" in said(crew, "status")
    assert crew.snapshot().paused == ["schedule:often", "source:pulse"]
    assert listed(crew)["often"]["next_run"] is None
    assert said(crew, "resume", "--source", "pulse", "--schedule", "often") == "resumed: source pulse, schedule often\n"
    late = len(entries(crew, "often"))
    wait_until(lambda: len(entries(crew, "often")) > late + 2, what="the schedule goes on")
    wait_until(lambda: len(entries(crew, "pulse")) > before[0] + 2, what="the source goes on")
    ticks = [float(each[0]) for each in entries(crew, "often")]
    assert len(ticks) == len(set(ticks))


def test_a_message_can_be_published_from_the_command_line(crew: Crew, scheduled: Running) -> None:
    ident = said(crew, "publish", "mail", "hello", "--key", "ann").strip()
    wait_until(lambda: entries(crew, "mail"), what="it is handled")

    assert entries(crew, "mail")[0][:2] == ["hello", "ann"]
    assert ident.startswith("1-")


def test_what_a_handler_publishes_goes_to_where_its_instance_is(crew: Crew) -> None:
    """Named by flags; code and environment name another place."""
    crew.start(SCHEDULED, environment={"SOLOIST_NAMESPACE": f"{crew.namespace}-elsewhere"})

    said(crew, "publish", "relay", "hello")

    wait_until(lambda: entries(crew, "mail"), what="it is handled here")
    assert entries(crew, "mail")[0][:2] == ["hello", "relayed"]


def test_lines_of_a_pipe_are_messages(crew: Crew, scheduled: Running) -> None:
    done = subprocess.run(
        [*crew.program, "publish", "mail", "-", *crew.connection, "--json"],
        input="".join(f"{number}\n" for number in range(2500)),
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=True,
    )
    wait_until(lambda: len(entries(crew, "mail")) == 2500, what="all are handled")

    assert len({json.loads(line)["id"] for line in done.stdout.splitlines()}) == 2500
    assert [each[0] for each in entries(crew, "mail")] == [str(number) for number in range(2500)]


def test_of_a_unique_key_the_other_id_is_told(crew: Crew, scheduled: Running) -> None:
    first = said(crew, "publish", "slow", "a", "--key", "k", "--unique")
    assert said(crew, "publish", "slow", "b", "--key", "k", "--unique") == first
    wait_until(lambda: entries(crew, "slow"), what="it is in hand")
    assert said(crew, "publish", "slow", "c", "--key", "k", "--unique") == first
    crew.release()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("a b", "x"), "a kind is 1 to 128"),
        (("mail", "x", "--unique"), "needs a key"),
        (("mail", "x", "--at", "tomorrow"), "no moment with a time zone"),
        (("mail", "x", "--delay", "-1"), "0 to 315360000"),
        (("mail", "-", "--key", "k"), "with - every line is one"),
    ],
)
def test_what_cannot_be_published_is_said(crew: Crew, scheduled: Running, words: tuple[str, ...], says: str) -> None:
    assert says in said(crew, "publish", *words, code=USAGE)
    assert crew.snapshot().kinds["mail"].completed == 0


def test_into_an_empty_namespace_nothing_is_published(crew: Crew) -> None:
    """Its name may be mistyped; an App that publishes has a name, and founds its namespace."""
    assert "is empty" in said(crew, "publish", "mail", "x", code=USAGE)


def test_a_kind_that_nobody_handles_waits_and_that_is_said(crew: Crew, scheduled: Running) -> None:
    assert "handles the kind 'parcel': it waits" in said(crew, "publish", "parcel", "x")
    assert crew.snapshot().kinds["parcel"].pending == 1
