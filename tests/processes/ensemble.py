"""Instances that reach their server only through a fault proxy, the faults that their calls may meet, and an eye that
nothing clouds.
"""

import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from uuid import uuid4

import hiredis

from soloist.chaos.faults import Cut, Delay, Drop, Fault, TooLate
from soloist.chaos.proxy import FaultProxy
from soloist.chaos.resp import Command
from soloist.chaos.rule import Matching, Rule
from soloist.inspector import Snapshot
from soloist.settings import Settings
from soloist.store.control import handover
from soloist.store.keys import Keys
from soloist.store.link import Link
from soloist.store.script import Script
from soloist.store.server import Server
from soloist.store.snapshot import purge
from tests.lua_source import scripts
from tests.processes.crew import Crew, Running
from tests.processes.mending import INTO_FILE, WORK
from tests.servers import PrivateServer
from tests.waiting import wait_until

ELSEWHERE = {"send", "outstanding", "elapse", "vouch", "retime"}
"""Of beats of Celery (tests/celery), and of the kit for tests, which goes through no failing connection."""

SCRIPTS = {name: Script(name) for name in scripts() if name not in ELSEWHERE}
"""All that instances and commands call; send.lua is for beats of Celery (tests/celery/test_lost_replies.py)."""

SETTINGS = Settings(lease=1.0, claim_lease=2.0)
LEASES = ("--lease", f"{SETTINGS.lease}", "--claim-lease", f"{SETTINGS.claim_lease}")
OPTIONS = ("--interval", "0.02", "--error-rate", "1", *LEASES)
"""Every message ends in the error store under its number, so a gap or a double shows there."""

HASTY = "?socket_timeout=0.3"
"""Seconds. What a command allows a call by itself is meant for people (5 s, purge 60 s); the address may say less."""

LOST, LATE = Drop(), TooLate()
IN_TIME = Delay(SETTINGS.call_timeout / 3)
CUT = Cut()
"""It is carried out, then the connection is closed."""

COPY = Delay(of="command")
"""It does not arrive, as far as its sender sees; then, when the sender has gone on and the test releases it, it does."""

UNKNOWN = (LOST, LATE, CUT, COPY)
"""Whoever makes such a call does not get to know whether it was carried out. All but the last were."""

Done: TypeAlias = "subprocess.CompletedProcess[str]"
Action: TypeAlias = Callable[[], Done]
T = TypeVar("T")


class Ensemble:
    """Three instances behind a fault proxy, and an eye that nothing clouds.

    Attributes:
        near, link: reach the server directly.
        far: reaches it through the proxy.
        removed: the numbers that were printed or deleted, in a list, so that a double shows.
        from_outside: how many messages were published by others than the generator, and are gone.
        ghosts: ids that joined while nobody got to know it.
    """

    def __init__(self, server: PrivateServer, proxy: FaultProxy, folder: Path) -> None:
        namespace = f"lost-{uuid4().hex}"
        self.proxy = proxy
        self.keys = Keys(namespace)
        self.link = Link(Server(server.url), timeout=5)
        self.near = Crew(server.url, namespace, folder)
        self.far = Crew(proxy.url(), namespace, folder)
        self.removed: list[int] = []
        self.from_outside = 0
        self.ghosts: set[str] = set()
        self.rules: list[Rule] = []
        self.everyone = self.start(3)

    def start(self, many: int, *options: str) -> list[Running]:
        """So many more instances."""
        logs = [(*INTO_FILE, str(self.far.folder / f"stderr-{uuid4().hex}")) for _ in range(many)]
        return all_at_once([partial(self.far.start, *OPTIONS, *options, before=log) for log in logs])

    def harm(self, matching: Matching, *faults: Fault, answering: bytes = b"") -> dict[Fault, Rule]:
        """The first call that comes meets the first of these faults, the next one the next."""
        nth: Counter[str] = Counter()
        rules = {}
        for fault in faults:
            nth[fault.of] += 1
            only = answering if fault.of == "reply" else b""
            rules[fault] = self.proxy.rule(fault, matching, nth[fault.of], answering=only)
        self.rules += rules.values()
        return rules

    def run(self, *words: str, namespace: str = "", how: str = "") -> Done:
        """A command that goes through the proxy."""
        return Crew(self.far.url + how, namespace or self.far.namespace, self.far.folder).command(*words)

    def lose(self, rules: dict[Fault, Rule], left: Callable[[dict[Fault, Rule]], list[Action]]) -> dict[Fault, Rule]:
        """Run commands, one for each fault: none gets to know what became of its call, and each says so.

        Args:
            rules: for the faults.
            left: which commands are left to be run: one that gave up before its call, on a busy machine, is run again.
        """
        while commands := left(rules):
            for done in all_at_once(commands):
                assert done.returncode == 3, done
                assert [line[:19] for line in done.stderr.splitlines()] == ["soloist: 127.0.0.1:"], done.stderr
        return rules

    def wait_until_it_works_on(self) -> Snapshot:
        """Everything that was published is handled, and more, by everyone; and every number is there once."""
        published = self.near.snapshot().published
        work = [work_of(running) for running in self.everyone]
        for running, done in zip(self.everyone, work, strict=True):
            wait_until(lambda: work_of(running) > done, what="it works")  # noqa: B023
        seen = self.near.wait_until_handled(published + 1)
        numbers = self.removed + [number_of(ident.decode()) for ident in self.link.command("HKEYS", self.keys.errors)]
        last = seen.published - self.from_outside
        there = Counter(number for number in numbers if number <= last)
        wrong = {number: there[number] for number in range(1, last + 1) if there[number] != 1}
        assert not wrong, f"of {seen.published} these are not there once, but so often: {wrong}"
        return seen

    def hand_over(self) -> None:
        """Undisturbed."""
        wait_until(self.has_successor, what="somebody generates, and somebody is in line")
        asked = handover(self.link, self.keys)
        assert asked.outcome == "OK", asked
        wait_until(lambda: self.term() > asked.term, what=f"term {asked.term} is over")

    def term(self) -> int:
        """The number of the present term, 0 while there is none."""
        term = self.near.snapshot().term
        return term.number if term is not None else 0

    def has_successor(self) -> bool:
        seen = self.near.snapshot()
        return seen.term is not None and bool({*seen.line} - {seen.term.instance})

    def present(self) -> set[str]:
        """Instances and drainers, whatever their leases say."""
        both = (self.keys.instances, self.keys.drainers)
        return {ident.decode() for key in both for ident in self.link.command("ZRANGE", key, 0, -1)}

    def resting(self, many: int) -> list[str]:
        """The ids of so many error records, oldest first."""
        return [ident.decode() for ident in self.link.command("ZRANGE", self.keys.errors_by_time, 0, many - 1)]

    def times(self, ids: Sequence[str]) -> dict[str, bytes | None]:
        """When each of these messages failed; None if it is not in the error store."""
        return dict(zip(ids, self.link.command("ZMSCORE", self.keys.errors_by_time, *ids), strict=True))

    def end(self) -> None:
        for crew in (self.near, self.far):
            crew.release()
        purge(self.link, self.keys, data=True)
        self.link.close()


def all_at_once(actions: Sequence[Callable[[], T]]) -> list[T]:
    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(lambda action: action(), actions))


def wait_for_all(rules: dict[Fault, Rule]) -> dict[Fault, Rule]:
    for rule in rules.values():
        rule.wait()
    return rules


def work_of(running: Running) -> int:
    assert running.process.poll() is None, f"it ended with {running.process.returncode}"
    return sum(len(running.told(event)) for event in WORK)


def number_of(ident: str) -> int:
    return int(ident.split("-", maxsplit=1)[0])


def one_for_each(command: Action) -> Callable[[dict[Fault, Rule]], list[Action]]:
    """The same command for every fault."""
    return lambda rules: [command] * sum(not rule.fired.is_set() for rule in rules.values())


def each_its_own(commands: Mapping[str, Action]) -> Callable[[dict[Fault, Rule]], list[Action]]:
    """Commands by what this one alone is about."""
    return lambda rules: [command for what, command in commands.items() if what not in caught(rules, commands).values()]


def caught(rules: dict[Fault, Rule], names: Iterable[str]) -> dict[Fault, str]:
    """Which of these (ids of records, or namespaces) the call was about that met the fault."""
    calls = {fault: rule.caught[0] for fault, rule in rules.items() if rule.caught}
    return {fault: name for fault, call in calls.items() for name in names if is_about(call, name.encode())}


def is_about(call: Command, name: bytes) -> bool:
    return name in call.words or b"{%b}" % name in call.frame


def arrives(rule: Rule) -> list[Any]:
    """The late copy is carried out; what it is answered, although nobody waits for it."""
    rule.release()
    return said(rule.caught[0])


def said(call: Command) -> list[Any]:
    """What a call was answered."""
    reader = hiredis.Reader()
    reader.feed(wait_until(lambda: call.reply, what=f"{call} is answered") or b"")
    answer: list[Any] = reader.gets()
    return answer


def arguments(call: Command) -> list[bytes]:
    """Those of a script, without its keys."""
    return call.words[3 + int(call.words[2]) :]


def caller(rule: Rule, name: str) -> str:
    """Whose call it was."""
    return arguments(rule.caught[0])[SCRIPTS[name].args.index("id")].decode()


def records_a_failure(call: Command, instance: str = "") -> bool:
    return call.calls(SCRIPTS["next"].sha) and instance.encode() in call.frame and b'"reason"' in call.frame
