"""A pause in the middle of many messages, while the generator goes as fast as it can: who takes what, and when it goes on."""

import os
import time
from contextlib import closing
from dataclasses import dataclass

from soloist import App, Message, Msg, Page, Source
from soloist.inspector import KindSnapshot
from soloist.settings import Settings
from soloist.store.control import pause
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.server import Server
from tests.processes.apps import FOLDER
from tests.processes.crew import Crew
from tests.waiting import wait_until

APP = "tests.processes.pausing:app"
KIND, OTHER = "number", "other"
INSTANCES = 3
PAUSED = "paused"
"""The name of a file that is there as soon as the kind is paused."""

HEARTBEAT = Settings().heartbeat
MANY = int(os.environ.get("MANY", "0"))

app = App("pausing")


@app.source(every=0)
def numbers(source: Source[None, int]) -> Page[int] | None:
    """From 1 on. The last third only behind the pause, so that it comes in the middle however slow who asks for it is."""
    done = source.cursor or 0
    most = MANY if (FOLDER / PAUSED).exists() else MANY * 2 // 3
    many = min(source.room, most - done)
    if many <= 0:
        return None
    return Page([Msg(KIND, str(done + number)) for number in range(1, many + 1)], cursor=done + many, more=True)


@app.source(every=0.02)
def others() -> Msg:
    """Of another kind, which goes on."""
    return Msg(OTHER, "x")


@app.handler(KIND)
def add(message: Message) -> None:
    message.commit.incrby(message.key_for("sum"), int(message.body))


@app.handler(OTHER)
def pass_by(_message: Message) -> None: ...


@dataclass
class Outcome:
    """How it went.

    Attributes:
        many: messages of the kind that was paused.
        at_once, settled, late: how many of them were claimed or done with when the pause was answered, a heartbeat later,
            and when it ended.
        others: of the other kind, completed during the pause.
        waited: of the kind that was paused, when the pause ended.
        asked, flowed: when the end of the pause was asked for, and when the first completion was seen (monotonic).
        total: what was added up.
    """

    many: int
    at_once: int = 0
    settled: int = 0
    late: int = 0
    others: int = 0
    waited: int = 0
    asked: float = 0.0
    flowed: float = 0.0
    completed: int = 0
    total: int = 0

    @property
    def resumed_ms(self) -> float:
        return 1000 * (self.flowed - self.asked)

    @property
    def wrong(self) -> list[str]:
        found = {
            f"{self.settled - self.at_once} were claimed behind the pause": self.settled > self.at_once,
            f"{self.late - self.settled} were claimed later than a heartbeat behind it": self.late > self.settled,
            "the other kind did not go on": not self.others,
            "nothing waited when the pause ended": not self.waited,
            f"{self.completed} of {self.many} were completed": self.completed != self.many,
            "what was added up is not each number once": self.total != self.many * (self.many + 1) // 2,
        }
        return [what for what, is_wrong in found.items() if is_wrong]


def play(crew: Crew, many: int, seconds: float, *, kills: bool) -> Outcome:
    """Pause at about half, for so many seconds.

    Args:
        kills: the generator is killed meanwhile.
    """
    outcome = Outcome(many)
    everyone = [crew.start(APP, environment={"MANY": str(many)}) for _ in range(INSTANCES)]
    with closing(Link(Server(crew.url), 10)) as link:
        keys = Keys(crew.namespace)
        wait_until(lambda: seen(crew).completed >= many // 3, within=600, what="a third is completed")
        assert pause(link, keys, [KIND], on=True) == 1
        (crew.folder / PAUSED).touch()
        paused_at = time.monotonic()
        outcome.at_once = taken(crew)
        others = seen(crew, OTHER).completed
        wait_until(lambda: time.monotonic() > paused_at + HEARTBEAT, what="a heartbeat is over")
        outcome.settled = taken(crew)
        if kills:
            generator = crew.generator_of(everyone)
            everyone.remove(generator)
            generator.kill()
        wait_until(lambda: seen(crew).claimed == 0, what="what was claimed is done with")
        wait_until(lambda: time.monotonic() > paused_at + seconds, within=seconds + 30, what="the pause is over")
        wait_until(lambda: seen(crew, OTHER).completed > others, what="the other kind goes on")
        outcome.late, outcome.waited = taken(crew), seen(crew).pending
        outcome.others = seen(crew, OTHER).completed - others
        completed = int(link.command("HGET", keys.totals, f"completed:{KIND}"))
        outcome.asked = time.monotonic()
        pause(link, keys, [KIND], on=False)
        while int(link.command("HGET", keys.totals, f"completed:{KIND}")) == completed:
            assert time.monotonic() < outcome.asked + 30, "nothing is completed behind the pause"
        outcome.flowed = time.monotonic()
        wait_until(lambda: seen(crew).completed == many, within=600, what="all are completed")
        outcome.total = int(link.command("GET", f"{keys.base}data:sum"))
    assert [running.end() for running in everyone] == [0] * len(everyone)
    outcome.completed = seen(crew).completed
    return outcome


def seen(crew: Crew, kind: str = KIND) -> KindSnapshot:
    return crew.snapshot().kinds[kind]


def taken(crew: Crew) -> int:
    """Claimed or done with: it only grows where somebody claims."""
    of = seen(crew)
    return of.claimed + of.completed + of.failed
