"""At every kill point (tests/kill_points.py) a process is killed, or frozen beyond its leases and thawed.

Afterwards everything that was published is in one place, once, and whoever is alive works.
"""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import pytest

from soloist.settings import Settings
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.presence import leave
from soloist.store.rehearsal import ELAPSE, OUTSTANDING, RETIME, VOUCH
from soloist.store.server import Server
from tests.kill_points import KILL, SCRIPTS, STOP, AtPoint, points
from tests.processes.crew import ROOT, Crew, Running, is_frozen
from tests.rewriting import PROGRAM
from tests.waiting import wait_until

LEASES = ("--lease", 1, "--claim-lease", 2)
APP = ("tests.processes.apps:erring", *LEASES, "--batch", 5)
RUSHING = ("tests.processes.apps:rushing", *LEASES)
CROWDED = ("tests.processes.apps:crowded", *LEASES, "--batch", 5)
BATCHED = ("tests.processes.apps:batched", *LEASES)
OLDER = ("tests.processes.agenda_apps:older", *LEASES)
NEWER = ("tests.processes.agenda_apps:newer", *LEASES)
ACTIONS = (KILL, STOP)
REHEARSED = (OUTSTANDING, ELAPSE, VOUCH, RETIME)


@dataclass
class Visit:
    """One process that will meet its kill point, and the others around it."""

    crew: Crew
    point: str
    action: str
    app: tuple[str | float, ...] = APP

    def __post_init__(self) -> None:
        self.at_point = AtPoint(self.point, self.action, self.crew.folder / "armed")
        self.arm = self.at_point.arm

    def start(self, *, joins: bool = True) -> Running:
        """The one that will meet it."""
        return self.crew.start(*self.app, environment=self.at_point.environment, program=PROGRAM, joins=joins)

    def start_another(self) -> Running:
        return self.crew.start(*self.app)

    def wait_until_met(self, process: "subprocess.Popen[str]") -> None:
        if self.action == KILL:
            assert process.wait(timeout=30) == -9
        else:
            wait_until(lambda: is_frozen(process), what=f"it freezes: {self.point}")

    def wait_until_gone(self, process: "subprocess.Popen[str]") -> None:
        """Until the others have taken back whatever it held."""
        with closing(Link(Server(self.crew.url), timeout=5)) as link:
            wait_until(lambda: process.pid not in self._present(link), what="it is gone")

    def _present(self, link: Link) -> set[int]:
        """The process ids of all that have a place, whether their leases are over or not."""
        keys = Keys(self.crew.namespace)
        ids = [*link.command("ZRANGE", keys.instances, 0, -1), *link.command("ZRANGE", keys.drainers, 0, -1)]
        return {int(link.command("HGET", keys.instance(each.decode()), "pid") or 0) for each in ids}

    def evict(self, running: Running) -> None:
        """Redis does not know it any more."""
        with closing(Link(Server(self.crew.url), timeout=5)) as link:
            leave(link, Keys(self.crew.namespace), running.id, Settings(), ("default",))


def at_work(visit: Visit) -> tuple[Running, list[Running]]:
    """It generates and handles."""
    one = visit.start()
    one.wait_for("generated")
    another = visit.start_another()
    another.wait_for("handled")
    visit.arm()
    return one, [another]


def in_a_rush(visit: Visit) -> tuple[Running, list[Running]]:
    """So quick that it claims the next batch while it handles one."""
    visit.app = RUSHING
    return at_work(visit)


def in_a_crowd(visit: Visit) -> tuple[Running, list[Running]]:
    """It handles two at a time."""
    visit.app = CROWDED
    return at_work(visit)


def in_batches(visit: Visit) -> tuple[Running, list[Running]]:
    """It handles five at once."""
    visit.app = BATCHED
    return at_work(visit)


def joining(visit: Visit) -> tuple[Running, list[Running]]:
    """It comes to others who work."""
    another = visit.start_another()
    another.wait_for("handled")
    visit.arm()
    return visit.start(joins=False), [another]


def leaving(visit: Visit) -> tuple[Running, list[Running]]:
    """It is asked to stop."""
    one, others = at_work(visit)
    one.process.terminate()
    return one, others


def reborn(visit: Visit) -> tuple[Running, list[Running]]:
    """It is declared gone while it works."""
    one, others = at_work(visit)
    visit.evict(one)
    return one, others


def deposed(visit: Visit) -> tuple[Running, list[Running]]:
    """It was silent longer than its term's lease, and another generates."""
    one, others = at_work(visit)
    one.freeze()
    others[0].wait_for("elected")
    one.thaw()
    return one, others


def elected(visit: Visit) -> tuple[Running, list[Running]]:
    """It is first in line when the generator steps down."""
    another = visit.start_another()
    another.wait_for("generated")
    one = visit.start()
    wait_until(lambda: visit.crew.snapshot().line, what="it is in line")
    visit.arm()
    assert visit.crew.command("handover").returncode in {0, 1}
    return one, [another]


def stepping_down(visit: Visit) -> tuple[Running, list[Running]]:
    """It generates, and is asked to let another."""
    one, others = at_work(visit)
    wait_until(lambda: visit.crew.snapshot().line, what="another is in line")
    visit.crew.command("handover")
    return one, others


def judging(visit: Visit) -> tuple[Running, list[Running]]:
    """It alone sees that another was killed."""
    one = visit.start()
    another = visit.start_another()
    another.wait_for("handled")
    visit.arm()
    another.kill()
    return one, []


def slow(visit: Visit) -> tuple[Running, list[Running]]:
    """It has something to say of itself: a message takes long."""
    one, others = at_work(visit)
    (visit.crew.folder / "hold").touch()
    return one, others


def at_the_bell(visit: Visit) -> tuple[Running, list[Running]]:
    """It has nothing to do until the bell rings."""
    one = visit.start()
    one.wait_for("generated")
    visit.crew.command("pause")
    wait_until(lambda: visit.crew.snapshot().claimed == 0, what="it holds nothing")
    visit.arm()
    visit.crew.command("resume")
    return one, []


def declaring(visit: Visit) -> tuple[Running, list[Running]]:
    """It is the first of a new version, whose code schedules something, to generate."""
    visit.app = OLDER
    another = visit.start_another()
    another.wait_for("generated")
    visit.app = NEWER
    one = visit.start()
    wait_until(lambda: visit.crew.snapshot().line, what="it is in line")
    visit.arm()
    assert visit.crew.command("handover").returncode in {0, 1}
    return one, [another]


Way = Callable[[Visit], tuple[Running, list[Running]]]

OF_INSTANCES: dict[str, Way] = {
    "between source and publish": at_work,
    "between clock check and publish": at_work,
    "before publish": at_work,
    "after publish": at_work,
    "before beat": at_work,
    "after beat": at_work,
    "before sample": at_work,
    "after sample": at_work,
    "before report": slow,
    "after report": slow,
    "before next": at_work,
    "after next": at_work,
    "in hand, not begun": at_work,
    "between handle and complete": at_work,
    "the next batch asked for, this one not begun": in_a_rush,
    "in hand, not begun by the crew": in_a_crowd,
    "handled by the crew, not recorded": in_a_crowd,
    "held up by slow ones": in_a_crowd,
    "a batch in hand, not begun": in_batches,
    "a batch handled, not recorded": in_batches,
    "a token in hand": at_the_bell,
    "the recorder steps in": at_work,
    "before join": joining,
    "after join": joining,
    "joined, no heart yet": joining,
    "a will that nobody knows of": joining,
    "before leave": leaving,
    "after leave": leaving,
    "stopping, the last publication known": leaving,
    "stopping, the last message known": leaving,
    "left, still running": leaving,
    "superseded, not left": reborn,
    "left, not reborn": reborn,
    "reborn, not at work": reborn,
    "deposed, not a handler yet": deposed,
    "elected, not at work": elected,
    "asked to step down": stepping_down,
    "before agenda": elected,
    "after agenda": elected,
    "before declare": declaring,
    "after declare": declaring,
    "before reclaim": judging,
    "after reclaim": judging,
}

DRAINS = ("getErrors", "--json")
PUBLISHES = ("publish", "default", "from outside")
SCHEDULES = ("schedules", "add", "it", "--every", "86400", "--kind", "default")
OF_COMMANDS: dict[str, tuple[str, ...]] = {
    "between drain and print": DRAINS,
    "between print and confirm": DRAINS,
    "before drain": DRAINS,
    "after drain": DRAINS,
    "before confirm": DRAINS,
    "after confirm": DRAINS,
    "before requeue": ("errors", "requeue", "--all"),
    "after requeue": ("errors", "requeue", "--all"),
    "before discard": ("errors", "delete", "--all"),
    "after discard": ("errors", "delete", "--all"),
    "before pause": ("pause",),
    "after pause": ("pause",),
    "before schedule": SCHEDULES,
    "after schedule": SCHEDULES,
    "before enlist": PUBLISHES,
    "after enlist": PUBLISHES,
    "before submit": PUBLISHES,
    "after submit": PUBLISHES,
    "before handover": ("handover",),
    "after handover": ("handover",),
    "before snapshot": ("status",),
    "after snapshot": ("status",),
    "before survey": ("status",),
    "after survey": ("status",),
    "before peek": ("errors", "list"),
    "after peek": ("errors", "list"),
    "before purge": ("purge", "--yes"),
    "after purge": ("purge", "--yes"),
}

OF_EXPORTS = ("before inventory", "after inventory", "before extract", "after extract")
OF_IMPORTS = ("before prepare", "after prepare", "before restore", "after restore")
"""Where nobody may be present: test_moving.py."""


OF_BEATS = ("before send", "after send")
"""Only beats of Celery come there: tests/celery/test_beats.py, test_mutations.py."""

OF_TESTS = tuple(f"{when} {script.name}" for script in REHEARSED for when in ("before", "after"))
"""Only the kit for tests comes there, and what it works on is thrown away: tests/testing."""


def test_every_kill_point_is_visited() -> None:
    """Whoever adds one says how a process comes there."""
    elsewhere = (*OF_EXPORTS, *OF_IMPORTS, *OF_BEATS, *OF_TESTS)
    assert sorted(points()) == sorted([*OF_INSTANCES, *OF_COMMANDS, *elsewhere])
    assert {f"before {script}" for script in SCRIPTS} <= {*points()}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("point", OF_INSTANCES)
def test_an_instance_that_is_killed_or_frozen_there_costs_nothing(crew: Crew, point: str, action: str) -> None:
    """Another takes its part and what it held; frozen, it finds that out and goes on, or ends as it was asked to."""
    visit = Visit(crew, point, action)
    one, others = OF_INSTANCES[point](visit)

    visit.wait_until_met(one.process)
    (crew.folder / "hold").unlink(missing_ok=True)
    others = others or [visit.start_another()]
    visit.wait_until_gone(one.process)
    wait_until_they_work(crew, others)
    if action == STOP:
        one.thaw()
        if OF_INSTANCES[point] is leaving:
            assert one.process.wait(timeout=60) == 0
        else:
            wait_until_they_work(crew, [one, *others])
            others.append(one)

    assert [running.end() for running in others] == [0] * len(others)
    assert_nothing_is_lost_or_doubled(crew, [])


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("point", OF_COMMANDS)
def test_a_command_that_is_killed_or_frozen_there_can_be_repeated(crew: Crew, point: str, action: str) -> None:
    """What it did not do is done by the next one, and nothing twice."""
    visit = Visit(crew, point, action)
    words = OF_COMMANDS[point]
    working = visit.start_another()
    if words == ("handover",):
        visit.start_another()
        wait_until(lambda: crew.snapshot().line, what="another is in line")
    wait_until(lambda: crew.snapshot().failed >= 20, what="some have failed")
    visit.arm()
    output = crew.folder / "output"
    with output.open("w") as into:  # not a pipe: there it would wait for its reader
        command = subprocess.Popen(
            [*PROGRAM, *words, *crew.connection, "--claim-lease", "2", "--lease", "1"],
            stdout=into,
            text=True,
            cwd=ROOT,
            env={**os.environ, **crew.environment, **visit.at_point.environment},
        )

    visit.wait_until_met(command)
    visit.wait_until_gone(command)
    if action == STOP:
        command.send_signal(signal.SIGCONT)
        assert command.wait(timeout=60) == 0
    again = crew.command(*words)
    if words == ("handover",):  # nobody is in line while the one that stepped down stands back
        wait_until(lambda: crew.snapshot().line, what="another is in line again")
        wait_until(lambda: crew.command(*words).returncode == 0, what="it is carried out")
    else:
        assert again.returncode == 0, again.stderr
    if words == ("pause",):
        crew.command("resume")
    wait_until_they_work(crew, [working])

    assert [running.end() for running in crew.running] == [0] * len(crew.running)
    if words[0] in {"errors", "purge", "publish"}:
        assert crew.snapshot().adds_up
    else:
        assert_nothing_is_lost_or_doubled(
            crew, [numbers_in(output.read_text()), numbers_in(again.stdout)] if words == DRAINS else []
        )


def wait_until_they_work(crew: Crew, who: list[Running]) -> None:
    """Each tells of more that it handled, and one of them publishes."""
    handled = {running.process.pid: len(running.told("handled")) for running in who}
    published = crew.snapshot().published
    for running in who:
        wait_until(lambda: len(running.told("handled")) > handled[running.process.pid] + 1, what="it handles")  # noqa: B023
    wait_until(lambda: crew.snapshot().published > published, what="somebody publishes")


def assert_nothing_is_lost_or_doubled(crew: Crew, printed: list[list[int]]) -> None:
    """Every number is there: printed, in the error store, or waiting. Twice only where a drainer's print was unconfirmed."""
    published = crew.snapshot().published
    numbers = crew.numbers()
    before = [number for each in printed for number in each]
    assert sorted({*numbers, *before}) == list(range(1, published + 1))
    assert len(numbers) == len({*numbers})
    assert not {*numbers} & {*before}, "what the second one printed was confirmed"


def numbers_in(output: str) -> list[int]:
    return [int(json.loads(line)["id"].split("-")[0]) for line in output.splitlines()]
