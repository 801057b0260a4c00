"""Several real beats of one project: one sends, and another takes over."""

import json

import pytest

from soloist.schedules.making import make_schedule, to_json
from soloist.store.agenda import put_schedule
from soloist.store.control import pause
from tests.celery.conftest import Projects
from tests.celery.crew import Project
from tests.celery.rewritten import PROGRAM
from tests.kill_points import STOP, AtPoint
from tests.processes.crew import is_frozen
from tests.waiting import wait_until

pytestmark = pytest.mark.one_server

LONG = {"soloist_lease": 30}
"""With it a takeover in time can only come from the last will."""

SHORT = {"soloist_lease": 1}


def schedule(name: str, every: float = 0.1) -> bytes:
    """As somebody adds it: the task `note`, with the name as its argument."""
    return to_json(make_schedule("here", name=name, kind="note", every=every, body=json.dumps({"args": [name]})))


def test_a_beat_that_is_killed_is_replaced_at_once_and_no_tick_is_sent_twice(projects: Projects) -> None:
    """Three beats and a worker; the leader is killed twice. Its lease would have lasted for half a minute."""
    project = projects(conf=LONG)
    project.start_worker()
    for _ in range(3):
        project.start()
    project.wait_for_more()

    for _ in range(2):
        project.wait_for_line()
        before = project.term
        project.leader().kill()
        wait_until(lambda: project.term > before, within=10, what="another beat leads")  # noqa: B023
        project.wait_for_more()

    wait_until(lambda: len(project.done()) > 10, what="the worker does them")
    assert [beat.end() for beat in project.others()] == []
    assert project.leader().end() == 0
    wait_until(lambda: not project.waiting(), what="the worker has done all")
    project.check_ticks()


def test_only_one_of_them_sends(projects: Projects) -> None:
    """Plain beats would send everything three times."""
    project = projects(conf=LONG)
    for _ in range(3):
        project.start()

    project.wait_for_more(8)

    project.check_ticks()
    assert project.term == 1


@pytest.mark.parametrize("point", ["before send", "after send"])
def test_a_beat_that_was_frozen_beyond_its_lease_sends_nothing_more(projects: Projects, point: str) -> None:
    """Frozen between its clock check and its send, and deposed: what it sends when it wakes is refused by the server, and
    counted. Frozen after it, the send has counted once.
    """
    project = projects(conf=SHORT)
    frozen = AtPoint(point, STOP, project.folder / "armed")
    victim = project.start(program=PROGRAM, environment=frozen.environment)
    project.wait_for_more()
    others = [project.start(), project.start()]
    project.wait_for_line()

    frozen.arm()
    wait_until(lambda: is_frozen(victim.process), what="it freezes")
    project.wait_for_more()
    assert project.leader() in others
    victim.thaw()

    refused = "superseded:send" if point == "before send" else "superseded:beat"
    wait_until(lambda: project.total(refused), what="it is refused, and counted")
    assert project.total("superseded:send") == (point == "before send")
    project.wait_for_more()
    project.check_ticks()
    assert [beat.end() for beat in (victim, *others)] == [0, 0, 0]


def test_a_beat_that_was_frozen_anywhere_goes_on_as_a_follower(projects: Projects) -> None:
    """And leads again, when the others are gone."""
    project = projects(conf=SHORT)
    victim = project.start()
    other = project.start()
    project.wait_for_line()
    assert project.leader() is victim

    victim.freeze()
    before = project.term
    wait_until(lambda: project.term > before, what="the other leads")
    project.wait_for_more()
    victim.thaw()
    wait_until(lambda: project.total("superseded:beat") + project.total("superseded:send"), what="it is told")
    project.wait_for_line()
    other.kill()

    wait_until(lambda: project.term > before + 1, what="it leads again")
    assert project.leader() is victim
    project.wait_for_more()
    project.check_ticks()


def test_a_beat_that_is_stopped_leaves_in_order(projects: Projects) -> None:
    """Another leads at once: nobody waits for a lease, or for the grace of a last will."""
    project = projects(conf=LONG)
    first, second = project.start(), project.start()
    project.wait_for_more()
    project.wait_for_line()

    assert first.end() == 0

    wait_until(lambda: project.leader() is second, within=10, what="the other leads")
    project.wait_for_more()
    assert second.end() == 0
    project.check_ticks()
    assert project.link.command("ZCARD", project.keys.instances) == 0


def test_the_runs_are_remembered_when_all_beats_are_gone(projects: Projects) -> None:
    """What Celery's own beat keeps in a file is in Redis: also of an entry that was not yet due once."""
    project = projects(schedule={"often": 0.25, "never": 3600.0})
    project.start()
    project.wait_for_more()
    first_seen = project.link.command("HGET", project.keys.term, "tick:schedule:never")
    assert project.leader().end() == 0
    before = project.runs()
    assert before == len(project.sent())

    project.start()
    project.wait_for_more()

    assert project.runs() > before
    assert project.link.command("HGET", project.keys.term, "tick:schedule:never") == first_seen
    project.leader().kill()
    wait_until(lambda: project.runs() == len(project.sent()), what="all that was sent is counted")
    project.check_ticks()


def test_schedules_are_added_changed_paused_and_removed_at_run_time(projects: Projects) -> None:
    """They stand in Redis beside those of the configuration; what a command has said holds from its end on."""
    project = projects(schedule={})
    beat = project.start()
    project.start()
    project.leader()
    link, keys = project.link, project.keys

    put_schedule(link, keys, "added", schedule("added"))
    project.wait_for_more(of="added")

    pause(link, keys, [], ["schedule:added"], on=True)
    paused = len(project.sent())
    put_schedule(link, keys, "other", schedule("other"))
    project.wait_for_more(of="other")
    assert [name for name, _ in project.sent()].count("added") == paused

    pause(link, keys, [], ["schedule:added"], on=False)
    project.wait_for_more(of="added")

    project.leader().kill()
    project.wait_for_more(of="added")

    put_schedule(link, keys, "added", b"")
    removed = [name for name, _ in project.sent()].count("added")
    project.wait_for_more(of="other")
    assert [name for name, _ in project.sent()].count("added") == removed
    project.check_ticks()
    assert beat.process.poll() is None or beat.process.returncode == -9


def test_an_entry_of_the_configuration_can_be_paused(project: Project) -> None:
    """It is listed among the schedules of the namespace; the ticks of the pause are not made up for."""
    project.start()
    project.wait_for_more()

    pause(project.link, project.keys, [], ["schedule:often"], on=True)

    before = len(project.sent())
    assert project.link.command("HEXISTS", project.keys.schedules, "often") == 1
    put_schedule(project.link, project.keys, "other", schedule("other"))
    project.wait_for_more(6, of="other")
    assert [name for name, _ in project.sent()].count("often") == before
    pause(project.link, project.keys, [], ["schedule:often"], on=False)
    project.wait_for_more()
