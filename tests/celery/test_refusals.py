"""Where nothing could be fenced the scheduler refuses: a sentence on stderr, an exit code, no traceback."""

import json
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from tests.celery.conftest import Projects
from tests.celery.crew import CELERY, ROOT, Project

pytestmark = pytest.mark.one_server


def refused(project: Project, url: str = "", **conf: Any) -> tuple[int, str]:
    """Run `celery beat` to its end: exit code and what it said on stderr."""
    environment = project.environment(url or None)
    environment["CONF"] = json.dumps({**project.conf, **conf})
    done = subprocess.run(
        [*CELERY, "-A", "tests.celery.project", "beat", "-S", "soloist"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr + done.stdout
    said = [line for line in done.stderr.splitlines() if "soloist: " in line]
    assert len(said) == 1, done.stderr
    return done.returncode, said[0]


@pytest.mark.parametrize("url", ["memory://", "amqp://guest@localhost//", "sqs://", "filesystem://"])
def test_another_broker_than_redis(project: Project, url: str) -> None:
    """It is named, and so is what to do."""
    code, said = refused(project, url)

    assert code == 2
    assert f"the broker's transport is {url.partition(':')[0]}, not Redis" in said
    assert "use Celery's own beat, and run it once" in said


def test_sentinels(project: Project) -> None:
    """Not yet."""
    code, said = refused(project, "sentinel://localhost:26379", broker_transport_options={"master_name": "mymaster"})

    assert (code, "watched over by Sentinels" in said) == (2, True)


def test_several_brokers_to_fail_over_between(project: Project) -> None:
    """Each would elect its own."""
    code, said = refused(project, f"{project.url};redis://127.0.0.1:1/0")

    assert (code, "name one server" in said) == (2, True)


def test_tasks_that_are_run_at_once(project: Project) -> None:
    """Nothing would be sent."""
    code, said = refused(project, task_always_eager=True)

    assert (code, "task_always_eager" in said) == (2, True)


@pytest.mark.parametrize(
    ("conf", "says"),
    [
        ({"soloist_leese": 3}, "no setting soloist_leese. Did you mean soloist_lease?"),
        ({"soloist_lease": "soon"}, "soloist_lease: 'soon' is not allowed"),
        ({"soloist_lease": 0.3}, "at least 4 times heartbeat"),
        ({"soloist_namespace": "my beats"}, "soloist_namespace must be"),
    ],
)
def test_settings_that_are_wrong(project: Project, conf: dict[str, Any], says: str) -> None:
    """A misspelt one would silently do nothing."""
    code, said = refused(project, **conf)

    assert (code, says in said) == (2, True), said


def test_an_exchange_type_that_redis_does_not_have(project: Project) -> None:
    """Its messages could never be sent."""
    code, said = refused(project, task_default_exchange_type="headers")

    assert (code, "is of the type 'headers'" in said) == (2, True), said


def test_the_namespace_of_another_project(projects: Projects) -> None:
    """Two projects on one database must not take turns: one of them would never send."""
    project = projects()
    project.start()

    code, said = refused(project, broker_transport_options={"global_keyprefix": "another"})

    assert (code, "belongs to" in said) == (2, True), said


def test_a_server_that_is_no_redis(project: Project) -> None:
    """It answers, so there is nothing to wait for. Where nothing answers, a beat waits, as Celery's own does."""
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as stranger:
        threading.Thread(target=stranger.serve_forever, daemon=True).start()
        code, said = refused(project, f"redis://127.0.0.1:{stranger.server_port}/0")
        stranger.shutdown()

    assert (code, "what answers there is no Redis" in said) == (3, True), said
