"""What becomes of a beat when what it hears of the server is lost, late, or cut off: every tick is sent all the same, once."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from soloist.chaos.faults import Cut, Delay, Drop, Fault, TooLate
from soloist.chaos.proxy import FaultProxy
from soloist.store.agenda import AGENDA, DECLARE
from soloist.store.script import Script
from soloist.store.sending import SEND
from tests.celery.conftest import Projects
from tests.celery.crew import Project
from tests.processes.ensemble import arrives
from tests.waiting import wait_until

pytestmark = pytest.mark.one_server

LOST, LATE, CUT = Drop(), TooLate(), Cut()
COPY = Delay(of="command")
"""It does not arrive, as far as the beat sees; when the test releases it, it does."""

LEASES = {"soloist_lease": 3}
"""Long enough that a call may time out, and the term goes on."""


@contextmanager
def behind_a_proxy(projects: Projects) -> Iterator[tuple[Project, FaultProxy]]:
    """A beat that reaches its broker through the proxy, and sends."""
    project = projects(conf=LEASES)
    with FaultProxy("127.0.0.1", int(project.url.rpartition(":")[2].split("/")[0])) as proxy:
        project.start(url=proxy.url())
        project.wait_for_more()
        yield project, proxy
        project.beats[0].kill()


@pytest.mark.parametrize("fault", [LOST, LATE, CUT, COPY], ids=["lost", "late", "cut", "copy"])
def test_a_send_whose_reply_does_not_come_is_sent_once(projects: Projects, fault: Fault) -> None:
    """It is repeated unchanged until the outcome is known; a late copy is answered that its time is over."""
    with behind_a_proxy(projects) as (project, proxy):
        rules = [proxy.rule(fault, SEND.sha, 1).wait() for _ in range(3)]
        project.wait_for_more()

        if fault is COPY:
            assert [arrives(rule)[0] for rule in rules] == [b"SUPERSEDED"] * 3
        project.wait_for_more()
    wait_until(lambda: project.runs() == len(project.sent()), what="all that was sent is counted once")
    project.check_ticks()


@pytest.mark.parametrize("script", [AGENDA, DECLARE], ids=["agenda", "declare"])
@pytest.mark.parametrize("fault", [LOST, CUT], ids=["lost", "cut"])
def test_a_beat_that_is_elected_asks_until_it_is_answered(projects: Projects, script: Script, fault: Fault) -> None:
    """What there is to send is known before anything is sent."""
    project = projects(conf=LEASES)
    with FaultProxy("127.0.0.1", int(project.url.rpartition(":")[2].split("/")[0])) as proxy:
        rule = proxy.rule(fault, script.sha, 1)
        project.start(url=proxy.url())

        rule.wait()

        project.wait_for_more()
        project.check_ticks()
        project.beats[0].kill()


def test_a_broker_that_is_gone_for_a_while_is_waited_for(projects: Projects) -> None:
    """At the start, too. What was missed is sent once it is back, and the old rhythm goes on."""
    project = projects(conf=LEASES)
    with FaultProxy("127.0.0.1", int(project.url.rpartition(":")[2].split("/")[0])) as proxy:
        down = proxy.strike(Cut(), lasting=True)
        beat = project.start(url=proxy.url(), joins=False)
        wait_until(lambda: "Trying again" in beat.log.read_text(), what="it waits for its broker")
        down.disarm()
        project.wait_for_more()

        down = proxy.strike(Cut(), lasting=True)
        wait_until(lambda: "server.lost" in beat.log.read_text(), what="it is cut off")
        down.disarm()

        project.wait_for_more()
        project.check_ticks()
        assert beat.process.poll() is None
        beat.kill()
