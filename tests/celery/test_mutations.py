"""The tests with real beats are not blind: without the fence, or without the stored run, a tick is sent twice."""

import pytest

from tests.celery.conftest import Projects
from tests.celery.crew import Project
from tests.celery.rewritten import PROGRAM
from tests.kill_points import KILL, STOP, AtPoint
from tests.processes.crew import is_frozen
from tests.rewriting import environment
from tests.waiting import wait_until

pytestmark = pytest.mark.one_server

READ = 'self.text = INCLUDE.sub(lambda found: _read(f"lib/{found[1]}.lua").rstrip(), source)'
TERM = "if held[1] ~= named or held[2] ~= id then return superseded('term') end"
CALL = "if call ~= applied + 1 then return superseded() end"
STORED = "'tick:schedule:' .. entry, tick,"
RARELY = 4.0
"""Seconds between two ticks: what is sent twice is then the same tick, and not one of those that are missed in between."""


def without(*parts: str) -> dict[str, str]:
    """The scripts without these parts."""
    removed = "".join(f".replace({part!r}, '')" for part in parts)
    return environment(("store/script.py", READ, READ + removed))


def frozen_before_its_send(project: Project, mutation: dict[str, str]) -> None:
    """A beat freezes between its clock check and its send; another sends that tick; it wakes, and sends."""
    at_point = AtPoint("before send", STOP, project.folder / "armed")
    victim = project.start(program=PROGRAM, environment={**at_point.environment, **mutation})
    project.wait_for_more(1)
    project.start(program=PROGRAM, environment=mutation)
    project.wait_for_line()
    at_point.arm()
    wait_until(lambda: is_frozen(victim.process), what="it freezes")
    project.wait_for_more(1)
    victim.thaw()
    project.wait_for_more(2)


def killed_behind_its_send(project: Project, mutation: dict[str, str]) -> None:
    """A beat is killed when its send was applied; another takes over before the next tick is due."""
    at_point = AtPoint("after send", KILL, project.folder / "armed")
    victim = project.start(program=PROGRAM, environment={**at_point.environment, **mutation})
    project.wait_for_more(1)
    project.start(program=PROGRAM, environment=mutation)
    project.wait_for_line()
    at_point.arm()
    assert victim.process.wait(timeout=60) == -9
    project.wait_for_more(2)


@pytest.mark.parametrize(
    ("scenario", "parts"), [(frozen_before_its_send, (TERM, CALL)), (killed_behind_its_send, (STORED,))]
)
@pytest.mark.parametrize("is_broken", [True, False], ids=["broken", "sound"])
def test_what_the_fence_is_for(projects: Projects, scenario: object, parts: tuple[str, ...], is_broken: bool) -> None:
    """The same scene, with and without it."""
    project = projects(conf={"soloist_lease": 1}, schedule={"often": RARELY})

    assert callable(scenario)
    scenario(project, without(*parts) if is_broken else {})

    if is_broken:
        with pytest.raises(AssertionError, match="sent more than once"):
            project.check_ticks()
    else:
        project.check_ticks()
