"""Measure beats of Celery on a private server: ours, and redbeat beside them. Prints one JSON object per measurement.

    python tools/celery_takeover.py                                 all of it, 20 kills, 5 freezes, 10 minutes
    python tools/celery_takeover.py --kills 3 --minutes 0.5         a short look
    python tools/celery_takeover.py --only soloist                  without redbeat

Of each kind three beats run, with one entry ten times a second; whatever comes into Celery's queue is taken out at once, and
noted with the time, the tick and the process that sent it.

    takeover   kill -9 of the beat that sends, until another sends (at its tick, if that is later)
    freeze     SIGSTOP of the beat that sends until another has sent, then SIGCONT: what the woken one sends then
    at_send    the same at the worst moment, between the look whether it may send and the send: ours is frozen there; of
               redbeat the send is held on its way by a proxy, and then let go
    steady     kills and freezes by turns for so many minutes: no tick twice, and how many are missing

Redbeat is measured with a lock of 5 s (and a loop of 1 s), and as it is installed. Its messages do not carry their ticks,
so of its doubles only what a woken beat sends can be counted. Beside all of it a probe sleeps 10 ms at a time; a sample
during which it woke more than 30 ms late says more about the machine than about beats: it is taken again, and counted as
`retaken`.
"""

import argparse
import json
import re
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from soloist.chaos.faults import Delay
from soloist.chaos.proxy import FaultProxy
from soloist.lab.probe import Probe
from soloist.store.link import Link
from soloist.store.server import Server

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.celery.crew import Beat, Project
from tests.celery.rewritten import PROGRAM
from tests.kill_points import STOP, AtPoint
from tests.processes.crew import is_frozen
from tests.servers import PrivateServer
from tests.waiting import wait_until

EVERY = 0.1
BEATS = 3
CALM = 2.0
"""Seconds of undisturbed sending before each blow, and behind each thaw."""

SCHEDULERS: dict[str, tuple[str, dict[str, Any]]] = {
    "soloist": ("soloist", {}),
    "redbeat, lock 5 s": (
        "redbeat.RedBeatScheduler",
        {"redbeat_lock_timeout": 5, "beat_max_loop_interval": 1},
    ),
    "redbeat, default": ("redbeat.RedBeatScheduler", {}),
}


@dataclass(frozen=True)
class Sent:
    """One message as it came into the queue, by the wall clock in ms."""

    at: float
    pid: int
    tick: float | None


class Sink:
    """Takes every message out of Celery's queue at once, and notes it."""

    def __init__(self, project: Project) -> None:
        self.sent: list[Sent] = []
        self._link = Link(Server(project.url), timeout=10)
        self._queue = project.prefix + "celery"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.is_set():
            taken = self._link.command("BRPOP", self._queue, 1)
            if taken is not None:
                now, headers = time.time() * 1000, json.loads(taken[1])["headers"]
                sender = re.search(r"\d+", headers["origin"])
                assert sender is not None
                tick = headers.get("soloist_tick")
                due = datetime.fromisoformat(tick).timestamp() * 1000 if tick else None
                self.sent.append(Sent(now, int(sender[0]), due))

    def since(self, at: float) -> list[Sent]:
        return [each for each in self.sent.copy() if each.at >= at]

    def close(self) -> None:
        self._over.set()
        self._thread.join()
        self._link.close()


class Bench:
    """Three beats of one kind, and the sink."""

    def __init__(self, url: str, folder: Path, kind: str) -> None:
        scheduler, conf = SCHEDULERS[kind]
        namespace = f"bench-{uuid4().hex}"
        self.kind, self.is_ours = kind, scheduler == "soloist"
        self.folder = folder / namespace
        self.folder.mkdir()
        if not self.is_ours:
            conf = {**conf, "redbeat_redis_url": url, "redbeat_key_prefix": f"{namespace}:redbeat:"}
        self.project = Project(url, namespace, self.folder, conf=conf, schedule={"often": EVERY}, scheduler=scheduler)
        self.sink = Sink(self.project)
        self.probe = Probe()
        for _ in range(BEATS):
            self.start()

    def start(self, **options: Any) -> Beat:
        beat = self.project.start(joins=self.is_ours, **options)
        if not self.is_ours:
            wait_until(lambda: "beat: Starting" in beat.log.read_text(), what="it starts")
        return beat

    def alive(self) -> list[Beat]:
        return [beat for beat in self.project.beats if beat.process.poll() is None]

    def leader(self, within: float = 60) -> Beat:
        """The one that sends, when it alone has sent for a while, and the others are ready to take over."""

        def alone() -> Beat | None:
            recent = self.sink.since((time.time() - CALM) * 1000)
            senders = {each.pid for each in recent}
            if len(senders) != 1 or len(recent) < CALM / EVERY / 2 or not self._is_ready():
                return None
            return next((beat for beat in self.alive() if beat.process.pid in senders), None)

        return wait_until(alone, within=within, what=f"one beat of {self.kind} sends") or self.alive()[0]

    def _is_ready(self) -> bool:
        if not self.is_ours:
            return True
        places = self.project.link.command("HVALS", self.project.keys.line)
        return len(places) == 2 and all(place.endswith(b" 1") for place in places)

    def due_behind(self, at: float) -> float:
        """When the first tick behind this moment is due, by what came before it."""
        last = max((each for each in self.sink.sent.copy() if each.at < at), key=lambda each: each.at)
        return max(at, (last.tick or last.at) + EVERY * 1000)

    def first_of_another(self, than: Beat, since: float, within: float) -> Sent | None:
        """The first message of another beat; None if there is none in time."""

        def found() -> Sent | None:
            return next((each for each in self.sink.since(since) if each.pid != than.process.pid), None)

        try:
            return wait_until(found, within=within)
        except AssertionError:
            return None

    def close(self) -> None:
        self.project.release()
        self.sink.close()


def spread(samples: list[float]) -> dict[str, Any]:
    if not samples:
        return {"n": 0}
    return {"n": len(samples), "p50_ms": round(statistics.median(samples)), "max_ms": round(max(samples))}


def takeover(bench: Bench, kills: int, patience: float) -> dict[str, Any]:
    """From the kill, or from the tick that was due first behind it, to the first message of the successor."""
    samples: list[float] = []
    retaken = never = 0
    while len(samples) + never < kills:
        leader = bench.leader()
        begun, at = time.monotonic(), time.time() * 1000
        leader.kill()
        sent = bench.first_of_another(leader, at, patience)
        if sent is None:
            never += 1
        elif bench.probe.was_calm_since(begun):
            samples.append(sent.at - bench.due_behind(at))
        else:
            retaken += 1
        bench.start()
        if never:
            break
    result = {**spread(samples), "retaken": retaken}
    return result | ({f"not_within_{patience:g}_s": never} if never else {})


def freeze(bench: Bench, freezes: int, patience: float) -> dict[str, Any]:
    """What a beat sends that was frozen until another had taken over, and then woken."""
    samples: list[float] = []
    woken = never = 0
    for _ in range(freezes):
        leader = bench.leader()
        at = time.time() * 1000
        leader.freeze()
        sent = bench.first_of_another(leader, at + 50, patience)
        thawed = time.time() * 1000
        leader.thaw()
        if sent is None:
            never += 1
            break
        samples.append(sent.at - bench.due_behind(at))
        calm_until = time.monotonic() + CALM
        wait_until(lambda: time.monotonic() > calm_until, what="it has had its chance")  # noqa: B023
        woken += sum(each.pid == leader.process.pid for each in bench.sink.since(thawed))
        if leader.process.poll() is not None:
            bench.start()
    result = {**spread(samples), "sent_by_the_woken": woken} | refusals(bench)
    return result | ({f"not_within_{patience:g}_s": never} if never else {})


def at_send(bench: Bench, freezes: int) -> dict[str, Any]:
    """The same at the worst moment: between clock check and send. Ours alone, by a kill point."""
    woken = 0
    for number in range(freezes):
        at_point = AtPoint("before send", STOP, bench.folder / f"armed-{number}")
        victim = bench.start(program=PROGRAM, environment=at_point.environment)
        while (leader := bench.leader()) is not victim:
            leader.kill()
            bench.first_of_another(leader, time.time() * 1000, 30)
            if len(bench.alive()) < BEATS:
                bench.start()
        at_point.arm()
        wait_until(lambda: is_frozen(victim.process), what="it freezes")  # noqa: B023
        bench.first_of_another(victim, time.time() * 1000 + 50, 30)
        before, thawed = bench.project.total("superseded:send"), time.time() * 1000
        victim.thaw()
        wait_until(lambda: bench.project.total("superseded:send") > before, what="its send is refused")  # noqa: B023
        woken += sum(each.pid == victim.process.pid for each in bench.sink.since(thawed))
        victim.kill()
    return {"n": freezes, "sent_by_the_woken": woken} | refusals(bench)


def held(bench: Bench, times: int, patience: float) -> dict[str, Any]:
    """A send of redbeat's that left in time is held on its way until another has sent, and then let go."""
    arrived = 0
    with FaultProxy("127.0.0.1", int(bench.project.url.rpartition(":")[2].split("/")[0])) as proxy:
        for _ in range(times):
            victim = bench.start(url=proxy.url())
            while (leader := bench.leader(within=patience)) is not victim:
                leader.kill()
                if len(bench.alive()) < BEATS:
                    bench.start()
            rule = proxy.rule(Delay(of="command"), lambda command: command.words[0] == b"LPUSH").wait()
            bench.first_of_another(victim, time.time() * 1000 + 50, patience)
            released = time.time() * 1000
            rule.release()
            calm_until = time.monotonic() + CALM
            wait_until(lambda: time.monotonic() > calm_until, what="it has arrived")  # noqa: B023
            arrived += any(each.pid == victim.process.pid for each in bench.sink.since(released))
            victim.kill()
    return {"n": times, "of_which_arrived_from_the_deposed": arrived}


def steady(bench: Bench, minutes: float) -> dict[str, Any]:
    """Kills and freezes by turns, all the time; afterwards every tick is looked at."""
    until, blows = time.monotonic() + minutes * 60, Counter[str]()
    while time.monotonic() < until:
        leader = bench.leader()
        at = time.time() * 1000
        if blows["kills"] <= blows["freezes"]:
            leader.kill()
            blows["kills"] += 1
            bench.first_of_another(leader, at, 30)
            bench.start()
        else:
            leader.freeze()
            blows["freezes"] += 1
            bench.first_of_another(leader, at + 50, 30)
            leader.thaw()
    bench.leader()
    ticks = Counter(round(each.tick) for each in bench.sink.sent if each.tick is not None)
    steps = [(tick - min(ticks)) / (EVERY * 1000) for tick in ticks]
    return {
        "minutes": minutes,
        **blows,
        "ticks": len(ticks),
        "twice": sum(times > 1 for times in ticks.values()),
        "off_the_rhythm": sum(abs(step - round(step)) > 0.02 for step in steps),
        "missed_in_a_row_of_which_the_latest_was_sent": round(max(steps)) + 1 - len(ticks),
    } | refusals(bench)


def refusals(bench: Bench) -> dict[str, Any]:
    """How many calls came too late and were refused, by the server's books."""
    if not bench.is_ours:
        return {}
    return {"refused": {what: bench.project.total(f"superseded:{what}") for what in ("send", "beat")}}


@contextmanager
def on(url: str, folder: Path, kind: str) -> Iterator[Bench]:
    with closing(Bench(url, folder, kind)) as bench:
        yield bench


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--freezes", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--patience", type=float, default=60, help="seconds to wait for redbeat's takeover")
    parser.add_argument("--only", choices=["soloist", "redbeat"])
    parser.add_argument("--server", choices=["valkey", "redis"], default="valkey")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = PrivateServer(arguments.server, Path(folder) / "server")
        server.start()

        def measure(kind: str, what: str, how: Callable[[Bench], dict[str, Any]]) -> None:
            if arguments.only is None or kind.startswith(arguments.only):
                with on(server.url, Path(folder), kind) as bench:
                    told = {"scheduler": kind, "what": what, "server": arguments.server, **how(bench)}
                print(json.dumps(told), flush=True)

        few = min(arguments.kills, 5)
        measure("soloist", "takeover", lambda bench: takeover(bench, arguments.kills, 30))
        measure("soloist", "freeze", lambda bench: freeze(bench, arguments.freezes, 30))
        measure("soloist", "at_send", lambda bench: at_send(bench, arguments.freezes))
        measure("soloist", "steady", lambda bench: steady(bench, arguments.minutes))
        measure("redbeat, lock 5 s", "takeover", lambda bench: takeover(bench, few, arguments.patience))
        measure("redbeat, lock 5 s", "freeze", lambda bench: freeze(bench, arguments.freezes, arguments.patience))
        measure(
            "redbeat, lock 5 s", "at_send", lambda bench: held(bench, min(arguments.freezes, 3), arguments.patience)
        )
        measure("redbeat, default", "takeover", lambda bench: takeover(bench, 1, arguments.patience))
        server.stop()


if __name__ == "__main__":
    main()
